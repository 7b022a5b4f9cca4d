# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""From the caller's arrays to tensors, and from a result to the caller's kind of array."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer
from libc.stdint cimport uintptr_t

from gpukern._capi cimport GPUKERN_CUDA, GPUKERN_CUDA_MANAGED, gpukern_device
from gpukern._device_array cimport DeviceArray, copy_to, new_device_array
from gpukern._dlpack cimport dlpack_device, import_dlpack
from gpukern._dtype cimport describe
from gpukern._stream cimport Launch, as_stream, stream_of_handle
from gpukern._tensor cimport Tensor, new_ndarray, tensor_of_ndarray

import numpy as np

from gpukern import _interop
from gpukern.errors import GpukernBufferError, GpukernTypeError, GpukernValueError

cnp.import_array()

# Per type: the protocol by which its arrays come in, and the library that they belong to.
cdef enum:
    BY_NUMPY
    BY_DLPACK
    BY_CUDA_ARRAY_INTERFACE

cdef dict known_types = {}


cdef tuple protocol_of(type kind):
    found = known_types.get(kind)
    if found is None:
        if hasattr(kind, "__dlpack__"):
            protocol = BY_DLPACK
        elif hasattr(kind, "__cuda_array_interface__"):
            protocol = BY_CUDA_ARRAY_INTERFACE
        else:
            protocol = BY_NUMPY
        found = known_types[kind] = (protocol, _interop.library_of(kind))
    return found


cdef Tensor as_tensor(object array, str what, Launch launch):
    """Describes an array for a call that runs on the launch's stream."""
    if isinstance(array, cnp.ndarray):
        return tensor_of_ndarray(array)
    if isinstance(array, DeviceArray):
        (<DeviceArray>array).order(launch)
        return view_of(array)
    protocol, library = protocol_of(type(array))
    if protocol == BY_DLPACK:
        return tensor_of_dlpack(array, library, what, launch)
    # An object may have the interface of its own, without its type: a proxy, a namespace.
    if protocol == BY_CUDA_ARRAY_INTERFACE or hasattr(array, "__cuda_array_interface__"):
        return tensor_of_interface(array, what, launch)
    made = np.asarray(array)
    if made.dtype.hasobject and not isinstance(array, (list, tuple)):
        raise GpukernTypeError(f"{what} must be an array, got {type(array).__name__}")
    return tensor_of_ndarray(made)


cdef Tensor view_of(DeviceArray array):
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef int d
    tensor.resize(array.tensor.c.ndim)
    for d in range(tensor.c.ndim):
        tensor.c.shape[d] = array.tensor.c.shape[d]
    tensor.set_contiguous()
    tensor.c.data = array.tensor.c.data
    tensor.c.device = array.tensor.c.device
    tensor.c.dtype = array.tensor.c.dtype
    tensor.dtype = array.tensor.dtype
    tensor.itemsize = array.tensor.itemsize
    tensor.host = array.tensor.host
    tensor.owner = array
    return tensor


cdef Tensor tensor_of_dlpack(object array, object library, str what, Launch launch):
    cdef gpukern_device device = dlpack_device(array, what)
    cdef object number = None
    cdef Tensor tensor
    if device.device_type in (GPUKERN_CUDA, GPUKERN_CUDA_MANAGED):
        stream = None
        if launch.stream is None and library is not None:
            stream = _interop.current_stream(library, device.device_id)
        launch.follow(device, None if stream is None else as_stream(stream))
        # DLPack's number of the legacy default stream is 1.
        number = <uintptr_t>launch.c.stream or 1
    tensor = import_dlpack(array, device, number, what)
    tensor.library = library
    return tensor


