# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""From the caller's arrays to tensors, and from a result to the caller's kind of array."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer
from libc.stdint cimport uintptr_t

from gpukern._capi cimport (
    GPUKERN_CUDA, GPUKERN_CUDA_MANAGED, gpukern_device, gpukern_pointer_device,
)
from gpukern._memory.device_array cimport DeviceArray, copy_to, new_device_array
from gpukern._interop.dlpack cimport describe_lent, dlpack_device, import_dlpack
from gpukern._interop.dtype cimport describe
from gpukern._runtime.error cimport check
from gpukern._interop.exchange cimport exchange_stream, import_exchange
from gpukern._streams.keepalive cimport keep_until_done
from gpukern._interop.array_type cimport BY_EXCHANGE, BY_INTERFACE, BY_NUMPY, ArrayType, array_type_of
from gpukern._interop.lend cimport lend_of_kind
from gpukern._interop.operand cimport Operand
from gpukern._streams.stream cimport Launch, as_stream, stream_of_handle
from gpukern._interop.tensor cimport Tensor, new_ndarray, tensor_of_ndarray

import numpy as np

from gpukern._interop import libraries
from gpukern.errors import (
    GpukernBufferError, GpukernError, GpukernTypeError, GpukernValueError,
)

cnp.import_array()


cdef Tensor as_tensor(object array, str what, Launch launch):
    """Describes an array for a call that runs on the launch's stream."""
    cdef ArrayType kind
    if isinstance(array, cnp.ndarray):
        return tensor_of_ndarray(array)
    if isinstance(array, DeviceArray):
        (<DeviceArray>array).order(launch)
        return view_of(array)
    kind = array_type_of(array)
    if kind.refusal is not None:
        raise GpukernBufferError(f"{what} {kind.refusal}")
    # An object may have the interface of its own, without its type: a proxy, a namespace.
    if kind.protocol == BY_INTERFACE or (
            kind.protocol == BY_NUMPY and hasattr(array, "__cuda_array_interface__")):
        try:
            return tensor_of_interface(array, kind, what, launch)
        except (GpukernError, MemoryError):
            raise
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            raise GpukernTypeError(
                f"{what} has a malformed __cuda_array_interface__: {error!r}") from error
    if kind.protocol != BY_NUMPY:
        return tensor_of_library(array, kind, what, launch)
    try:
        made = np.asarray(array)
    except ValueError as error:  # a ragged list
        raise GpukernValueError(f"{what}: {error}") from error
    except TypeError as error:
        raise GpukernTypeError(f"{what}: {error}") from error
    if made.dtype.hasobject and not isinstance(array, (list, tuple)):
        raise GpukernTypeError(f"{what} must be an array, got {type(array).__name__}")
    return tensor_of_ndarray(made)


cdef Tensor tensor_of_library(object array, ArrayType kind, str what, Launch launch):
    """Imports an array that says by itself what it is; its words of refusal become ours."""
    cdef Operand operand
    cdef Tensor tensor = None
    why = libraries.why_not(kind.library, array)
    if why is not None:
        raise GpukernBufferError(f"{what} {why}")
    try:
        if lend_of_kind(kind, array, &operand, NULL):
            tensor = tensor_of_operand(&operand, array, what, launch)
        elif kind.protocol == BY_EXCHANGE:
            tensor = tensor_of_exchange(array, kind, what, launch)
        else:
            tensor = tensor_of_dlpack(array, kind.library, what, launch)
    except (GpukernError, MemoryError):
        raise
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        raise GpukernBufferError(
            f"{what} could not be had from {type(array).__name__}: {first_line}") from error
    tensor.library = kind.library
    return tensor


cdef Tensor tensor_of_operand(const Operand *operand, object array, str what, Launch launch):
    cdef Tensor tensor = describe_lent(&operand.c, what)
    tensor.owner = array
    if not tensor.host:
        launch.follow(operand.c.device, stream_of_handle(<uintptr_t>operand.stream, None))
    return tensor


cdef Tensor tensor_of_exchange(object array, ArrayType kind, str what, Launch launch):
    """Imports an array of a library whose arrays may be read-only, or of many dimensions."""
    cdef Tensor tensor = import_exchange(array, kind.api, what)
    cdef void *stream
    if not tensor.host:
        stream = exchange_stream(kind.api, tensor.c.device.device_id)
        launch.follow(tensor.c.device, stream_of_handle(<uintptr_t>stream, None))
    return tensor


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
    cdef object stream = None
    cdef Tensor tensor
    if device.device_type in (GPUKERN_CUDA, GPUKERN_CUDA_MANAGED):
        if library is not None:
            stream = libraries.current_stream(library, device.device_id)
        launch.follow(device, None if stream is None else as_stream(stream))
        # DLPack's number of the legacy default stream is 1.
        number = <uintptr_t>launch.c.stream or 1
    tensor = import_dlpack(array, device, number, what)
    tensor.unordered = stream is None and not tensor.host
    return tensor


