# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The calls of the functions on typed memoryviews, for views whose dtypes are data."""

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_ORDER_FIXED, GPUKERN_UINT, gpukern_dtype, gpukern_gather,
    gpukern_gather_options, gpukern_gather_reduce, gpukern_gather_reduce_options, gpukern_saxpy,
    gpukern_scatter, gpukern_scatter_options, gpukern_segment_reduce,
)
from gpukern._runtime.runtime cimport check

from gpukern.errors import GpukernValueError


cdef gpukern_dtype dtype_of(int code, Py_ssize_t itemsize) noexcept nogil:
    cdef gpukern_dtype dtype
    dtype.code = code
    dtype.bits = <unsigned char>(8 * itemsize)
    dtype.lanes = 1
    return dtype


cdef void set_view(View *view, gpukern_dtype dtype, const void *data, int ndim,
                   const Py_ssize_t *shape, const Py_ssize_t *strides) noexcept nogil:
    cdef int d
    view.tensor.data = <void *>data
    view.tensor.device.device_type = GPUKERN_CPU
    view.tensor.device.device_id = 0
    view.tensor.dtype = dtype
    view.tensor.ndim = ndim
    view.tensor.shape = view.shape
    view.tensor.strides = view.strides
    view.tensor.byte_offset = 0
    for d in range(ndim):
        view.shape[d] = shape[d]
        view.strides[d] = strides[d]


cdef Py_ssize_t itemsize_of(const View *view) noexcept nogil:
    return view.tensor.dtype.bits // 8 * view.tensor.dtype.lanes


cdef bint is_whole(const View *view) noexcept nogil:
    """Whether the strides are multiples of the item size."""
    cdef int d
    for d in range(view.tensor.ndim):
        if view.shape[d] > 1 and view.strides[d] % itemsize_of(view) != 0:
            return False
    return True


cdef int set_elements(View *view) except -1 nogil:
    """Describes elements, whose strides must be multiples of their size."""
    cdef Py_ssize_t itemsize = itemsize_of(view)
    cdef int d
    if not is_whole(view):
        with gil:
            raise GpukernValueError(f"strides must be multiples of the item size {itemsize}, "
                                    f"got {view.strides[0]}")
    for d in range(view.tensor.ndim):
        view.strides[d] //= itemsize
    return 0


cdef void set_bytes(View *view) noexcept nogil:
    """Describes elements with any strides, by a last dimension that runs through their bytes."""
    view.shape[view.tensor.ndim] = itemsize_of(view)
    view.strides[view.tensor.ndim] = 1
    view.tensor.ndim += 1
    view.tensor.dtype = dtype_of(GPUKERN_UINT, 1)


cdef int set_items(View *source, View *out) except -1 nogil:
    """Describes what is moved from one view to the other, as bytes where the strides ask for it."""
    cdef const gpukern_dtype *a = &source.tensor.dtype
    cdef const gpukern_dtype *b = &out.tensor.dtype
    cdef bint same = a.code == b.code and a.bits == b.bits and a.lanes == b.lanes
    if same and not (is_whole(source) and is_whole(out)):
        set_bytes(source)
        set_bytes(out)
        return 0
    set_elements(source)
    return set_elements(out)


cdef int gather_views(View *source, View *index, View *out, int mode) except -1 nogil:
    cdef gpukern_gather_options options
    set_items(source, out)
    set_elements(index)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.path = 0  # GPUKERN_GATHER_AUTO
    options.fill_value = NULL
    options.out_may_change = 0
    options.further_index_count = 0
    return check(gpukern_gather(&source.tensor, &index.tensor, 0, &out.tensor, &options, NULL))


cdef int scatter_views(View *target, View *index, View *values, int mode,
                       int reduce) except -1 nogil:
    cdef gpukern_scatter_options options
    set_elements(target)
    set_elements(values)
    set_elements(index)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.reduce = reduce
    options.order = GPUKERN_ORDER_FIXED
    options.unique = 0
    options.further_index_count = 0
    return check(gpukern_scatter(&target.tensor, &index.tensor, &values.tensor, 0, NULL, &options,
                                 NULL))


cdef int reduce_views(View *source, View *index, View *offsets, View *out, int mode,
                      int reduce) except -1 nogil:
    cdef gpukern_gather_reduce_options options
    set_elements(source)
    set_elements(out)
    set_elements(offsets)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.reduce = reduce
    if index == NULL:
        return check(gpukern_segment_reduce(&source.tensor, &offsets.tensor, 0, &out.tensor,
                                            &options, NULL))
    set_elements(index)
    return check(gpukern_gather_reduce(&source.tensor, &index.tensor, &offsets.tensor, NULL, 0,
                                       &out.tensor, &options, NULL))


cdef int saxpy_views(const void *a, View *x, View *y, View *out) except -1 nogil:
    set_elements(x)
    set_elements(y)
    set_elements(out)
    return check(gpukern_saxpy(a, &x.tensor, &y.tensor, &out.tensor, NULL))
