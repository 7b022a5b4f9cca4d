# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Launches of a kernel, and host arrays as its arguments."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport uint64_t

from gpukern._capi cimport (
    GPUKERN_CUDA, gpukern_copy, gpukern_kernel_launch, gpukern_launch,
    gpukern_stream_capture,
)
from gpukern._interop.argument cimport (
    describe, describe_output, describe_prepared, dtype_of, fill_from_ndarray, is_device_array,
    is_ndarray, prepare,
)
from gpukern._interop.array_type cimport BY_NDARRAY, BY_NUMPY, ArrayType, array_type_of
from gpukern._interop.result cimport describe_result
from gpukern._memory.creation cimport require_device_dtype
from gpukern._memory.device_array cimport DeviceArray, allocate_device_array
from gpukern._program.kernel cimport Kernel
from gpukern._program.kernel_args cimport (
    KernelParameter, name_of_parameter, store_plain_number, store_value, takes_array,
    takes_pointer, what,
)
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, keep, new_memory, pin, stream_of_call,
)

import numpy as np

from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()

cdef enum:
    # Arguments, and words of their values, for which there is room on the stack.
    INLINE_COUNT = 16
    INLINE_WORDS = 32


cdef class HostArgument:
    """A host array as an argument of a kernel, which gets a C-contiguous copy on the GPU.

    The array may have any strides. The copies are ordered on the launch's stream.
    """

    cdef readonly object array
    cdef bint goes_in, comes_out

    def __init__(self, array):
        if isinstance(array, HostArgument):
            raise GpukernTypeError(f"{type(self).__name__} takes a host array, got {array!r}")
        self.array = array

    def __repr__(self):
        return f"gpukern.{type(self).__name__}({self.array!r})"


@cython.final
cdef class In(HostArgument):
    """A host array that a kernel reads: copied to the GPU before the launch.

    >>> kernel[grid, block](gpukern.In(x), gpukern.Out(y), len(x))

    ``array`` is a NumPy array, or any object that numpy.asarray() converts. What the kernel writes
    to the copy is discarded.
    """

    def __cinit__(self, *args, **kwargs):
        self.goes_in = True


@cython.final
cdef class Out(HostArgument):
    """A host array that a kernel writes all of: copied from the GPU after the launch.

    The call waits until the results are there. What the kernel leaves out is undefined afterwards.
    A read-only array is a ValueError.
    """

    def __cinit__(self, *args, **kwargs):
        self.comes_out = True


@cython.final
cdef class InOut(HostArgument):
    """A host array that a kernel changes: copied to the GPU before the launch, and back after it.

    The call waits until the results are there. A read-only array is a ValueError.
    """

    def __cinit__(self, *args, **kwargs):
        self.goes_in = self.comes_out = True


cdef int launch(Kernel kernel, const gpukern_launch *shape, object stream, tuple args) except -1:
    """Launches a kernel with the caller's arguments, on a stream or None."""
    cdef CallContext call
    cdef Argument inline_arguments[INLINE_COUNT]
    cdef const void *inline_pointers[INLINE_COUNT]
    cdef uint64_t inline_values[INLINE_WORDS]
    cdef Argument *arguments = inline_arguments
    cdef const void **pointers = inline_pointers
    cdef char *values = <char *>inline_values
    cdef int i
    cdef bint staged = False
    require_count(kernel, len(args))
    begin_call(&call, kernel.kernel_name, None, stream, None, None)
    call.addresses_only = True
    # Arrays of another GPU are refused.
    call.device.device_type = GPUKERN_CUDA
    call.device.device_id = kernel.info.device
    if kernel.count > INLINE_COUNT or kernel.bytes_ > INLINE_WORDS * sizeof(uint64_t):
        arguments = <Argument *>new_memory(&call, kernel.count * sizeof(Argument))
        pointers = <const void **>new_memory(&call, kernel.count * sizeof(void *))
        values = <char *>new_memory(&call, kernel.bytes_)
    for i in range(kernel.count):
        pointers[i] = values + kernel.known_parameters[i].offset
        staged |= describe_argument(&call, &kernel.known_parameters[i], args[i],
                                    <void *>pointers[i], &arguments[i])
    # After the device arrays, which decide on which stream the copies are made.
    if staged:
        return launch_staged(&call, kernel, shape, args, arguments, pointers)
    return launch_described(&call, kernel, shape, pointers)


cdef int launch_described(CallContext *call, Kernel kernel, const gpukern_launch *shape,
                          const void **pointers) except -1:
    cdef Argument none  # in place of a result
    with nogil:
        check(gpukern_kernel_launch(kernel.c, shape, pointers, kernel.sizes, kernel.count,
                                    &call.c))
    none.is_new = False
    end_call(call, None, &none)
    return 0


cdef int require_count(Kernel kernel, Py_ssize_t count) except -1:
    if count != kernel.count:
        takes = f"{kernel.count} argument{'s' if kernel.count != 1 else ''}"
        types = f" ({', '.join(kernel.parameters)})" if kernel.count else ""
        raise GpukernTypeError(f"{kernel.kernel_name} takes {takes}{types}, got {count}")
    return 0


