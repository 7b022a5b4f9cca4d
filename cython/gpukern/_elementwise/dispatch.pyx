# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Functions of arrays, and where their calls are computed."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, GPUKERN_PATH_CONTIGUOUS, GPUKERN_PATH_NONE,
    GPUKERN_PATH_STRIDED, GPUKERN_RULE_ARGUMENT, GPUKERN_RULE_ENVIRONMENT, GPUKERN_RULE_HOST,
    GPUKERN_RULE_NO_GPU, gpukern_copy, gpukern_device_count, gpukern_explanation, gpukern_tensor,
)
from gpukern._elementwise.cpu_executor cimport HostFunction, ndarray_at
from gpukern._elementwise.loop_plan cimport (
    MAX_OPERANDS, Broadcast, add_bytes, broadcast_all, overwrites, require_output,
)
from gpukern._elementwise.specialization cimport (
    BY_VALUE, MAX_ARGUMENTS, NO_TYPE, Scalars, Specialization, enqueue, run_pipeline,
    specialization_of, store_number, type_number,
)
from gpukern._interop.argument cimport (
    count_of, describe_operand, describe_output, dtype_of, is_ndarray, shape_of,
)
from gpukern._interop.dtype cimport numpy_dtype
from gpukern._interop.result cimport describe_result, new_result
from gpukern._memory.device_array cimport allocate_device_array
from gpukern._runtime.runtime cimport (
    DEFAULT_CUDA, DEFAULT_NONE, DefaultDevice, check, checked_default_device,
)
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, check_memory, end_call, new_memory, pin, what,
)

import numpy as np

from gpukern._elementwise import cuda_codegen
from gpukern._elementwise.frontend import type_resolution
from gpukern._elementwise.frontend.graph import Function
from gpukern._elementwise.numpy_codegen import host_dtype
from gpukern._elementwise.specialization import TYPE_NAMES
from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()

cdef enum:
    ON_CPU = -1  # in place of a GPU's ordinal
    MANY = 1 << 15  # elements that take longer than to hold their arrays in place

# The arguments of one call, on the stack of __call__().
cdef struct Operands:
    Argument argument[MAX_OPERANDS]  # 0: the output; the arrays, in the caller's order
    int arguments
    const gpukern_tensor *tensor[MAX_OPERANDS]  # 0: the output; the arrays with dimensions
    int count
    Scalars scalars
    char types[MAX_ARGUMENTS + 1]    # of the inputs, and of an output that was given or NO_TYPE
    Argument *first                  # the first array, on a GPU if any is; NULL for numbers alone
    bint all_numpy                   # every array is an ndarray that NumPy can compute with
    Broadcast shape                  # of the result


