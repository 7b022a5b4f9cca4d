# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""A launch the long way: arrays of any library, host arrays, and the words for what does not fit.

quick.pyx has the quick way, which refuses nothing.
"""

cimport cython
cimport numpy as cnp
from libc.stdint cimport uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

from gpukern._capi cimport (
    GPUKERN_CUDA, GPUKERN_CUDA_MANAGED, gpukern_device, gpukern_kernel_launch, gpukern_launch,
    gpukern_stream_capture,
)
from gpukern._interop.convert cimport as_output, as_tensor, interface_device, used_by
from gpukern._memory.device_array cimport DeviceArray, copy_tensor, copy_to, new_device_array
from gpukern._interop.dlpack cimport dlpack_device
from gpukern._interop.dtype cimport require_plain
from gpukern._runtime.error cimport check
from gpukern._interop.array_type cimport BY_NDARRAY, BY_NUMPY, ArrayType, array_type_of
from gpukern._interop.lend cimport note_write
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._program.parameter cimport Slot, name_of_slot, takes_array, takes_pointer
from gpukern._streams.stream cimport Launch, Stream, new_launch
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray
from gpukern._program.value cimport store_value

import numpy as np

from gpukern._interop import libraries
from gpukern.errors import (
    GpukernBufferError, GpukernMemoryError, GpukernTypeError, GpukernValueError,
)

cnp.import_array()


cdef class HostArgument:
    """A host array as an argument of a kernel, which gets a C-contiguous copy on the GPU.

    The array may have any strides. The copies are ordered on the launch's stream.
    """

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

    ``array`` is a NumPy array, or whatever becomes one. What the kernel writes to the copy is lost.
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


@cython.final
cdef class Values:
    """Memory for the arguments of a launch, and the pointers to them."""

    cdef const void **pointers
    cdef uint64_t *values

    def __dealloc__(self):
        free(self.pointers)
        free(self.values)


cdef Values new_values(LoadedKernel kernel):
    cdef Values made = Values.__new__(Values)
    cdef int i
    made.pointers = <const void **>calloc(kernel.count + 1, sizeof(void *))
    made.values = <uint64_t *>calloc(kernel.bytes_ // 8 + 1, sizeof(uint64_t))
    if made.pointers == NULL or made.values == NULL:
        raise GpukernMemoryError("no host memory for the arguments of a kernel")
    for i in range(kernel.count):
        made.pointers[i] = <char *>made.values + kernel.slots[i].offset
    return made


cdef int launch_slowly(LoadedKernel kernel, const gpukern_launch *shape, Stream given,
                       tuple args) except -1:
    """Launches a kernel, or says why not."""
    cdef Launch where = new_launch(kernel.kernel_name, None, given)
    cdef Values values
    cdef list arrays = []  # (argument, tensor) of each device array
    cdef list staged = []  # (argument, host tensor, its copy) of each host array
    cdef Tensor tensor
    cdef int i
    require_count(kernel, len(args))
    values = new_values(kernel)
    for i in range(kernel.count):
        if not isinstance(args[i], HostArgument) and not store_value(
                args[i], &kernel.slots[i], <void *>values.pointers[i], kernel.what(i),
                kernel.type_of(i)):
            require_array(kernel, i, args[i])
            tensor = device_tensor(kernel, i, args[i], where)
            store_address(values, i, tensor)
            arrays.append((i, tensor))
    # Behind the device arrays, which say on which stream the copies are made.
    for i in range(kernel.count):
        if isinstance(args[i], HostArgument):
            staged.append(stage(kernel, i, args[i], where, values))
    with nogil:
        check(gpukern_kernel_launch(kernel.c, shape, values.pointers, kernel.sizes, kernel.count,
                                    &where.c))
    for i, tensor in arrays:
        used_by(tensor, where, not kernel.slots[i].constant)
        if kernel.slots[i].written:
            note_write(args[i])
    where.finish()
    for i, tensor, copy in staged:
        bring_back(args[i], tensor, copy, where)
    return 0


cdef int require_count(LoadedKernel kernel, Py_ssize_t count) except -1:
    if count != kernel.count:
        takes = f"{kernel.count} argument{'s' if kernel.count != 1 else ''}"
        kinds = f" ({', '.join(kernel.parameters)})" if kernel.count else ""
        raise GpukernTypeError(f"{kernel.kernel_name} takes {takes}{kinds}, got {count}")
    return 0


cdef int require_array(LoadedKernel kernel, int i, object argument) except -1:
    """Refuses what is no device array, or stands where the kernel takes none."""
    cdef const Slot *slot = &kernel.slots[i]
    cdef ArrayType kind
    if not takes_pointer(slot):
        raise GpukernTypeError(f"{kernel.what(i)} must be {name_of_slot(slot, kernel.type_of(i))}, "
                               f"got {type(argument).__name__}")
    if isinstance(argument, DeviceArray):
        return 0
    kind = array_type_of(argument)
    if kind.protocol in (BY_NUMPY, BY_NDARRAY) and not hasattr(argument, "__cuda_array_interface__"):
        hint = ""
        if isinstance(argument, (np.ndarray, list, tuple)):
            hint = "; a host array goes to the GPU by gpukern.In, Out or InOut, or to_device()"
        raise GpukernTypeError(
            f"{kernel.what(i)} must be a device array, got {type(argument).__name__}{hint}")
    return 0


cdef Tensor device_tensor(LoadedKernel kernel, int i, object argument, Launch where):
    """Describes a device array, and orders the launch behind the work on it."""
    cdef Slot slot = kernel.slots[i]
    cdef str what = kernel.what(i)
    cdef Tensor tensor
    # Before its stream is asked for: those of different devices must not meet.
    require_device(kernel, what, argument)
    tensor = as_tensor(argument, what, where)
    if isinstance(argument, DeviceArray) and not slot.constant:
        (<DeviceArray>argument).order(where, True)
    if slot.written and (tensor.readonly or tensor.library == "jax"):
        raise GpukernValueError(
            f"{what} is read-only, and the kernel may write to a '{kernel.type_of(i)}'")
    require_dtype(kernel, i, tensor)
    return tensor


cdef int require_device(LoadedKernel kernel, str what, object argument) except -1:
    cdef gpukern_device device
    cdef ArrayType kind
    if isinstance(argument, DeviceArray):
        device = (<DeviceArray>argument).tensor.c.device
    else:
        kind = array_type_of(argument)
        why = kind.refusal or libraries.why_not(kind.library, argument)
        if why is not None:
            raise GpukernBufferError(f"{what} {why}")
        if hasattr(argument, "__dlpack_device__"):
            device = dlpack_device(argument, what)
        else:
            device = device_of_interface(argument)
    if device.device_type not in (GPUKERN_CUDA, GPUKERN_CUDA_MANAGED):
        raise GpukernTypeError(
            f"{what} must lie on {kernel.device}, got a {type(argument).__name__} on the CPU; "
            "gpukern.In, Out and InOut take host arrays")
    if device.device_type == GPUKERN_CUDA and device.device_id != kernel.info.device:
        raise GpukernValueError(
            f"{what} must lie on {kernel.device}, got one on cuda:{device.device_id}")
    return 0


cdef gpukern_device device_of_interface(object argument) except *:
    cdef gpukern_device device
    try:
        address = argument.__cuda_array_interface__["data"][0] or 0
        return interface_device(<void *><uintptr_t>address)
    except (LookupError, TypeError, OverflowError):
        # Malformed: as_tensor() has the words for it.
        device.device_type, device.device_id = GPUKERN_CUDA_MANAGED, 0
        return device


cdef int require_dtype(LoadedKernel kernel, int i, Tensor tensor) except -1:
    if not takes_array(&kernel.slots[i], tensor.c.dtype):
        raise GpukernTypeError(f"{kernel.what(i)} must be an array for '{kernel.type_of(i)}', "
                               f"got one of dtype {tensor.dtype}")
    return 0


cdef void store_address(Values values, int i, Tensor tensor) noexcept:
    (<void **>values.pointers[i])[0] = <char *>tensor.c.data + tensor.c.byte_offset


cdef tuple stage(LoadedKernel kernel, int i, HostArgument argument, Launch where, Values values):
    """Copies a host array beside the kernel, or makes room for what it will write."""
    cdef str what = kernel.what(i)
    cdef gpukern_device device
    cdef Tensor tensor
    cdef DeviceArray copy
    if not takes_pointer(&kernel.slots[i]):
        raise GpukernTypeError(
            f"{what} must be {name_of_slot(&kernel.slots[i], kernel.type_of(i))}, "
            f"got {type(argument).__name__}")
    tensor = host_tensor(argument, what)
    require_dtype(kernel, i, tensor)
    refuse_capture(kernel, where)
    device.device_type = GPUKERN_CUDA
    device.device_id = kernel.info.device
    if not argument.goes_in:
        copy = new_device_array(tensor, device, where)
    else:
        source = tensor
        if tensor.odd:
            source = tensor_of_ndarray(
                np.ascontiguousarray(tensor.owner).reshape(tensor.shape()))
        copy = copy_to(source, device, where)
    copy.order(where, True)
    store_address(values, i, copy.tensor)
    return i, tensor, copy


cdef Tensor host_tensor(HostArgument argument, str what):
    cdef Launch nowhere = new_launch(what, None, None)
    cdef Tensor tensor
    cdef object array = argument.array
    if argument.comes_out:
        if isinstance(array, bytes):  # which NumPy would take for a scalar
            raise GpukernValueError(f"{what} is read-only")
        tensor = as_output(array, what, nowhere)
    else:
        tensor = as_tensor(array, what, nowhere)
    if not tensor.host or isinstance(array, DeviceArray):
        raise GpukernTypeError(
            f"{what}: {type(argument).__name__} is for host arrays; pass a device array as it is")
    require_plain(tensor.dtype, what)
    if not 0 < tensor.dtype.itemsize <= 65535:
        raise GpukernTypeError(f"{what} must have an itemsize of 1 to 65535, "
                               f"got {tensor.dtype.itemsize}")
    return tensor


cdef int refuse_capture(LoadedKernel kernel, Launch where) except -1:
    cdef gpukern_device device
    cdef uint64_t capture = 0
    device.device_type = GPUKERN_CUDA
    device.device_id = kernel.info.device
    check(gpukern_stream_capture(device, where.c.stream, &capture))
    if capture:
        raise GpukernValueError(
            f"{kernel.kernel_name}: In, Out and InOut wait for their copies, which a stream that "
            "captures a CUDA graph cannot do; pass device arrays")
    return 0


cdef int bring_back(HostArgument argument, Tensor tensor, DeviceArray copy, Launch where) except -1:
    """Copies what a kernel has written to the host, and waits for it."""
    copy.used_by(where)
    if not argument.comes_out:
        return 0
    if isinstance(tensor.owner, cnp.ndarray):
        copy.numpy(out=tensor.owner, stream=where.stream)
    else:
        copy_tensor(copy.tensor, tensor, where)
    note_write(argument.array)
    return 0