cdef Tensor tensor_of_interface(object array, ArrayType kind, str what, Launch launch):
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
        if tensor.c.shape[d] < 0:
            raise GpukernValueError(f"{what} must have no negative size, got shape {shape}")
    set_byte_strides(tensor, interface.get("strides"), what)
    tensor.c.data = <void *><uintptr_t>(pointer or 0)
    tensor.c.device = interface_device(tensor.c.data)
    tensor.owner = array
    tensor.library = kind.library
    stream = interface.get("stream")
    if stream is not None and stream == 0:
        raise GpukernValueError(f"{what} must name stream 1 or 2, got 0, which is ambiguous")
    if stream is None and kind.library is not None:
        # Says nothing of the library's default stream, on which its next work may be.
        stream = libraries.current_stream(kind.library, tensor.c.device.device_id)
    launch.follow(tensor.c.device, None if stream is None else stream_of_handle(
        stream, None, f"{what}: the stream of its interface"))
    tensor.unordered = stream is None
    return tensor


cdef object interface_dtype(dict interface):
    description = interface.get("descr")
    if description is not None and len(description) > 1:
        return np.dtype([tuple(field) for field in description])
    return np.dtype(interface["typestr"])


cdef gpukern_device interface_device(const void *data) except *:
    """The interface does not name the device; CUDA knows it from the address."""
    cdef gpukern_device device
    check(gpukern_pointer_device(data, &device))
    if device.device_type not in (GPUKERN_CUDA, GPUKERN_CUDA_MANAGED):
        # No memory, or the host's that the GPU reads in place.
        device.device_type, device.device_id = GPUKERN_CUDA, 0
    return device


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
    cdef ArrayType kind
    if not isinstance(array, (cnp.ndarray, DeviceArray)):
        kind = array_type_of(array)
        if kind.library == "jax":
            raise GpukernTypeError(f"{what} must not be a JAX array, which cannot be written to")
        if (kind.protocol == BY_NUMPY and not hasattr(array, "__cuda_array_interface__")
                and not PyObject_CheckBuffer(array)):
            raise GpukernTypeError(f"{what} must be an array, got {type(array).__name__}")
    tensor = as_tensor(array, what, launch)
    if isinstance(array, DeviceArray):
        (<DeviceArray>array).order(launch, True)
    if tensor.readonly:
        raise GpukernValueError(f"{what} is read-only")
    return tensor


cdef Tensor new_result(object array, Tensor like, Tensor shape, Launch launch, object beside=None,
                       Tensor place=None):
    """Uninitialised memory beside `like`, which describes `array`, of its dtype and of the shape
    (and ndim) of `shape`; from the allocator of the array's library where that has one. With
    `beside`, an array that `place` describes, it is memory beside that one and of its kind."""
    cdef ArrayType kind
    shape.dtype = like.dtype
    shape.itemsize = like.itemsize
    shape.c.dtype = like.c.dtype
    if beside is not None:
        same = like.library is not None and like.library == place.library
        return new_result_beside(beside, place, array.dtype if same else like.dtype, shape, launch)
    if like.library is not None:
        kind = array_type_of(array)
        if kind.allocate is not None:
            made = kind.allocate(array, shape.shape(), like.c.device.device_id)
            shape = as_output(made, "the result", launch)
            shape.made = made
            return shape
    elif like.host and not isinstance(like.owner, DeviceArray):
        return tensor_of_ndarray(new_ndarray(like.dtype, shape.c.ndim, shape.c.shape))
    return view_of(new_device_array(shape, like.c.device, launch))


cdef Tensor new_result_beside(object array, Tensor place, object dtype, Tensor shape,
                              Launch launch):
    """As new_result(), beside an array on a GPU of another dtype; in the words of the library that
    the dtype comes from, NumPy's or that of the array."""
    allocate = libraries.ALLOCATORS.get(place.library)
    if allocate is not None:
        made = allocate(array, shape.shape(), place.c.device.device_id, dtype)
        if made is not None:
            shape = as_output(made, "the result", launch)
            shape.made = made
            return shape
    return view_of(new_device_array(shape, place.c.device, launch))


cdef object finished(Tensor like, Tensor result):
    """The result as the kind of array that `like` came from; 0-d ndarrays become scalars."""
    if result.made is not None:
        return result.made
    if isinstance(result.owner, cnp.ndarray):
        if result.c.ndim == 0:
            return cnp.PyArray_ToScalar(result.c.data, result.owner)
        return result.owner
    if like.library is not None:
        return libraries.adopt(like.library, result.owner)
    return result.owner


cdef object finished_beside(Tensor place, Tensor result):
    """A result of new_result_beside(): our own array where the library has none of such a dtype."""
    if result.made is not None:
        return result.made
    if place.library == "jax":
        return libraries.adopt(place.library, result.owner)
    return result.owner


cdef Tensor on_device(Tensor tensor, Tensor beside, Launch launch):
    """The tensor itself, or a copy beside another one that lies on a GPU."""
    if beside.host or not tensor.host:
        return tensor
    return view_of(copy_to(tensor, beside.c.device, launch))


cdef int enqueued(Launch launch, Tensor first, Tensor second, Tensor out) except -1:
    """Notes that a call's work was enqueued, for those who use its arrays next."""
    used_by(first, launch, False)
    used_by(second, launch, False)
    used_by(out, launch, True)
    return launch.finish()


cdef int used_by(Tensor tensor, Launch launch, bint writes) except -1:
    if isinstance(tensor.owner, DeviceArray):
        (<DeviceArray>tensor.owner).used_by(launch, writes)
    elif tensor.unordered:
        keep_until_done(tensor.owner, tensor.c.device, launch.c.stream)
    return 0
