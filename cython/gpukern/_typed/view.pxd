# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The calls of the functions on typed memoryviews, for views whose dtypes are data.

The functions are compiled once for each combination of types, and so consist of descriptions of
their arguments and one of these calls, which are compiled once.
"""

from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_dtype, gpukern_tensor

cdef enum:
    MAX_VIEW_NDIM = 3


# Host memory. One more dimension may run through the bytes of an element. The strides are in bytes
# until a call, which may change the view.
cdef struct View:
    gpukern_tensor tensor
    int64_t shape[MAX_VIEW_NDIM + 1]
    int64_t strides[MAX_VIEW_NDIM + 1]


cdef gpukern_dtype dtype_of(int code, Py_ssize_t itemsize) noexcept nogil
cdef void set_view(View *view, gpukern_dtype dtype, const void *data, int ndim,
                   const Py_ssize_t *shape, const Py_ssize_t *strides) noexcept nogil

# `index` is an array of `index_count` views, one for each of the first axes.
cdef int gather_views(View *source, View *index, int index_count, View *out,
                      int mode) except -1 nogil
cdef int scatter_views(View *target, View *index, int index_count, View *values, int mode,
                       int reduce) except -1 nogil
cdef int take_along_axis_views(View *source, View *index, int axis, View *out,
                               int mode) except -1 nogil
cdef int put_along_axis_views(View *target, View *index, View *values, int axis, int mode,
                              int reduce) except -1 nogil
cdef int bincount_views(View *index, View *out, int mode) except -1 nogil

# `index` is NULL for segments.
cdef int reduce_views(View *source, View *index, View *offsets, View *out, int mode,
                      int reduce) except -1 nogil

# These two return the number of all nonzero elements. `x` is NULL for their positions.
cdef Py_ssize_t count_view(View *mask) except -1 nogil
cdef Py_ssize_t select_views(View *mask, View *x, View *out) except -1 nogil

cdef int saxpy_views(const void *a, View *x, View *y, View *out) except -1 nogil
cdef int axpby_views(View *a, View *x, View *b, View *y, View *out) except -1 nogil
cdef int fma_views(View *x, View *y, View *z, View *out) except -1 nogil
