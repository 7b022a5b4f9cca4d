# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""pinned_empty(): NumPy arrays in page-locked memory."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport Py_INCREF, PyObject, PyTypeObject

from gpukern._capi cimport (
    GPUKERN_CUDA_HOST, GPUKERN_MAX_NDIM, gpukern_allocate, gpukern_device, gpukern_release,
)
from gpukern._memory.creation cimport shape_of
from gpukern._interop.dtype cimport require_plain
from gpukern._runtime.error cimport check
from gpukern._interop.tensor cimport Tensor, new_ndarray

import numpy as np

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    # Steals the reference to the dtype, which numpy's own .pxd leaves to the caller.
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype dtype, int ndim,
                                const cnp.npy_intp *shape, const cnp.npy_intp *strides,
                                void *data, int flags, PyObject *like)

cnp.import_array()


@cython.no_gc
@cython.final
cdef class PinnedMemory:
    """Page-locked memory, freed with the last array that views it."""

    cdef void *data
    cdef object __weakref__  # tells whoever asks when the memory goes

    def __dealloc__(self):
        # CUDA may wait here for the GPU, and that for a host function that wants the GIL. At the
        # end of the process CUDA may be gone, and the memory with it: no one is told.
        with nogil:
            gpukern_release(pinned_device(), self.data, NULL)


cdef gpukern_device pinned_device() noexcept nogil:
    cdef gpukern_device device
    device.device_type = GPUKERN_CUDA_HOST
    device.device_id = 0
    return device


def pinned_empty(shape, dtype=float):
    """Allocates an uninitialised NumPy array in page-locked ("pinned") host memory.

    A GPU copies such arrays without staging, and :func:`gather` can read them in place from a GPU.
    Page-locking takes tens of milliseconds for each gigabyte, so reuse the arrays. Without a GPU
    the memory is pageable, aligned to at least 64 bytes.

    The child of a ``fork()`` cannot use CUDA but can read the array. With a GPU it shares the
    memory with the parent, and each sees what the other writes; pageable memory is not shared.

    Parameters
    ----------
    shape : int or sequence of ints
    dtype : optional
        A fixed-width NumPy dtype without Python objects, or an object that converts to one.

    Returns
    -------
    numpy.ndarray
        C-contiguous and writeable. The memory is freed with its last view; CUDA may wait until the
        GPU is idle.

    Raises
    ------
    MemoryError
        If memory is insufficient, or the limit of locked memory is exceeded.
    """
    cdef Tensor like = shape_of(shape, dtype, "pinned_empty")
    cdef PinnedMemory memory = PinnedMemory.__new__(PinnedMemory)
    cdef cnp.dtype kind = like.dtype
    require_plain(kind, "pinned_empty: dtype")
    if kind.itemsize == 0:
        kind = np.empty(0, kind).dtype  # strings get a character
    cdef size_t bytes_ = like.count() * kind.itemsize
    if bytes_ == 0 or like.c.ndim > GPUKERN_MAX_NDIM:
        return new_ndarray(kind, like.c.ndim, like.c.shape)
    with nogil:
        check(gpukern_allocate(pinned_device(), bytes_, NULL, &memory.data))
    Py_INCREF(kind)
    array = PyArray_NewFromDescr(&PyArray_Type, kind, like.c.ndim,
                                 <const cnp.npy_intp *>like.c.shape, NULL, memory.data,
                                 cnp.NPY_ARRAY_CARRAY, NULL)
    cnp.set_array_base(array, memory)
    return array
