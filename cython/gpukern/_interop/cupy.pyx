# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""CuPy's arrays by their attributes.

CuPy has no DLPack C exchange API yet. A capsule of its __dlpack__ costs several times the handful
of attributes that say the same, and its __cuda_array_interface__ more still. The attributes are
descriptors of an extension type: looked up once, then called.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport uintptr_t

from gpukern._capi cimport GPUKERN_CUDA, GPUKERN_OPAQUE, gpukern_tensor
from gpukern._interop.descriptor cimport get
from gpukern._interop.dtype cimport describe_dtype

import sys

# The C signature under which CuPy's Cython modules share the function that we call.
cdef const char *STREAM_SIGNATURE = "intptr_t (int)"


cdef CupyAttributes cupy_attributes(object kind):
    """The descriptors of a cupy.ndarray; None if one is missing in this version of CuPy."""
    cdef CupyAttributes made = CupyAttributes.__new__(CupyAttributes)
    pointer_type = sys.modules["cupy"].cuda.MemoryPointer
    try:
        made.data, made.size, made.ndim = kind.data, kind.size, kind.ndim
        made.contiguous, made.dtype = kind._c_contiguous, kind.dtype
        made.shape, made.strides = kind.shape, kind.strides
        made.pointer, made.device_id = pointer_type.ptr, pointer_type.device_id
    except AttributeError:
        return None
    descriptors = (made.data, made.size, made.ndim, made.contiguous, made.dtype, made.shape,
                   made.strides, made.pointer, made.device_id)
    if not all([hasattr(type(found), "__get__") for found in descriptors]):
        return None
    made.stream_of_device = NULL
    streams = sys.modules.get("cupy_backends.cuda.stream")
    shared = getattr(streams, "__pyx_capi__", {}).get("get_stream_ptr")
    if PyCapsule_IsValid(shared, STREAM_SIGNATURE):
        made.stream_of_device = <StreamOfDevice>PyCapsule_GetPointer(shared, STREAM_SIGNATURE)
    return made


cdef class CupyAttributes:
    """How to read an ndarray of CuPy's, and its current stream."""

    cdef bint fill(self, object array, gpukern_tensor *tensor, int max_ndim,
                   bint address_only) except -1:
        """Describes an array, its sizes in the memory that tensor.shape and tensor.strides point
        to. Returns False for an array that only DLPack can describe."""
        cdef object memory = get(self.data, array)
        cdef cnp.dtype dtype = get(self.dtype, array)
        cdef int d
        describe_dtype(dtype, &tensor.dtype)
        tensor.data = <void *><uintptr_t>get(self.pointer, memory)
        tensor.device.device_type = GPUKERN_CUDA
        tensor.device.device_id = get(self.device_id, memory)
        tensor.byte_offset = 0
        if address_only:
            tensor.ndim = 0
            return True
        tensor.ndim = get(self.ndim, array)
        if tensor.ndim > max_ndim or tensor.dtype.code == GPUKERN_OPAQUE:
            return False
        cdef bint contiguous = get(self.contiguous, array)
        if tensor.ndim == 1 and contiguous:
            tensor.shape[0] = get(self.size, array)
        else:
            shape = get(self.shape, array)
            for d in range(tensor.ndim):
                tensor.shape[d] = shape[d]
        if contiguous:
            tensor.strides = NULL
            return True
        return fill_strides(get(self.strides, array), dtype.itemsize, tensor)

    cdef void *current_stream(self, int device_id) except? NULL:
        if self.stream_of_device != NULL:
            return <void *>self.stream_of_device(device_id)
        stream = sys.modules["cupy"].cuda.get_current_stream(device_id)
        return <void *><uintptr_t>stream.ptr


cdef bint fill_strides(object strides, Py_ssize_t itemsize, gpukern_tensor *tensor) except -1:
    """Strides in elements from strides in bytes; False if they are no whole elements."""
    cdef int d
    cdef Py_ssize_t stride
    for d in range(tensor.ndim):
        stride = strides[d]
        if stride % itemsize != 0:
            return False
        tensor.strides[d] = stride // itemsize
    return True