@cython.final
cdef class Elementwise:
    """A function of arrays, made by :func:`elementwise`.

    ``f(*arguments, out=None, device=None, stream=None, progress=None, device_memory=None)``

    Parameters
    ----------
    *arguments : array or number
        One for each of `inputs`, at most 32, by position. Arrays of any library that gpukern takes,
        of dtype bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64,
        complex64 or complex128, of any strides, that broadcast as in NumPy and are on one device.
        Python numbers are weak; NumPy scalars and 0-d arrays of the host are not.
    out : array, optional
        Written to and returned. It must have the shape of the result, no two elements that share
        memory, and a dtype to which the result converts by the rule 'same_kind'. It may overlap the
        arguments in any way.
    device : {'cpu', 'cuda', 'cuda:N'} or int, optional
        Where host arrays are computed, as in :func:`saxpy`. On the CPU the function is computed by
        NumPy, block by block, on all cores where that pays. Through a GPU they go in chunks that
        are copied and computed at the same time. A function that calls CUDA C++ is computed on a
        GPU in any case.
    stream : optional
        As in :func:`saxpy`; on arrays of a GPU the call only enqueues its work.
    progress : callable, optional
        As in :func:`saxpy`: called as ``progress(done_bytes, total_bytes)`` of the result.
    device_memory : int, optional
        Bytes of device memory that host arrays may use at a time while a GPU computes; by
        default $GPUKERN_DEVICE_MEMORY, or 1 GiB.

    Returns
    -------
    array
        `out`, or a new array of the kind of the first array, C-contiguous, except for ndarrays that
        the CPU computes: these have the memory layout of NumPy's results. A scalar for 0-d ndarrays
        and for numbers alone.

    Raises
    ------
    TypeError
        For a wrong number of arguments, and dtypes that the function does not know.
    ValueError
        For shapes that do not broadcast and devices that differ.
    OverflowError
        For a Python int that does not fit the integer dtype it meets.
    CompileError
        If CUDA C++ in the function does not compile, with the compiler's log.

    Notes
    -----
    A kernel is compiled at the first call with new types or a new kind of layout (contiguous,
    strided), and cached in memory and on disk like :class:`Program`'s. Ctrl-C stops long calls on
    host arrays between the parts of their work.
    """

    cdef readonly object _function  # tests read it
    cdef dict known  # the specializations
    cdef str name
    cdef readonly tuple inputs  # the names of the arguments
    cdef int device_only  # 1 or 0; -1 until it is known
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function):
        if not isinstance(function, Function):
            raise GpukernTypeError("an Elementwise is made by gpukern.elementwise()")
        self._function = function
        self.known = function.specializations
        self.name = function.name
        self.inputs = function.inputs
        self.device_only = -1

    def __getattr__(self, name):
        # Made on demand, since a dict takes longer than a function.
        if name in ("__name__", "__qualname__"):
            return self.name
        if name == "__module__":  # of an expression; a decorated function has its own
            return type(self).__module__
        if name == "__signature__":
            from gpukern._elementwise.decorator import signature_of
            return signature_of(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self):
        return f"<elementwise {self.name}({', '.join(self.inputs)})>"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        from gpukern._elementwise.decorator import reduced
        return reduced(self, self._function)

    def result_dtype(self, *dtypes):
        """The name of the result's dtype for arguments of these dtypes.

        `dtypes` are dtypes, 'bfloat16', or the types of Python's numbers: int, float, complex.
        """
        return self.typed(dtypes).result

    def source(self, *dtypes):
        """The CUDA C++ of the kernel for contiguous arrays of these dtypes, and numbers for int,
        float and complex; it includes headers of gpukern's."""
        typed = self.typed(dtypes)
        weak = type_resolution.WEAK_TYPES
        access = cuda_codegen.Access(
            "contiguous", "".join(["c" if each in weak else "v" for each in typed.types]))
        return cuda_codegen.source(typed, typed.result, access).text

    cdef object typed(self, dtypes):
        if len(dtypes) != len(self.inputs):
            raise GpukernTypeError(
                f"{self.name} takes {len(self.inputs)} arguments, got {len(dtypes)} dtypes")
        names = tuple([type_resolution.argument_type(each) for each in dtypes])
        return type_resolution.typed(self._function, names)

    def __call__(self, *arguments, out=None, device=None, stream=None, progress=None,
                 device_memory=None):
        cdef CallContext call
        cdef Operands operands
        cdef Specialization found
        cdef int32_t gpu
        if len(arguments) != len(self.inputs):
            raise GpukernTypeError(
                f"{self.name} takes {len(self.inputs)} arguments, got {len(arguments)}")
        begin_call(&call, self.name, device, stream, progress, device_memory)
        self.describe_arguments(&call, arguments, &operands)
        gpu = self.gpu_of_call(&call, &operands)
        if out is not None:
            self.describe_out(&call, out, &operands)
        found = specialization_of(self._function, self.known, operands.types, gpu)
        if gpu == ON_CPU:
            return call_on_cpu(&call, found, arguments, &operands, out, progress)
        if operands.first == NULL or operands.first.host:
            return call_through_gpu(&call, found, &operands, gpu, out)
        return call_on_gpu(&call, found, &operands, gpu, out)

    cdef int describe_arguments(self, CallContext *call, tuple arguments,
                                Operands *operands) except -1:
        """Describes the arrays, and stores the numbers and the host arrays without dimensions."""
        cdef Argument *argument
        cdef int i, type_
        operands.arguments = operands.count = 1
        operands.scalars.count = 0
        operands.first = NULL
        operands.all_numpy = True
        for i in range(len(self.inputs)):
            value = arguments[i]
            if type(value) is not cnp.ndarray:
                type_ = store_number(self.name, self.inputs[i], value,
                                     &operands.scalars.value[operands.scalars.count])
                if type_ != NO_TYPE:
                    operands.scalars.count += 1
                    operands.types[i] = <char>type_
                    continue
            argument = &operands.argument[operands.arguments]
            operands.arguments += 1
            describe_operand(call, value, self.inputs[i], argument)
            type_ = require_type(call, argument)
            if operands.first == NULL or operands.first.host and not argument.host:
                operands.first = argument
            operands.all_numpy &= argument.type == NULL and argument.owner == argument.array
            if argument.host and argument.c.ndim == 0:
                memcpy(&operands.scalars.value[operands.scalars.count],
                       <char *>argument.c.data + argument.c.byte_offset, argument.itemsize)
                operands.scalars.count += 1
                type_ |= BY_VALUE
            else:
                operands.tensor[operands.count] = &argument.c
                operands.count += 1
            operands.types[i] = <char>type_
        operands.types[len(self.inputs)] = NO_TYPE
        operands.tensor[0] = &operands.argument[0].c
        if not broadcast_all(&operands.shape, &operands.tensor[1], operands.count - 1):
            shapes = [str(shape_of(operands.tensor[i])) for i in range(1, operands.count)]
            raise GpukernValueError(f"{self.name}: shapes {', '.join(shapes)} do not broadcast")
        return 0

    cdef int32_t gpu_of_call(self, CallContext *call, const Operands *operands) except -2:
        """The GPU of the arrays, or that which host arrays go through; ON_CPU for neither."""
        if operands.first != NULL and not operands.first.host:
            return self.gpu_of_arrays(call, operands)
        if call.c.device.device_type == GPUKERN_CUDA:
            return call.c.device.device_id
        if call.c.device.device_type != GPUKERN_DEVICE_DEFAULT:
            return ON_CPU
        if self.device_only < 0:
            self.device_only = bool(self._function.device_names)
        if checked_default_device() != DEFAULT_CUDA and not self.device_only:
            return ON_CPU
        # A default device that is not there is no error.
        return 0 if gpukern_device_count() > 0 else ON_CPU

    cdef int32_t gpu_of_arrays(self, CallContext *call, const Operands *operands) except -2:
        """The GPU that all arrays are on, which the call must not contradict."""
        cdef const Argument *argument
        cdef int32_t gpu = operands.first.c.device.device_id
        cdef int k
        for k in range(1, operands.arguments):
            argument = &operands.argument[k]
            if argument.host and argument.c.ndim > 0:
                raise GpukernValueError(f"{what(call, argument)} must be on cuda:{gpu} like "
                                        f"{<object>operands.first.name}, got cpu")
        if call.c.device.device_type != GPUKERN_DEVICE_DEFAULT and (
                call.c.device.device_type != GPUKERN_CUDA or call.c.device.device_id != gpu):
            on_cuda = call.c.device.device_type == GPUKERN_CUDA
            given = f"cuda:{call.c.device.device_id}" if on_cuda else "cpu"
            raise GpukernValueError(
                f"{self.name}: device must be that of the arrays, cuda:{gpu}, got {given}")
        # A launch needs the stream only.
        call.c.device.device_type = GPUKERN_DEVICE_DEFAULT
        return gpu

    cdef int describe_out(self, CallContext *call, object out, Operands *operands) except -1:
        """Describes an output that was given, and checks its type, shape, memory and device."""
        cdef Argument *given = &operands.argument[0]
        cdef bint on_host = operands.first == NULL or operands.first.host
        describe_output(call, out, "out", given, temporary=True)
        operands.all_numpy &= given.type == NULL
        operands.types[len(self.inputs)] = <char>require_type(call, given)
        require_output(self.name, &given.c, &operands.shape)
        if given.host != on_host:
            device = "the host" if on_host else f"cuda:{operands.first.c.device.device_id}"
            raise GpukernValueError(f"{self.name}: out must be on {device} like the arrays")
        return 0


