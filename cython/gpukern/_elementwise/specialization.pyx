# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise functions for arguments of given types, their kernels and launches."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT,
    gpukern_dtype, gpukern_exec, gpukern_kernel, gpukern_kernel_launch, gpukern_kernel_release,
    gpukern_launch, gpukern_program_kernel, gpukern_status, gpukern_tensor,
)
from gpukern._runtime.error cimport check
from gpukern._elementwise.cpu_executor cimport HostFunction
from gpukern._elementwise.loop_plan cimport (
    BLOCK_THREADS, CONTIGUOUS, MAX_OPERANDS, LoopPlan, plan_loop,
)
from gpukern._program.program cimport Program, compile_keyed, find_program

import numpy as np

from gpukern._elementwise import cuda_codegen

from gpukern._elementwise import cache_key

from gpukern._elementwise.frontend import type_resolution
from gpukern.errors import (
    GpukernError, GpukernOverflowError, GpukernTypeError, GpukernValueError,
)

cdef object GENERIC = np.generic

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
cdef tuple KIND_NAMES = ("packs", "rows", "items", "bytes")
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


cdef int number_argument(object value, Slot *slot) except -1:
    """Stores a Python or NumPy number and returns its type; NO_TYPE for what is none."""
    cdef int overflow = 0
    cdef long long whole
    kind = type(value)
    if kind is float:
        slot.word[0] = value
        return WEAK_FLOAT
    if kind is int:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        memcpy(slot.word, &whole, sizeof(whole))
        if overflow:
            raise GpukernOverflowError(f"elementwise: Python integer {value} needs over 64 bits")
        return WEAK_INT
    if kind is bool:
        (<char *>slot.word)[0] = value
        return BOOL
    if kind is complex:
        slot.word[0], slot.word[1] = value.real, value.imag
        return WEAK_COMPLEX
    if isinstance(value, GENERIC):
        return store_generic(value, slot)
    return NO_TYPE


cdef int store_generic(object value, Slot *slot) except -1:
    cdef bytes data = value.tobytes()
    name = value.dtype.name
    number = TYPE_NUMBERS.get(name)
    if number is None or not value.dtype.isnative:
        raise GpukernTypeError(f"elementwise: a number of dtype {name} is not one to compute with")
    memcpy(slot.word, <const char *>data, len(data))
    return number | BY_VALUE


@cython.final
cdef class Compiled:
    """A kernel on one device."""

    def __dealloc__(self):
        with nogil:  # as LoadedKernel
            gpukern_kernel_release(self.kernel)


@cython.final
cdef class Signature:
    """A function for arguments of given types and an output of a given one."""

    cdef int enqueue(self, const gpukern_tensor *const *tensors, int operands,
                     Numbers *numbers, int32_t device,
                     const gpukern_exec *where) except -1:
        """Launches the kernel that suits the operands, tensors[0] being the output."""
        cdef LoopPlan plan
        cdef Compiled compiled
        plan_loop(&plan, tensors, operands, self.items)
        if plan.blocks == 0:
            return 0
        if plan.blocks >= <int64_t>1 << 31:
            raise GpukernValueError("elementwise: the arrays are too large for one kernel launch")
        if self.limits is not None:
            self.require_fit(numbers)
        compiled = self.kernel_of(&plan, device)
        with nogil:
            check(launch_plan(compiled.kernel, &plan, numbers, where))
        return 0

    cdef Compiled kernel_of(self, const LoopPlan *plan, int32_t device):
        """The kernel for a plan, from memory if it was ever used."""
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
            # Another thread may be as far as this: all keep the one that came first.
            found = self.kernels.setdefault(name, self.compiled(plan, device))
        return found

    cdef object typed(self):
        if self.known_typed is None:
            names = tuple([TYPE_NAMES[each & ~BY_VALUE] for each in self.types[:self.count]])
            self.known_typed = type_resolution.typed(self.function, names)
        return self.known_typed

    cdef Compiled compiled(self, const LoopPlan *plan, int32_t device):
        cdef Program program
        flags = iter([chr(plan.flags[k]) for k in range(1, plan.nest.operands)])
        flags = "".join(["c" if number else next(flags) for number in self.is_number])
        key = note = None
        if plan.pattern == CONTIGUOUS and "s" not in flags:
            if self.kept is not None and self.kept.device_id == device:
                return load_kernel(self.kept, cuda_codegen.kernel_name(self.function), device)
            key = cache_key.key(self.function, self.types)
            note = cache_key.note(self.out_name, self.items, self.limits)
        layout = cuda_codegen.Layout(KIND_NAMES[<int>plan.pattern], flags, plan.nest.rank, plan.wide)
        source = cuda_codegen.source(self.typed(), self.out_name, layout)
        program = compile_keyed(source.text, source.options, f"{source.kernel}.cu",
                                dict(cuda_codegen.headers()), device, key, note)
        return load_kernel(program, source.kernel, device)

    cdef int require_fit(self, Numbers *numbers) except -1:
        """Refuses a Python int that the integer dtype it takes does not hold, as NumPy does."""
        cdef long long value
        for place, position, low, high in self.limits:
            memcpy(&value, numbers.slot[<int>place].word, sizeof(value))
            if not low <= value <= high:
                name = self.function.inputs[position]
                raise GpukernOverflowError(
                    f"{self.function.name}: {name} must lie in [{low}, {high}], got {value}")
        return 0

    cdef HostFunction host_function(self):
        found = self.kernels.get(None)
        if found is None:
            made = HostFunction(self.typed(), self.out_name, self.is_number)
            found = self.kernels.setdefault(None, made)
        return found


