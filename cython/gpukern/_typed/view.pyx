# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The calls of the functions on typed memoryviews, for views whose dtypes are data."""

from libc.stdint cimport int64_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_INDEX_ERROR, GPUKERN_INDEX_FILL, GPUKERN_INDEX_RAISE, GPUKERN_INT,
    GPUKERN_ORDER_FIXED, GPUKERN_REDUCE_ADD, GPUKERN_UINT, gpukern_axpby, gpukern_compress,
    gpukern_count_nonzero, gpukern_dtype, gpukern_fma, gpukern_gather, gpukern_gather_options,
    gpukern_gather_reduce, gpukern_gather_reduce_options, gpukern_nonzero, gpukern_put_along_axis,
    gpukern_saxpy, gpukern_scatter, gpukern_scatter_options, gpukern_segment_reduce,
    gpukern_status, gpukern_take_along_axis, gpukern_tensor,
)
from gpukern._runtime.runtime cimport check

from gpukern.errors import GpukernIndexError, GpukernValueError


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
    return view.tensor.dtype.bits // 8


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
    for d in range(view.tensor.ndim):
        if view.shape[d] <= 1:
            view.strides[d] = 0
        elif view.strides[d] % itemsize != 0:
            with gil:
                raise GpukernValueError(f"strides must be multiples of the item size {itemsize}, "
                                        f"got {view.strides[d]}")
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
    if not (is_whole(source) and is_whole(out)):
        set_bytes(source)
        set_bytes(out)
        return 0
    set_elements(source)
    return set_elements(out)


cdef int set_indices(View *index, int count, const gpukern_tensor **further) except -1 nogil:
    cdef int i
    for i in range(count):
        set_elements(&index[i])
        if i > 0:
            further[i - 1] = &index[i].tensor
    return 0


cdef void set_gather_options(gpukern_gather_options *options, int mode) noexcept nogil:
    options.struct_size = sizeof(options[0])
    options.mode = mode
    options.path = 0  # GPUKERN_GATHER_AUTO
    options.fill_value = NULL
    options.out_may_change = 0
    options.further_index_count = 0


cdef void set_scatter_options(gpukern_scatter_options *options, int mode,
                              int reduce) noexcept nogil:
    options.struct_size = sizeof(options[0])
    options.mode = mode
    options.reduce = reduce
    options.order = GPUKERN_ORDER_FIXED
    options.unique = 0
    options.further_index_count = 0


cdef int gather_views(View *source, View *index, int index_count, View *out,
                      int mode) except -1 nogil:
    cdef gpukern_gather_options options
    cdef const gpukern_tensor *further[MAX_VIEW_NDIM - 1]
    set_items(source, out)
    set_indices(index, index_count, further)
    set_gather_options(&options, mode)
    options.further_index_count = index_count - 1
    options.further_indices = further
    return check(gpukern_gather(&source.tensor, &index.tensor, 0, &out.tensor, &options, NULL))


cdef int scatter_views(View *target, View *index, int index_count, View *values, int mode,
                       int reduce) except -1 nogil:
    cdef gpukern_scatter_options options
    cdef const gpukern_tensor *further[MAX_VIEW_NDIM - 1]
    set_elements(target)
    set_elements(values)
    set_indices(index, index_count, further)
    set_scatter_options(&options, mode, reduce)
    options.further_index_count = index_count - 1
    options.further_indices = further
    return check(gpukern_scatter(&target.tensor, &index.tensor, &values.tensor, 0, NULL, &options,
                                 NULL))


cdef int take_along_axis_views(View *source, View *index, int axis, View *out,
                               int mode) except -1 nogil:
    cdef gpukern_gather_options options
    set_elements(source)
    set_elements(index)
    set_elements(out)
    set_gather_options(&options, mode)
    return check(gpukern_take_along_axis(&source.tensor, &index.tensor, axis, &out.tensor, &options,
                                         NULL))


cdef int put_along_axis_views(View *target, View *index, View *values, int axis, int mode,
                              int reduce) except -1 nogil:
    cdef gpukern_scatter_options options
    set_elements(target)
    set_elements(index)
    set_elements(values)
    set_scatter_options(&options, mode, reduce)
    return check(gpukern_put_along_axis(&target.tensor, &index.tensor, &values.tensor, axis, NULL,
                                        &options, NULL))


