# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, cdivision=True
"""Element-wise functions for arguments of given types, and their kernels: launched on arrays of a
GPU, or on the chunks in which host arrays pass through one."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject_TypeCheck, PyTypeObject
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_CANCELLED, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT,
    GPUKERN_PATH_CONTIGUOUS, GPUKERN_PATH_STRIDED, GPUKERN_RULE_ARRAYS, gpukern_dtype, gpukern_exec,
    gpukern_explanation, gpukern_kernel, gpukern_kernel_launch, gpukern_kernel_release,
    gpukern_launch, gpukern_pipeline_chunk, gpukern_pipeline_run, gpukern_program_kernel,
    gpukern_status, gpukern_tensor,
)
from gpukern._elementwise.cpu_executor cimport HostFunction
from gpukern._elementwise.loop_plan cimport (
    BLOCK_THREADS, CONTIGUOUS, MAX_OPERANDS, ROWS, KernelKey, LoopPlan, add_bytes, plan_loop,
)
from gpukern._interop.argument cimport count_of
from gpukern._interop.dtype cimport describe_dtype
from gpukern._program.program cimport Program, compile_keyed, find_program
from gpukern._runtime.runtime cimport check, shown
from gpukern._streams.call cimport Argument, CallContext, finish, start

import numpy as np

from gpukern._elementwise import cache_key, cuda_codegen
from gpukern._elementwise.frontend import type_resolution
from gpukern.errors import (
    GpukernError, GpukernOverflowError, GpukernTypeError, GpukernValueError,
)

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyGenericArrType_Type

cnp.import_array()

# A call's, on the caller's stack; it borrows what it points to.
cdef struct ChunkState:
    PyObject *specialization
    const Scalars *scalars
    CallContext *call
    int32_t device
    int items
    LoopPlan plan             # of the chunk
    gpukern_kernel *kernel    # of the last chunk, NULL before the first
    KernelKey key             # of that kernel

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

# The dtypes by number, and the numbers by type code and bytes of an element.
cdef gpukern_dtype DTYPES[16]
cdef char NUMBERS[7][32]


cdef int fill_types() except -1:
    for number in range(1, 16):
        describe_dtype(np.dtype(numpy_name(TYPE_NAMES[number])), &DTYPES[<int>number])
        if TYPE_NAMES[number] == "bfloat16":
            DTYPES[<int>number].code = GPUKERN_BFLOAT
        NUMBERS[DTYPES[<int>number].code][DTYPES[<int>number].bits // 8] = number
    return 0


cdef object numpy_name(object name):
    """A dtype of the same kind and size, which NumPy has."""
    return "float16" if name == "bfloat16" else name


cdef int type_number(const gpukern_dtype *dtype) noexcept nogil:
    """The number of a dtype, NO_TYPE for one that is not computed with."""
    if dtype.lanes != 1 or dtype.code >= 7 or dtype.bits % 8 != 0:
        return NO_TYPE
    return NUMBERS[dtype.code][dtype.bits // 8]


cdef int store_number(object function, object name, object value, Scalar *scalar) except -1:
    """Stores a Python or NumPy scalar, the argument `name` of a function, and returns its type;
    NO_TYPE for any other object."""
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
            raise GpukernOverflowError(
                f"{function}: {name} must be in [-2**63, 2**63), as a Python int, "
                f"got {shown(value)}")
        return WEAK_INT
    if kind is bool:
        (<char *>scalar.word)[0] = value
        return BOOL
    if kind is complex:
        scalar.word[0], scalar.word[1] = value.real, value.imag
        return WEAK_COMPLEX
    if PyObject_TypeCheck(value, &PyGenericArrType_Type):
        return store_numpy_scalar(function, name, value, scalar)
    return NO_TYPE


cdef int store_numpy_scalar(object function, object name, object value,
                            Scalar *scalar) except -1:
    cdef gpukern_dtype dtype
    cdef int type_
    cdef bytes data
    described = cnp.PyArray_DescrFromScalar(value)
    describe_dtype(described, &dtype)
    type_ = type_number(&dtype)
    if type_ == NO_TYPE:
        raise GpukernTypeError(
            f"{function}: {name} must be of a dtype that elementwise computes with, "
            f"got {described}")
    if dtype.code == GPUKERN_BFLOAT:
        data = value.tobytes()
        memcpy(scalar.word, <const char *>data, len(data))
    else:
        cnp.PyArray_ScalarAsCtype(value, scalar.word)
    return type_ | BY_VALUE


# ---- kernels ----

@cython.final
cdef class DeviceKernel:
    """A kernel on one device."""

    def __cinit__(self, Program program, str name, int32_t device):
        cdef bytes encoded = name.encode()
        cdef const char *c_name = encoded
        with nogil:
            check(gpukern_program_kernel(program.c, c_name, device, &self.c))

    def __dealloc__(self):
        with nogil:  # as Kernel.__dealloc__
            gpukern_kernel_release(self.c)


@cython.final
cdef class Specialization:
    """A function for arguments of given types and an output of a given one."""

    cdef gpukern_kernel *kernel_of(self, const LoopPlan *plan) except NULL:
        """The kernel for a plan, compiled at its first use; this holds it."""
        key = PyBytes_FromStringAndSize(<const char *>&plan.key, sizeof(plan.key))
        found = self.kernels.get(key)
        if found is None:
            # All threads that compile it now keep the first one.
            found = self.kernels.setdefault(key, self.compiled(plan))
        return (<DeviceKernel>found).c

    cdef object typed(self):
        with cython.critical_section(self):
            if self.known_typed is None:
                names = tuple([TYPE_NAMES[each & ~BY_VALUE] for each in self.types[:self.count]])
                self.known_typed = type_resolution.typed(self.function, names)
            return self.known_typed

    cdef DeviceKernel compiled(self, const LoopPlan *plan):
        cdef Program program
        cdef int32_t device = plan.key.device
        flags = iter([chr(plan.key.flags[k]) for k in range(1, plan.nest.operands)])
        flags = "".join(["c" if number else next(flags) for number in self.is_number])
        key = note = None
        if plan.key.pattern == CONTIGUOUS and "s" not in flags:
            if self.cached is not None and self.cached.device_id == device:
                return DeviceKernel(self.cached, cuda_codegen.kernel_name(self.function), device)
            key = cache_key.key(self.function, self.types)
            note = cache_key.note(self.out_name, self.items, self.limits)
        access = cuda_codegen.Access(
            PATTERNS[<int>plan.key.pattern], flags, plan.key.rank, bool(plan.key.wide))
        source = cuda_codegen.source(self.typed(), self.out_name, access)
        program = compile_keyed(source.text, source.options, f"{source.kernel}.cu",
                                dict(cuda_codegen.headers()), device, key, note)
        return DeviceKernel(program, source.kernel, device)

    cdef int require_fit(self, const Scalars *scalars) except -1:
        """Refuses a Python int that the integer dtype it takes does not hold, as NumPy does."""
        cdef long long value
        for index, position, low, high in self.limits:
            memcpy(&value, scalars.value[<int>index].word, sizeof(value))
            if not low <= value <= high:
                name = self.function.inputs[position]
                raise GpukernOverflowError(
                    f"{self.function.name}: {name} must be in [{low}, {high}], got {value}")
        return 0

    cdef HostFunction host_function(self):
        with cython.critical_section(self):
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
    made.out_dtype = DTYPES[made.out_type]
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


cdef object int_limits(object typed, object is_number):
    """For each weak int of the arguments that becomes an integer: its index among the scalars, its
    position, and the limits."""
    limits = {}
    for step in typed.steps:
        for value, wanted in zip(step.operands, step.operand_types):
            if value.kind == "input" and value.type == "int" and "int" in wanted:
                known = np.iinfo(wanted)
                low, high = limits.get(value.content, (-2**63, 2**63 - 1))
                limits[value.content] = max(low, known.min), min(high, known.max)
    scalars = [position for position, number in enumerate(is_number) if number]
    return [(scalars.index(position), position, *pair) for position, pair in limits.items()]


fill_types()


# ---- launches ----

cdef int enqueue(CallContext *call, Specialization specialization,
                 const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                 int32_t device) except -1:
    """Launches the kernel that suits arrays of a GPU, on the call's stream."""
    cdef LoopPlan plan
    cdef gpukern_kernel *kernel
    plan_loop(&plan, operands, count, specialization.items, device)
    if call.c.explanation != NULL:
        explain(call.c.explanation, &plan, operands, count)
        return 0
    if plan.blocks == 0:
        return 0
    if plan.blocks >= <int64_t>1 << 31:
        raise GpukernValueError("elementwise: the arrays are too large for one kernel launch")
    specialization.require_fit(scalars)
    kernel = specialization.kernel_of(&plan)
    with nogil:
        check(launch(kernel, &plan, scalars, &call.c))
    return 0


