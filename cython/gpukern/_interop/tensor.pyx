# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""gpukern_tensor with storage for its shape, and with what keeps its memory alive."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport Py_INCREF, PyObject, PyTypeObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from gpukern._capi cimport GPUKERN_CPU, GPUKERN_MAX_NDIM, GPUKERN_UINT
from gpukern._interop.dtype cimport describe

from gpukern.errors import GpukernMemoryError, GpukernValueError

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference
    # Steals the reference to the dtype, which numpy's own .pxd leaves to the caller.
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype dtype, int ndim,
                                const cnp.npy_intp *shape, const cnp.npy_intp *strides,
                                void *data, int flags, PyObject *like)

cnp.import_array()


@cython.final
@cython.freelist(16)
cdef class Tensor:
    """A borrowed array for the C ABI. Strides are always given, in elements.

    `dtype` is NumPy's; `owner` holds the memory: an ndarray, a DeviceArray or an import. `library`
    names the array library that the caller's array came from, None for NumPy and for ourselves.
    `made` is the library's array that was made for a result.
    `odd` marks a layout that counts of elements cannot express: see bytes_of(). `unordered` marks
    device memory whose library told no stream in whose order it is freed: see keepalive.pyx.
    """

    def __dealloc__(self):
        free(self.large)

    cdef int resize(self, Py_ssize_t ndim) except -1:
        """Makes room for the shape and the strides of a new tensor."""
        # One more than the ABI takes, for bytes_of(); the library refuses it in its own words.
        if ndim < 0 or ndim > GPUKERN_MAX_NDIM + 1:
            raise GpukernValueError(
                f"an array must have 0 to {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
        cdef int64_t *storage = self.small
        if ndim > 8:
            self.large = storage = <int64_t *>malloc(2 * ndim * sizeof(int64_t))
            if storage == NULL:
                raise GpukernMemoryError("no host memory for a shape")
        self.c.ndim = <int>ndim
        self.c.shape = storage
        self.c.strides = storage + ndim
        return 0

    cdef void set_contiguous(self) noexcept:
        cdef int64_t stride = 1
        cdef int d
        for d in range(self.c.ndim - 1, -1, -1):
            self.c.strides[d] = stride
            stride *= max(self.c.shape[d], 1)

    cdef tuple shape(self):
        return tuple([self.c.shape[d] for d in range(self.c.ndim)])

    cdef Py_ssize_t count(self) noexcept:
        cdef Py_ssize_t product = 1
        cdef int d
        for d in range(self.c.ndim):
            product *= self.c.shape[d]
        return product


cdef Tensor tensor_of_ndarray(cnp.ndarray array):
    """Describes an ndarray, which it holds. The shape is copied: arrays can be reshaped in place
    while the GIL is released."""
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef int d, ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(array)
    tensor.resize(ndim)
    tensor.dtype = <object>PyArray_DTYPE(array)
    describe(tensor.dtype, &tensor.c.dtype)
    tensor.c.device.device_type = GPUKERN_CPU
    tensor.c.data = cnp.PyArray_DATA(array)
    tensor.itemsize = size
    tensor.owner = array
    tensor.host = True
    tensor.readonly = not cnp.PyArray_ISWRITEABLE(array)
    tensor.odd = tensor.c.dtype.lanes == 0
    for d in range(ndim):
        tensor.c.shape[d] = shape[d]
    if size == 0 or cnp.PyArray_IS_C_CONTIGUOUS(array):
        # NumPy's strides mean nothing where sizes are 0 or 1.
        tensor.set_contiguous()
        return tensor
    for d in range(ndim):
        tensor.c.strides[d] = 0
        if shape[d] > 1:
            tensor.c.strides[d] = strides[d] // size
            tensor.odd |= strides[d] % size != 0
    return tensor


cdef Tensor bytes_of(Tensor tensor):
    """The tensor as bytes, with a last dimension that runs through each element.

    So every layout and item size can be expressed: fields of packed records, huge items.
    """
    cdef Tensor made = Tensor.__new__(Tensor)
    cdef int d, ndim = tensor.c.ndim
    made.resize(ndim + 1)
    made.c.data = tensor.c.data
    made.c.device = tensor.c.device
    made.c.byte_offset = tensor.c.byte_offset
    made.c.dtype.code = GPUKERN_UINT
    made.c.dtype.bits = 8
    made.c.dtype.lanes = 1
    made.itemsize = 1
    made.owner = tensor.owner
    made.host = tensor.host
    made.readonly = tensor.readonly
    made.unordered = tensor.unordered
    for d in range(ndim):
        made.c.shape[d] = tensor.c.shape[d]
        made.c.strides[d] = tensor.c.strides[d] * tensor.itemsize
        # An odd stride is more than its count of elements.
        if tensor.odd and isinstance(tensor.owner, cnp.ndarray) and tensor.c.shape[d] > 1:
            made.c.strides[d] = cnp.PyArray_STRIDES(<cnp.ndarray>tensor.owner)[d]
    made.c.shape[ndim] = tensor.itemsize
    made.c.strides[ndim] = 1
    return made


cdef cnp.ndarray new_ndarray(cnp.dtype dtype, int ndim, const int64_t *shape):
    """An uninitialised C-contiguous ndarray."""
    if ndim > GPUKERN_MAX_NDIM:
        raise GpukernValueError(
            f"the result must have at most {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    Py_INCREF(dtype)
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, <const cnp.npy_intp *>shape, NULL, NULL,
                                0, NULL)
