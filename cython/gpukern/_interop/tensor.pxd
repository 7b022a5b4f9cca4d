# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor

cdef class Tensor:
    cdef gpukern_tensor c
    cdef int64_t small[16]
    cdef int64_t *large
    cdef Py_ssize_t itemsize
    cdef object dtype
    cdef object owner
    cdef object library
    cdef object made
    cdef bint host
    cdef bint readonly
    cdef bint odd
    cdef bint unordered
    cdef int resize(self, Py_ssize_t ndim) except -1
    cdef void set_contiguous(self) noexcept
    cdef tuple shape(self)
    cdef Py_ssize_t count(self) noexcept

cdef Tensor tensor_of_ndarray(cnp.ndarray array)
cdef Tensor bytes_of(Tensor tensor)
cdef cnp.ndarray new_ndarray(cnp.dtype dtype, int ndim, const int64_t *shape)