cdef Tensor tensor_of_interface(object array, str what, Launch launch):
    """Imports an array by __cuda_array_interface__, version 3 and before."""
    cdef dict interface = array.__cuda_array_interface__
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef Py_ssize_t d
    if interface.get("mask") is not None:
        raise GpukernBufferError(f"{what} must have no mask")
    shape = interface["shape"]
    pointer, tensor.readonly = interface["data"]
    tensor.dtype = interface_dtype(interface)
    describe(tensor.dtype, &tensor.c.dtype)
    tensor.itemsize = tensor.dtype.itemsize
    tensor.resize(len(shape))
    for d in range(tensor.c.ndim):
        tensor.c.shape[d] = shape[d]
    set_byte_strides(tensor, interface.get("strides"), what)
    tensor.c.data = <void *><uintptr_t>(pointer or 0)
    tensor.c.device.device_type = GPUKERN_CUDA
    tensor.c.device.device_id = interface_device(array)
    tensor.owner = array
    tensor.library = _interop.library_of(type(array))
    stream = interface.get("stream")
    if stream is not None and stream == 0:
        raise GpukernValueError(f"{what} must name stream 1 or 2, got 0, which is ambiguous")
    launch.follow(tensor.c.device, None if stream is None else stream_of_handle(stream, None))
    return tensor


cdef object interface_dtype(dict interface):
    description = interface.get("descr")
    if description is not None and len(description) > 1:
        return np.dtype([tuple(field) for field in description])
    return np.dtype(interface["typestr"])


cdef int interface_device(object array) except -1:
    """The interface does not name a device; the libraries that have it do, each in its way."""
    device = getattr(array, "device", None)
    for name in ("id", "index"):  # CuPy and torch
        number = getattr(device, name, None)
        if isinstance(number, int):
            return number
    return 0


cdef int set_byte_strides(Tensor tensor, object strides, str what) except -1:
    cdef Py_ssize_t d
    if strides is None:
        tensor.set_contiguous()
        return 0
    if len(strides) != tensor.c.ndim:
        raise GpukernValueError(f"{what} must have a stride for each dimension, got {strides}")
    for d in range(tensor.c.ndim):
        if strides[d] % tensor.itemsize and tensor.c.shape[d] > 1:
            raise GpukernValueError(
                f"{what} must have strides of whole elements on a device, got {strides}")
        tensor.c.strides[d] = strides[d] // tensor.itemsize
    return 0


cdef Tensor as_output(object array, str what, Launch launch):
    """Describes an array to write to, which has to lend its own memory."""
    cdef Tensor tensor
    cdef bint lends = isinstance(array, (cnp.ndarray, DeviceArray))
    if not lends:
        protocol, library = protocol_of(type(array))
        if library == "jax":
            raise GpukernTypeError(f"{what} must not be a JAX array, which cannot be written to")
        lends = protocol != BY_NUMPY or hasattr(array, "__cuda_array_interface__")
        if not lends and not PyObject_CheckBuffer(array):
            raise GpukernTypeError(f"{what} must be an array, got {type(array).__name__}")
    tensor = as_tensor(array, what, launch)
    if isinstance(array, DeviceArray):
        (<DeviceArray>array).order(launch, True)
    if tensor.readonly:
        raise GpukernValueError(f"{what} is read-only")
    return tensor


cdef Tensor new_result(Tensor like, Tensor shape, Launch launch):
    """Uninitialised memory beside `like`, of its dtype and of the shape (and ndim) of `shape`."""
    shape.dtype = like.dtype
    shape.itemsize = like.itemsize
    shape.c.dtype = like.c.dtype
    if like.host and like.library is None and not isinstance(like.owner, DeviceArray):
        return tensor_of_ndarray(new_ndarray(like.dtype, shape.c.ndim, shape.c.shape))
    return view_of(new_device_array(shape, like.c.device, launch))


cdef object finished(Tensor like, Tensor result):
    """The result as the kind of array that `like` came from; 0-d ndarrays become scalars."""
    if isinstance(result.owner, cnp.ndarray):
        if result.c.ndim == 0:
            return cnp.PyArray_ToScalar(result.c.data, result.owner)
        return result.owner
    if like.library is not None:
        return _interop.adopt(like.library, result.owner)
    return result.owner


cdef Tensor on_device(Tensor tensor, Tensor beside, Launch launch):
    """The tensor itself, or a copy beside another one that lies on a GPU."""
    if beside.host or not tensor.host:
        return tensor
    return view_of(copy_to(tensor, beside.c.device, launch))


cdef int used(Tensor tensor, Launch launch) except -1:
    """Notes work that was enqueued on the array behind a tensor."""
    if isinstance(tensor.owner, DeviceArray):
        (<DeviceArray>tensor.owner).used_by(launch)
    return 0
