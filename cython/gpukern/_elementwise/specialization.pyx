# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise functions for arguments of given types, and their kernels."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject_TypeCheck, PyTypeObject
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT,
    gpukern_dtype, gpukern_kernel_release, gpukern_program_kernel,
)
from gpukern._elementwise.cpu_executor cimport HostFunction
from gpukern._elementwise.loop_plan cimport CONTIGUOUS, MAX_OPERANDS, LoopPlan
from gpukern._interop.dtype cimport describe_dtype
from gpukern._program.program cimport Program, compile_keyed, find_program
from gpukern._runtime.runtime cimport check

import numpy as np

from gpukern._elementwise import cache_key, cuda_codegen
from gpukern._elementwise.frontend import type_resolution
from gpukern.errors import GpukernError, GpukernOverflowError, GpukernTypeError

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyGenericArrType_Type

cnp.import_array()

# By number. The last three are those of Python's numbers.
TYPE_NAMES = (
    None, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128", "int", "float",
    "complex",
)
cdef dict TYPE_NUMBERS = {name: number for number, name in enumerate(TYPE_NAMES)}
cdef int WEAK_INT = TYPE_NUMBERS["int"] | BY_VALUE
cdef int WEAK_FLOAT = TYPE_NUMBERS["float"] | BY_VALUE
cdef int WEAK_COMPLEX = TYPE_NUMBERS["complex"] | BY_VALUE
cdef int BOOL = TYPE_NUMBERS["bool"] | BY_VALUE
# Of cuda_codegen.Access, by Pattern.
cdef tuple PATTERNS = ("contiguous", "rows", "strided", "unaligned")
cdef dict CODES = {"b": GPUKERN_BOOL, "i": GPUKERN_INT, "u": GPUKERN_UINT, "f": GPUKERN_FLOAT,
                   "c": GPUKERN_COMPLEX}


cdef int log2_bytes(int bits) noexcept nogil:
    """0 to 4 for 8 to 128 bits; 8 for any other number."""
    cdef int power = 0
    while power <= 4:
        if bits == 8 << power:
            return power
        power += 1
    return 8


cdef int type_number(const gpukern_dtype *dtype) noexcept nogil:
    """The number of a dtype, NO_TYPE for one that is not computed with."""
    cdef int power = log2_bytes(dtype.bits)
    if dtype.lanes != 1:
        return NO_TYPE
    if dtype.code == GPUKERN_FLOAT and 1 <= power <= 3:
        return 9 + power
    if dtype.code == GPUKERN_INT and power <= 3:
        return 2 + power
    if dtype.code == GPUKERN_UINT and power <= 3:
        return 6 + power
    if dtype.code == GPUKERN_BOOL and power == 0:
        return 1
    if dtype.code == GPUKERN_BFLOAT and power == 1:
        return 13
    if dtype.code == GPUKERN_COMPLEX and 3 <= power <= 4:
        return 11 + power
    return NO_TYPE


cdef int store_number(object value, Scalar *scalar) except -1:
    """Stores a Python or NumPy scalar and returns its type; NO_TYPE for any other object."""
    cdef int overflow = 0
    cdef long long whole
    kind = type(value)
    if kind is float:
        scalar.word[0] = value
        return WEAK_FLOAT
    if kind is int:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        memcpy(scalar.word, &whole, sizeof(whole))
        if overflow:
            raise GpukernOverflowError(f"elementwise: Python integer {value} needs over 64 bits")
        return WEAK_INT
    if kind is bool:
        (<char *>scalar.word)[0] = value
        return BOOL
    if kind is complex:
        scalar.word[0], scalar.word[1] = value.real, value.imag
        return WEAK_COMPLEX
    if PyObject_TypeCheck(value, &PyGenericArrType_Type):
        return store_numpy_scalar(value, scalar)
    return NO_TYPE


cdef int store_numpy_scalar(object value, Scalar *scalar) except -1:
    cdef gpukern_dtype dtype
    cdef int type_
    cdef bytes data
    described = cnp.PyArray_DescrFromScalar(value)
    describe_dtype(described, &dtype)
    type_ = type_number(&dtype)
    if type_ == NO_TYPE:
        raise GpukernTypeError(
            f"elementwise: a number of dtype {described} is not one to compute with")
    if dtype.code == GPUKERN_BFLOAT:
        data = value.tobytes()
        memcpy(scalar.word, <const char *>data, len(data))
    else:
        cnp.PyArray_ScalarAsCtype(value, scalar.word)
    return type_ | BY_VALUE


@cython.final
cdef class DeviceKernel:
    """A kernel on one device."""

    def __dealloc__(self):
        with nogil:  # as Kernel.__dealloc__
            gpukern_kernel_release(self.c)