cdef int require_type(const CallContext *call, const Argument *argument) except -1:
    cdef int type_ = type_number(&argument.c.dtype)
    if type_ == NO_TYPE:
        raise GpukernTypeError(
            f"{what(call, argument)} must be of a dtype that elementwise computes with, "
            f"got {dtype_of(argument)}")
    return type_


cdef object new_output(CallContext *call, Specialization found, Operands *operands):
    """A new array for the result, described."""
    cdef const Argument *like = operands.first
    if like == NULL:
        made = np.empty((), host_dtype(found.out_name))
        describe_result(call, made, &operands.argument[0])
        return made
    # A library copies its array's dtype in less time than it finds one by name.
    dtype = None if type_number(&like.c.dtype) == found.out_type else found.out_name
    return new_result(call, like, dtype, operands.shape.ndim, operands.shape.sizes,
                      &operands.argument[0])


# ---- arrays of a GPU ----

cdef object call_on_gpu(CallContext *call, Specialization found, Operands *operands, int32_t gpu,
                        object out):
    cdef Argument *target = &operands.argument[0]
    cdef Argument *temporary
    if out is None:
        out = new_output(call, found, operands)
    elif overwrites(operands.tensor, operands.count):
        made = allocate_device_array(
            call, operands.first.c.device, numpy_dtype(found.out_dtype), operands.shape.ndim,
            operands.shape.sizes)
        temporary = <Argument *>new_memory(call, sizeof(Argument))
        describe_result(call, made, temporary)
        operands.tensor[0] = &temporary.c
    enqueue(call, found, operands.tensor, operands.count, &operands.scalars, gpu)
    if operands.tensor[0] != &target.c and call.c.explanation == NULL:
        with nogil:
            check(gpukern_copy(operands.tensor[0], &target.c, &call.c))
    return end_call(call, out, target)