cdef gpukern_status launch_plan(const gpukern_kernel *kernel, const LoopPlan *plan,
                                const Numbers *numbers, const gpukern_exec *where) noexcept nogil:
    """Launches a kernel for a plan that it suits."""
    cdef gpukern_launch launch
    cdef const void *arguments[2]
    cdef size_t sizes[2]
    cdef size_t parameters = 2 if numbers.count > 0 else 1
    arguments[0] = &plan.words[0]
    sizes[0] = plan.bytes
    arguments[1] = &numbers.slot[0]
    sizes[1] = numbers.count * sizeof(Slot)
    memset(&launch, 0, sizeof(launch))
    launch.struct_size = sizeof(launch)
    launch.grid[0] = <unsigned int>plan.blocks
    launch.grid[1] = launch.grid[2] = 1
    launch.block[0] = BLOCK_THREADS
    launch.block[1] = launch.block[2] = 1
    launch.programmatic_launch = 1
    return gpukern_kernel_launch(kernel, &launch, arguments, sizes, parameters, where)


cdef Signature signature_of(object function, dict signatures, const char *types, int32_t device):
    """The signature for the types of the arguments, and behind them that of an output that was
    given or NO_TYPE; from memory if there is one. A CUDA ordinal as the device, else -1, has it
    looked for in the cache of programs."""
    cdef int count = len(function.inputs)
    key = PyBytes_FromStringAndSize(types, count + 1)
    found = signatures.get(key)
    if found is None:
        found = signatures.setdefault(key, new_signature(function, key, device))
    return found


cdef Signature new_signature(object function, bytes types, int32_t device):
    cdef Signature made = Signature.__new__(Signature)
    made.function = function
    made.types = types
    made.count = len(types) - 1
    made.is_number = tuple([bool(each & BY_VALUE) for each in types[:made.count]])
    if device < 0 or not find_kept(made, device):
        find_types(made)
    made.out_type = TYPE_NUMBERS[made.out_name]
    described = np.dtype(numpy_name(made.out_name))
    made.out_dtype.code = (
        GPUKERN_BFLOAT if made.out_name == "bfloat16" else CODES[described.kind])
    made.out_dtype.bits = 8 * <int>described.itemsize
    made.out_dtype.lanes = 1
    made.kernels = {}
    return made


cdef bint find_kept(Signature made, int32_t device) except -1:
    """Takes what the cache has for contiguous arrays; False if it has nothing."""
    key = cache_key.key(made.function, made.types)
    if key is None:
        return False
    try:
        made.kept = find_program(key, device)
    except GpukernError:
        return False  # without it, the error comes where a kernel is needed
    if made.kept is None:
        return False
    made.out_name, made.items, made.limits = cache_key.from_note(made.kept.note())
    return True


cdef int find_types(Signature made) except -1:
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
    """For each weak int of the arguments that becomes an integer: its place among the numbers, its
    position, and the limits; None if there is none."""
    limits = {}
    for step in typed.steps:
        for value, wanted in zip(step.operands, step.operand_types):
            if value.kind == "input" and value.type == "int" and "int" in wanted:
                known = np.iinfo(wanted)
                low, high = limits.get(value.content, (-2**63, 2**63 - 1))
                limits[value.content] = max(low, known.min), min(high, known.max)
    places = [position for position, number in enumerate(is_number) if number]
    found = [(places.index(position), position, *pair) for position, pair in limits.items()]
    return found or None


cdef Compiled load_kernel(Program program, str name, int32_t device):
    cdef Compiled made = Compiled.__new__(Compiled)
    cdef bytes encoded = name.encode()
    cdef const char *c_name = encoded
    with nogil:
        check(gpukern_program_kernel(program.c, c_name, device, &made.kernel))
    return made