@cython.final
cdef class Specialization:
    """A function for arguments of given types and an output of a given one."""

    cdef DeviceKernel kernel_of(self, const LoopPlan *plan, int32_t device):
        """The kernel for a plan, compiled at its first use."""
        cdef char key[MAX_OPERANDS + 8]
        memcpy(key, &device, sizeof(device))
        key[4] = <char>plan.pattern
        key[5] = plan.wide
        key[6] = <char>(plan.nest.rank if plan.pattern != CONTIGUOUS else 0)
        key[7] = 0
        memcpy(key + 8, plan.flags, plan.nest.operands)
        name = PyBytes_FromStringAndSize(key, 8 + plan.nest.operands)
        found = self.kernels.get(name)
        if found is None:
            # All threads that compile it now keep the first one.
            found = self.kernels.setdefault(name, self.compiled(plan, device))
        return found

    cdef object typed(self):
        if self.known_typed is None:
            names = tuple([TYPE_NAMES[each & ~BY_VALUE] for each in self.types[:self.count]])
            self.known_typed = type_resolution.typed(self.function, names)
        return self.known_typed

    cdef DeviceKernel compiled(self, const LoopPlan *plan, int32_t device):
        cdef Program program
        flags = iter([chr(plan.flags[k]) for k in range(1, plan.nest.operands)])
        flags = "".join(["c" if number else next(flags) for number in self.is_number])
        key = note = None
        if plan.pattern == CONTIGUOUS and "s" not in flags:
            if self.cached is not None and self.cached.device_id == device:
                return load_kernel(self.cached, cuda_codegen.kernel_name(self.function), device)
            key = cache_key.key(self.function, self.types)
            note = cache_key.note(self.out_name, self.items, self.limits)
        access = cuda_codegen.Access(PATTERNS[<int>plan.pattern], flags, plan.nest.rank, plan.wide)
        source = cuda_codegen.source(self.typed(), self.out_name, access)
        program = compile_keyed(source.text, source.options, f"{source.kernel}.cu",
                                dict(cuda_codegen.headers()), device, key, note)
        return load_kernel(program, source.kernel, device)

    cdef int require_fit(self, const Scalars *scalars) except -1:
        """Refuses a Python int that the integer dtype it takes does not hold, as NumPy does."""
        cdef long long value
        for index, position, low, high in self.limits:
            memcpy(&value, scalars.value[<int>index].word, sizeof(value))
            if not low <= value <= high:
                name = self.function.inputs[position]
                raise GpukernOverflowError(
                    f"{self.function.name}: {name} must lie in [{low}, {high}], got {value}")
        return 0

    cdef HostFunction host_function(self):
        if self.host is None:
            self.host = HostFunction(self.typed(), self.out_name, self.is_number)
        return self.host


cdef Specialization specialization_of(object function, dict known, const char *types,
                                      int32_t device):
    """The specialization for the types of the arguments, and behind them that of an output that was
    given or NO_TYPE; from memory if there is one. A CUDA ordinal as the device, else -1, has it
    looked for in the cache of programs."""
    cdef int count = len(function.inputs)
    key = PyBytes_FromStringAndSize(types, count + 1)
    found = known.get(key)
    if found is None:
        found = known.setdefault(key, new_specialization(function, key, device))
    return found


cdef Specialization new_specialization(object function, bytes types, int32_t device):
    cdef Specialization made = Specialization.__new__(Specialization)
    made.function = function
    made.types = types
    made.count = len(types) - 1
    made.is_number = tuple([bool(each & BY_VALUE) for each in types[:made.count]])
    if device < 0 or not find_cached(made, device):
        find_types(made)
    made.out_type = TYPE_NUMBERS[made.out_name]
    described = np.dtype(numpy_name(made.out_name))
    made.out_dtype.code = (
        GPUKERN_BFLOAT if made.out_name == "bfloat16" else CODES[described.kind])
    made.out_dtype.bits = 8 * <int>described.itemsize
    made.out_dtype.lanes = 1
    made.kernels = {}
    return made


cdef bint find_cached(Specialization made, int32_t device) except -1:
    """Takes what the cache has for contiguous arrays; False if it has nothing."""
    key = cache_key.key(made.function, made.types)
    if key is None:
        return False
    try:
        made.cached = find_program(key, device)
    except GpukernError:
        return False  # without it, the error comes where a kernel is needed
    if made.cached is None:
        return False
    made.out_name, made.items, made.limits = cache_key.from_note(made.cached.note())
    return True


cdef int find_types(Specialization made) except -1:
    typed = made.typed()
    made.out_name = TYPE_NAMES[made.types[made.count]] or typed.result
    if not np.can_cast(numpy_name(typed.result), numpy_name(made.out_name), "same_kind"):
        raise GpukernTypeError(
            f"{made.function.name}: out must be of a dtype that {typed.result} converts to without "
            f"changing kind, got {made.out_name}")
    made.items = cuda_codegen.pack_items(typed, made.is_number, made.out_name)
    made.limits = int_limits(typed, made.is_number)
    return 0


cdef object numpy_name(object name):
    """A dtype of the same kind and size, which NumPy has."""
    return "float16" if name == "bfloat16" else name


cdef object int_limits(object typed, object is_number):
    """For each weak int of the arguments that becomes an integer: its index among the scalars, its
    position, and the limits; None if there is none."""
    limits = {}
    for step in typed.steps:
        for value, wanted in zip(step.operands, step.operand_types):
            if value.kind == "input" and value.type == "int" and "int" in wanted:
                known = np.iinfo(wanted)
                low, high = limits.get(value.content, (-2**63, 2**63 - 1))
                limits[value.content] = max(low, known.min), min(high, known.max)
    scalars = [position for position, number in enumerate(is_number) if number]
    found = [(scalars.index(position), position, *pair) for position, pair in limits.items()]
    return found or None


cdef DeviceKernel load_kernel(Program program, str name, int32_t device):
    cdef DeviceKernel made = DeviceKernel.__new__(DeviceKernel)
    cdef bytes encoded = name.encode()
    cdef const char *c_name = encoded
    with nogil:
        check(gpukern_program_kernel(program.c, c_name, device, &made.c))
    return made