# ---- host arrays ----

cdef object call_through_gpu(CallContext *call, Specialization found, Operands *operands,
                             int32_t gpu, object out):
    cdef Argument *target = &operands.argument[0]
    if out is None:
        out = new_output(call, found, operands)
    run_pipeline(call, found, operands.tensor, operands.count, &operands.scalars, gpu, target)
    return end_call(call, out, target)


cdef object call_on_cpu(CallContext *call, Specialization found, tuple arguments,
                        Operands *operands, object out, object progress):
    cdef HostFunction host = found.host_function()
    cdef Argument *target = &operands.argument[0]
    cdef object memory = None
    if call.c.explanation != NULL:
        explain_on_cpu(call, found, operands)
        return None
    # Any code may run while another argument is read, and other threads between blocks.
    if not operands.all_numpy or operands.shape.count > MANY:
        arguments = host_views(arguments, operands)
        if out is None and operands.first != NULL and not is_ndarray(operands.first):
            out = new_output(call, found, operands)
    if out is not None:
        memory = host_view(target)
    if out is not None or not operands.all_numpy:
        check_memory(call)  # reading an argument may have run any code
    if progress is not None or operands.shape.count > MANY:
        pin(call)  # against a resize by the callback, or by another thread while NumPy computes
    result = host.call(arguments, memory, &operands.shape, progress)
    return result if out is None else end_call(call, out, target)


cdef tuple host_views(tuple arguments, Operands *operands):
    """The arguments as numbers and ndarrays."""
    cdef int i, k = 1
    cdef list views = list(arguments)
    for i in range(len(views)):
        if k < operands.arguments and operands.argument[k].array == <PyObject *>views[i]:
            views[i] = host_view(&operands.argument[k])
            k += 1
    return tuple(views)


cdef object host_view(const Argument *argument):
    """The memory of a host array as an ndarray of the layout that was described: the caller's may
    have been reshaped since."""
    dtype = dtype_of(argument) if is_ndarray(argument) else host_dtype(
        TYPE_NAMES[type_number(&argument.c.dtype)])
    return ndarray_at(&argument.c, dtype, not argument.readonly, <object>argument.owner)


cdef int explain_on_cpu(const CallContext *call, Specialization found,
                        const Operands *operands) except -1:
    """Fills in what a call that NumPy computes would do."""
    cdef gpukern_explanation *explanation = call.c.explanation
    cdef DefaultDevice requested = checked_default_device()
    cdef bint contiguous = True
    cdef int k
    for k in range(1, operands.count):
        contiguous &= operands.tensor[k].strides == NULL
        add_bytes(&explanation.bytes_read, count_of(operands.tensor[k]),
                  operands.tensor[k].dtype.bits)
    explanation.device.device_type = GPUKERN_CPU
    if call.c.device.device_type == GPUKERN_CPU:
        explanation.rule = GPUKERN_RULE_ARGUMENT
    elif requested == DEFAULT_NONE:
        explanation.rule = GPUKERN_RULE_HOST
    elif requested == DEFAULT_CUDA:
        explanation.rule = GPUKERN_RULE_NO_GPU
    else:
        explanation.rule = GPUKERN_RULE_ENVIRONMENT
    explanation.path = GPUKERN_PATH_NONE
    if operands.shape.count > 0:
        explanation.path = GPUKERN_PATH_CONTIGUOUS if contiguous else GPUKERN_PATH_STRIDED
    explanation.threads = found.host_function().threads(operands.shape.count)
    add_bytes(&explanation.bytes_written, operands.shape.count, found.out_dtype.bits)
    return 0
