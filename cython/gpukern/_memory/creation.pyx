# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""to_device() and empty()."""

cimport numpy as cnp

from gpukern._capi cimport GPUKERN_DEVICE_DEFAULT, gpukern_device
from gpukern._interop.convert cimport as_tensor, used_by
from gpukern._memory.device_array cimport DeviceArray, copy_to, new_device_array
from gpukern._interop.dtype cimport describe, require_plain
from gpukern._streams.stream cimport Launch, as_device, new_launch
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray

import operator

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()


def empty(shape, dtype=np.float64, device=0, stream=None):
    """Allocates an uninitialised array on a device.

    Parameters
    ----------
    shape : int or sequence of ints
    dtype : optional
        A fixed-width NumPy dtype without Python objects, or an object that converts to one.
    device : int or str
        The ordinal of a CUDA device, 'cuda', 'cuda:N' or 'cpu'.
    stream : optional
        The stream on which the memory is allocated and first used; see :func:`gather`. By default
        the legacy default stream.

    Returns
    -------
    DeviceArray
    """
    cdef Tensor like = shape_of(shape, dtype, "empty")
    require_device_dtype(like.dtype, "empty: dtype")
    return new_device_array(like, concrete_device(device, "empty: device"),
                            new_launch("empty", None, stream))


def to_device(array, device=0, stream=None):
    """Copies an array to a device.

    Parameters
    ----------
    array : array
        A NumPy array, an object that converts to one, or an array on the same device.
    device : int or str
        The ordinal of a CUDA device, 'cuda', 'cuda:N' or 'cpu'.
    stream : optional
        The stream to copy on; see :func:`gather`.

    Returns
    -------
    DeviceArray
        C-contiguous, of the same shape and dtype. Copies of host arrays are complete on return.
    """
    cdef gpukern_device target = concrete_device(device, "to_device: device")
    cdef Launch where = new_launch("to_device", None, stream)
    if numpy_subclasses.is_masked(array):
        raise GpukernTypeError("to_device: array must not be a masked array")
    cdef Tensor source = as_tensor(array, "to_device: array", where)
    require_device_dtype(source.dtype, "to_device: array")
    if source.odd:
        source = tensor_of_ndarray(np.ascontiguousarray(source.owner).reshape(source.shape()))
    cdef DeviceArray made = copy_to(source, target, where)
    used_by(source, where, False)
    where.finish()
    return made


cdef Tensor shape_of(object shape, object dtype, str function):
    """What an array to be made is to be like: shape and dtype, checked to have a size."""
    cdef Tensor like = Tensor.__new__(Tensor)
    cdef Py_ssize_t d
    try:
        sizes = [operator.index(size) for size in (shape if np.iterable(shape) else (shape,))]
        like.dtype = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise GpukernTypeError(f"{function}: {error}") from None
    describe(like.dtype, &like.c.dtype)
    like.itemsize = like.dtype.itemsize
    like.resize(len(sizes))
    total = like.itemsize
    for d in range(len(sizes)):
        if sizes[d] < 0:
            raise GpukernValueError(f"{function}: shape must have no negative size, got {sizes[d]}")
        # Zeros count as one, so that no later product of the sizes overflows.
        total *= max(sizes[d], 1)
        if total >= 2**63:
            raise GpukernValueError(
                f"{function}: shape must take less than 2**63 bytes, got {sizes}")
        like.c.shape[d] = sizes[d]
    return like


cdef gpukern_device concrete_device(object device, str what) except *:
    cdef gpukern_device found = as_device(device, what)
    if found.device_type == GPUKERN_DEVICE_DEFAULT:
        raise GpukernTypeError(f"{what} must be an int or a str, got None")
    return found


cdef int require_device_dtype(cnp.dtype dtype, str what) except -1:
    require_plain(dtype, what)
    if not 0 < dtype.itemsize <= 65535:
        raise GpukernTypeError(
            f"{what} must have an itemsize of 1 to 65535, got {dtype.itemsize}")
    return 0