cdef void explain(gpukern_explanation *explanation, const LoopPlan *plan,
                  const gpukern_tensor *const *operands, int count) noexcept:
    """Fills in what a call on arrays of a GPU would do."""
    cdef bint wide = plan.key.pattern == CONTIGUOUS or plan.key.pattern == ROWS
    cdef int k
    explanation.device = operands[0].device
    explanation.rule = GPUKERN_RULE_ARRAYS
    if plan.blocks > 0:
        explanation.path = GPUKERN_PATH_CONTIGUOUS if wide else GPUKERN_PATH_STRIDED
    for k in range(count):
        add_bytes(&explanation.bytes_read if k > 0 else &explanation.bytes_written,
                  count_of(operands[k]), operands[k].dtype.bits)


cdef gpukern_status launch(const gpukern_kernel *kernel, const LoopPlan *plan,
                           const Scalars *scalars, const gpukern_exec *exec_) noexcept nogil:
    """Launches a kernel for a plan that it suits."""
    cdef gpukern_launch shape
    cdef const void *arguments[2]
    cdef size_t sizes[2]
    arguments[0] = &plan.words[0]
    sizes[0] = plan.bytes
    arguments[1] = &scalars.value[0]
    sizes[1] = scalars.count * sizeof(Scalar)
    memset(&shape, 0, sizeof(shape))
    shape.struct_size = sizeof(shape)
    shape.grid[0] = <unsigned int>plan.blocks
    shape.grid[1] = shape.grid[2] = 1
    shape.block[0] = BLOCK_THREADS
    shape.block[1] = shape.block[2] = 1
    shape.programmatic_launch = 1
    return gpukern_kernel_launch(kernel, &shape, arguments, sizes, 2 if scalars.count > 0 else 1,
                                 exec_)