cdef bint describe_argument(CallContext *call, const KernelParameter *parameter, object value,
                            void *to, Argument *argument) except -1:
    """Stores a value, or the address of a device array; returns True for a host array, which is
    left to stage()."""
    cdef ArrayType type_
    if store_plain_number(value, parameter, to):
        return False
    type_ = array_type_of(value)
    if type_.protocol == BY_NUMPY and not hasattr(value, "__cuda_array_interface__"):
        if isinstance(value, HostArgument):
            return True
        if store_value(value, parameter, to):
            return False
        require_pointer(parameter, value)
        refuse_host(parameter, value)
    require_pointer(parameter, value)
    if type_.protocol == BY_NDARRAY:
        refuse_host(parameter, value)
    prepare(argument, value, parameter.position)
    argument.written = not parameter.constant
    describe_prepared(call, value, argument)
    if argument.host:
        raise GpukernTypeError(
            f"{what(parameter)} must be on cuda:{call.device.device_id}, got a "
            f"{type(value).__name__} on the CPU; gpukern.In, Out and InOut take host arrays")
    if parameter.written and (argument.readonly or type_.adopts):
        raise GpukernValueError(f"{what(parameter)} is read-only, and the kernel may write to a "
                                f"'{<object>parameter.type}'")
    require_dtype(parameter, argument)
    if argument.tracker == NULL:  # its library counts what was written for certain
        argument.written = parameter.written
    (<void **>to)[0] = <char *>argument.c.data + argument.c.byte_offset
    return False


cdef int require_pointer(const KernelParameter *parameter, object value) except -1:
    if not takes_pointer(parameter):
        raise GpukernTypeError(f"{what(parameter)} must be {name_of_parameter(parameter)}, "
                               f"got {type(value).__name__}")
    return 0


cdef int refuse_host(const KernelParameter *parameter, object value) except -1:
    hint = ""
    if isinstance(value, (np.ndarray, list, tuple)):
        hint = "; a host array goes to the GPU by gpukern.In, Out or InOut, or to_device()"
    raise GpukernTypeError(
        f"{what(parameter)} must be a device array, got {type(value).__name__}{hint}")


cdef int require_dtype(const KernelParameter *parameter, const Argument *argument) except -1:
    if not takes_array(parameter, argument.c.dtype):
        raise GpukernTypeError(f"{what(parameter)} must be an array for "
                               f"'{<object>parameter.type}', got one of dtype {dtype_of(argument)}")
    return 0


# ---- host arrays ----

cdef int launch_staged(CallContext *call, Kernel kernel, const gpukern_launch *shape, tuple args,
                       Argument *arguments, const void **pointers) except -1:
    """Launches a kernel with copies of its host arrays, and copies back what it has written."""
    cdef Argument *hosts = <Argument *>new_memory(call, kernel.count * sizeof(Argument))
    cdef int i
    call.addresses_only = False
    for i in range(kernel.count):
        if isinstance(args[i], HostArgument):
            stage(call, &kernel.known_parameters[i], args[i], &hosts[i], &arguments[i])
            (<void **>pointers[i])[0] = arguments[i].c.data
    launch_described(call, kernel, shape, pointers)
    for i in range(kernel.count):
        if isinstance(args[i], HostArgument) and (<HostArgument>args[i]).comes_out:
            bring_back(call, &arguments[i], &hosts[i])
    return 0


cdef int stage(CallContext *call, const KernelParameter *parameter, HostArgument given,
               Argument *host, Argument *copy) except -1:
    """Copies a host array to the GPU, or allocates memory for what the kernel will write."""
    cdef Argument contiguous
    require_pointer(parameter, given)
    describe_host(call, parameter, given, host)
    refuse_capture(call)
    made = allocate_device_array(call, call.device, dtype_of(host), host.c.ndim, host.c.shape)
    keep(call, made)
    describe_result(call, made, copy)
    if not given.goes_in:
        return 0
    if host.byte_strided:
        packed = np.array(<object>host.owner, order="C")
        keep(call, packed)
        prepare(&contiguous, packed, parameter.position)
        fill_from_ndarray(call, &contiguous, packed)
        host = &contiguous
    pin(call)
    with nogil:
        check(gpukern_copy(&host.c, &copy.c, &call.c))
    return 0


cdef int describe_host(CallContext *call, const KernelParameter *parameter, HostArgument given,
                       Argument *host) except -1:
    if not given.comes_out:
        describe(call, given.array, parameter.position, host)
    elif isinstance(given.array, bytes):  # which NumPy would take for a scalar
        raise GpukernValueError(f"{what(parameter)} is read-only")
    else:
        describe_output(call, given.array, parameter.position, host)
        if host.target != NULL:  # bring_back() writes by fields
            fill_from_ndarray(call, host, <cnp.ndarray>host.target)
            host.target = NULL
    if not host.host or is_device_array(host):
        raise GpukernTypeError(f"{what(parameter)}: {type(given).__name__} is for host arrays; "
                               "pass a device array as it is")
    require_device_dtype(dtype_of(host), what(parameter))
    return require_dtype(parameter, host)


cdef int refuse_capture(const CallContext *call) except -1:
    cdef uint64_t capture = 0
    check(gpukern_stream_capture(call.device, call.c.stream, &capture))
    if capture:
        raise GpukernValueError(
            f"{<object>call.function}: In, Out and InOut wait for their copies, which a stream "
            "that captures a CUDA graph cannot do; pass device arrays")
    return 0


cdef int bring_back(CallContext *call, const Argument *copy, const Argument *host) except -1:
    """Copies what a kernel has written to the host, and waits for it."""
    if is_ndarray(host):
        (<DeviceArray>copy.array).numpy(out=<object>host.owner, stream=stream_of_call(call))
        return 0
    with nogil:
        check(gpukern_copy(&copy.c, &host.c, &call.c))
    return 0