cdef int bincount_views(View *index, View *out, int mode) except -1 nogil:
    """A scatter that adds ones to zeros."""
    cdef View zeros, ones
    cdef gpukern_scatter_options options
    cdef int64_t zero = 0, one = 1
    cdef int64_t bins = out.shape[0]
    cdef Py_ssize_t no_stride = 0, length = bins
    cdef gpukern_status status
    if mode != GPUKERN_INDEX_RAISE and mode != GPUKERN_INDEX_FILL:
        with gil:
            raise GpukernValueError(f"bincount: mode must be 0 (raise) or 3 (fill), got {mode}")
    if bins == 0 and mode == GPUKERN_INDEX_FILL:  # no number is counted
        return 0
    set_elements(index)
    set_elements(out)
    set_view(&zeros, dtype_of(GPUKERN_INT, 8), &zero, 1, &length, &no_stride)
    set_view(&ones, dtype_of(GPUKERN_INT, 8), &one, 0, NULL, NULL)
    set_scatter_options(&options, mode, GPUKERN_REDUCE_ADD)
    set_unsigned(index, bins)
    status = gpukern_scatter(&zeros.tensor, &index.tensor, &ones.tensor, 0, &out.tensor, &options,
                             NULL)
    if status == GPUKERN_INDEX_ERROR:
        with gil:
            raise GpukernIndexError(f"bincount: index must be in [0, {bins})")
    return check(status)


cdef int set_unsigned(View *index, int64_t bins) except -1 nogil:
    """Reads negative numbers as out of bounds instead of counting from the end."""
    cdef int bits = index.tensor.dtype.bits
    if index.tensor.dtype.code != GPUKERN_INT:
        return 0
    if bits < 64 and bins > <int64_t>1 << (bits - 1):
        with gil:
            raise GpukernValueError(f"bincount: out must have at most {<int64_t>1 << (bits - 1)} "
                                    f"elements for an index of int{bits}, got {bins}")
    index.tensor.dtype.code = GPUKERN_UINT
    return 0


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


cdef Py_ssize_t count_view(View *mask) except -1 nogil:
    cdef int64_t count = 0
    set_elements(mask)
    check(gpukern_count_nonzero(&mask.tensor, &count, NULL))
    return count


cdef int require_zeros_beyond(View *mask, Py_ssize_t length) except -1 nogil:
    """Shortens a mask that is longer than the items."""
    cdef View rest
    cdef Py_ssize_t beyond = mask.shape[0] - length
    if beyond <= 0:
        return 0
    set_view(&rest, mask.tensor.dtype, <char *>mask.tensor.data + length * mask.strides[0], 1,
             &beyond, <Py_ssize_t *>mask.strides)
    if count_view(&rest) > 0:
        with gil:
            raise GpukernIndexError(f"compress: mask must be zero beyond the {length} items of x")
    mask.shape[0] = length
    return 0


cdef Py_ssize_t select_views(View *mask, View *x, View *out) except -1 nogil:
    cdef Py_ssize_t count
    if x != NULL:
        require_zeros_beyond(mask, x.shape[0])
        set_items(x, out)
    else:
        set_elements(out)
        out.shape[1], out.strides[1] = out.shape[0], out.strides[0]
        out.shape[0] = out.strides[0] = 1
        out.tensor.ndim = 2
    # Before the mask changes, which may overlap `out`.
    count = count_view(mask)
    if x != NULL:
        check(gpukern_compress(&mask.tensor, &x.tensor, 0, &out.tensor, NULL, NULL))
    else:
        check(gpukern_nonzero(&mask.tensor, &out.tensor, NULL, NULL))
    return count


cdef int saxpy_views(const void *a, View *x, View *y, View *out) except -1 nogil:
    set_elements(x)
    set_elements(y)
    set_elements(out)
    return check(gpukern_saxpy(a, &x.tensor, &y.tensor, &out.tensor, NULL))


cdef int axpby_views(View *a, View *x, View *b, View *y, View *out) except -1 nogil:
    set_elements(x)
    set_elements(y)
    set_elements(out)
    return check(gpukern_axpby(&a.tensor, &x.tensor, &b.tensor, &y.tensor, &out.tensor, NULL, NULL))


cdef int fma_views(View *x, View *y, View *z, View *out) except -1 nogil:
    set_elements(x)
    set_elements(y)
    set_elements(z)
    set_elements(out)
    return check(gpukern_fma(&x.tensor, &y.tensor, &z.tensor, &out.tensor, NULL, NULL))