# ---- host arrays through a GPU ----

cdef int run_pipeline(CallContext *call, Specialization specialization,
                      const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                      int32_t device, const Argument *out) except -1:
    """Computes `out`, which is operands[0], from the others, all of them on the host, on a GPU; or
    fills in the explanation that the call requests."""
    cdef ChunkState state
    if count_of(operands[0]) > 0:
        specialization.require_fit(scalars)
    state.specialization = <PyObject *>specialization
    state.scalars = scalars
    state.call = call
    state.device = device
    state.items = specialization.items
    state.kernel = NULL
    if call.c.explanation == NULL:  # which names the rule that chose the device
        call.c.device.device_type, call.c.device.device_id = GPUKERN_CUDA, device
    start(call, out)
    return finish(call, gpukern_pipeline_run(operands + 1, count - 1, operands[0], compute_chunk,
                                             &state, &call.c))


cdef gpukern_status compute_chunk(void *user, const gpukern_pipeline_chunk *chunk) noexcept nogil:
    """Launches the kernel that suits a chunk."""
    cdef ChunkState *state = <ChunkState *>user
    cdef const gpukern_tensor *tensors[MAX_OPERANDS]
    cdef gpukern_exec exec_
    cdef int k, inputs = <int>chunk.input_count
    tensors[0] = &chunk.out
    for k in range(inputs):
        tensors[1 + k] = &chunk.inputs[k]
    plan_loop(&state.plan, tensors, 1 + inputs, state.items, state.device)
    # The GIL is only taken for the first chunk, and for a last one that needs another kernel.
    if (state.kernel == NULL or memcmp(&state.key, &state.plan.key, sizeof(state.key)) != 0) and (
            not find_kernel(state)):
        return GPUKERN_CANCELLED
    memset(&exec_, 0, sizeof(exec_))
    exec_.struct_size = sizeof(exec_)
    exec_.device.device_type = GPUKERN_DEVICE_DEFAULT
    exec_.stream = chunk.stream
    return launch(state.kernel, &state.plan, state.scalars, &exec_)


cdef bint find_kernel(ChunkState *state) noexcept with gil:
    """Finds or compiles the kernel for a chunk; leaves an exception to finish()."""
    try:
        state.kernel = (<Specialization>state.specialization).kernel_of(&state.plan)
    except BaseException as error:
        Py_INCREF(error)
        state.call.watch.error = <PyObject *>error
        return False
    state.key = state.plan.key
    return True
