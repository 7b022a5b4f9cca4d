# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False
"""gather, scatter and the other operations on typed memoryviews of host memory, without the GIL.

From Cython: ``from gpukern cimport gather_into``, with memoryviews in a ``nogil`` block. From
Python, the functions of the same names take objects that export such buffers, and release the GIL.
The functions of gpukern do more: any shapes and axes, and arrays on GPUs.
"""

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from gpukern._capi cimport (
    GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT, gpukern_dtype,
)
from gpukern._typed.view cimport (
    View, axpby_views, bincount_views, count_view, dtype_of, fma_views, gather_views,
    put_along_axis_views, reduce_views, saxpy_views, scatter_views, select_views, set_view,
    take_along_axis_views,
)

from gpukern._typed import functions

__all__ = [
    "axpby_into",
    "bincount_into",
    "compress_into",
    "count_nonzero",
    "fma_into",
    "gather_into",
    "gather_pairs_into",
    "gather_reduce_rows_into",
    "gather_rows_into",
    "gather_triples_into",
    "nonzero_into",
    "put_along_axis_into",
    "saxpy_into",
    "scatter_into",
    "scatter_pairs_into",
    "scatter_rows_into",
    "scatter_triples_into",
    "segment_reduce_rows_into",
    "take_along_axis_into",
]


cdef gpukern_dtype dtype_of_number(const gather_item *number) noexcept nogil:
    if gather_item is cython.floatcomplex or gather_item is cython.doublecomplex:
        return dtype_of(GPUKERN_COMPLEX, sizeof(gather_item))
    elif gather_item is float or gather_item is double:
        return dtype_of(GPUKERN_FLOAT, sizeof(gather_item))
    elif (gather_item is uint8_t or gather_item is uint16_t or gather_item is uint32_t
            or gather_item is uint64_t):
        return dtype_of(GPUKERN_UINT, sizeof(gather_item))
    else:
        return dtype_of(GPUKERN_INT, sizeof(gather_item))


cdef gpukern_dtype dtype_of_saxpy_number(const saxpy_number *number) noexcept nogil:
    if saxpy_number is cython.floatcomplex or saxpy_number is cython.doublecomplex:
        return dtype_of(GPUKERN_COMPLEX, sizeof(saxpy_number))
    elif saxpy_number is float or saxpy_number is double:
        return dtype_of(GPUKERN_FLOAT, sizeof(saxpy_number))
    else:
        return dtype_of(GPUKERN_INT, sizeof(saxpy_number))


cdef gpukern_dtype dtype_of_index(gather_number number) noexcept nogil:
    return dtype_of(GPUKERN_INT if <gather_number>-1 < 0 else GPUKERN_UINT, sizeof(gather_number))


cdef int gather_into(const gather_item[:] source, const gather_number[:] index, gather_item[:] out,
                     int mode=0) except -1 nogil:
    cdef View source_view, index_view, out_view
    set_view(&source_view, dtype_of_number(&source[0]), &source[0], 1, source.shape, source.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&out_view, dtype_of_number(&out[0]), &out[0], 1, out.shape, out.strides)
    return gather_views(&source_view, &index_view, 1, &out_view, mode)


cdef int gather_rows_into(const gather_item[:, :] source, const gather_number[:] index,
                          gather_item[:, :] out, int mode=0) except -1 nogil:
    cdef View source_view, index_view, out_view
    set_view(&source_view, dtype_of_number(&source[0, 0]), &source[0, 0], 2, source.shape,
             source.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&out_view, dtype_of_number(&out[0, 0]), &out[0, 0], 2, out.shape, out.strides)
    return gather_views(&source_view, &index_view, 1, &out_view, mode)


cdef int gather_pairs_into(const gather_item[:, :] source, const gather_number[:] i,
                           const gather_number[:] j, gather_item[:] out,
                           int mode=0) except -1 nogil:
    cdef View source_view, out_view
    cdef View index_views[2]
    set_view(&source_view, dtype_of_number(&source[0, 0]), &source[0, 0], 2, source.shape,
             source.strides)
    set_view(&index_views[0], dtype_of_index[gather_number](0), &i[0], 1, i.shape, i.strides)
    set_view(&index_views[1], dtype_of_index[gather_number](0), &j[0], 1, j.shape, j.strides)
    set_view(&out_view, dtype_of_number(&out[0]), &out[0], 1, out.shape, out.strides)
    return gather_views(&source_view, index_views, 2, &out_view, mode)


cdef int gather_triples_into(const gather_item[:, :, :] source, const gather_number[:] i,
                             const gather_number[:] j, const gather_number[:] k, gather_item[:] out,
                             int mode=0) except -1 nogil:
    cdef View source_view, out_view
    cdef View index_views[3]
    set_view(&source_view, dtype_of_number(&source[0, 0, 0]), &source[0, 0, 0], 3, source.shape,
             source.strides)
    set_view(&index_views[0], dtype_of_index[gather_number](0), &i[0], 1, i.shape, i.strides)
    set_view(&index_views[1], dtype_of_index[gather_number](0), &j[0], 1, j.shape, j.strides)
    set_view(&index_views[2], dtype_of_index[gather_number](0), &k[0], 1, k.shape, k.strides)
    set_view(&out_view, dtype_of_number(&out[0]), &out[0], 1, out.shape, out.strides)
    return gather_views(&source_view, index_views, 3, &out_view, mode)


cdef int take_along_axis_into(const gather_item[:, :] source, const gather_number[:, :] index,
                              int axis, gather_item[:, :] out, int mode=0) except -1 nogil:
    cdef View source_view, index_view, out_view
    set_view(&source_view, dtype_of_number(&source[0, 0]), &source[0, 0], 2, source.shape,
             source.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0, 0], 2, index.shape,
             index.strides)
    set_view(&out_view, dtype_of_number(&out[0, 0]), &out[0, 0], 2, out.shape, out.strides)
    return take_along_axis_views(&source_view, &index_view, axis, &out_view, mode)


cdef int scatter_into(gather_item[:] target, const gather_number[:] index,
                      const gather_item[:] values, int mode=0, int reduce=0) except -1 nogil:
    cdef View target_view, index_view, values_view
    set_view(&target_view, dtype_of_number(&target[0]), &target[0], 1, target.shape, target.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&values_view, dtype_of_number(&values[0]), &values[0], 1, values.shape, values.strides)
    return scatter_views(&target_view, &index_view, 1, &values_view, mode, reduce)


cdef int scatter_rows_into(gather_item[:, :] target, const gather_number[:] index,
                           const gather_item[:, :] values, int mode=0,
                           int reduce=0) except -1 nogil:
    cdef View target_view, index_view, values_view
    set_view(&target_view, dtype_of_number(&target[0, 0]), &target[0, 0], 2, target.shape,
             target.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&values_view, dtype_of_number(&values[0, 0]), &values[0, 0], 2, values.shape,
             values.strides)
    return scatter_views(&target_view, &index_view, 1, &values_view, mode, reduce)


cdef int scatter_pairs_into(gather_item[:, :] target, const gather_number[:] i,
                            const gather_number[:] j, const gather_item[:] values, int mode=0,
                            int reduce=0) except -1 nogil:
    cdef View target_view, values_view
    cdef View index_views[2]
    set_view(&target_view, dtype_of_number(&target[0, 0]), &target[0, 0], 2, target.shape,
             target.strides)
    set_view(&index_views[0], dtype_of_index[gather_number](0), &i[0], 1, i.shape, i.strides)
    set_view(&index_views[1], dtype_of_index[gather_number](0), &j[0], 1, j.shape, j.strides)
    set_view(&values_view, dtype_of_number(&values[0]), &values[0], 1, values.shape, values.strides)
    return scatter_views(&target_view, index_views, 2, &values_view, mode, reduce)


cdef int scatter_triples_into(gather_item[:, :, :] target, const gather_number[:] i,
                              const gather_number[:] j, const gather_number[:] k,
                              const gather_item[:] values, int mode=0,
                              int reduce=0) except -1 nogil:
    cdef View target_view, values_view
    cdef View index_views[3]
    set_view(&target_view, dtype_of_number(&target[0, 0, 0]), &target[0, 0, 0], 3, target.shape,
             target.strides)
    set_view(&index_views[0], dtype_of_index[gather_number](0), &i[0], 1, i.shape, i.strides)
    set_view(&index_views[1], dtype_of_index[gather_number](0), &j[0], 1, j.shape, j.strides)
    set_view(&index_views[2], dtype_of_index[gather_number](0), &k[0], 1, k.shape, k.strides)
    set_view(&values_view, dtype_of_number(&values[0]), &values[0], 1, values.shape, values.strides)
    return scatter_views(&target_view, index_views, 3, &values_view, mode, reduce)


cdef int put_along_axis_into(gather_item[:, :] target, const gather_number[:, :] index,
                             const gather_item[:, :] values, int axis, int mode=0,
                             int reduce=0) except -1 nogil:
    cdef View target_view, index_view, values_view
    set_view(&target_view, dtype_of_number(&target[0, 0]), &target[0, 0], 2, target.shape,
             target.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0, 0], 2, index.shape,
             index.strides)
    set_view(&values_view, dtype_of_number(&values[0, 0]), &values[0, 0], 2, values.shape,
             values.strides)
    return put_along_axis_views(&target_view, &index_view, &values_view, axis, mode, reduce)


cdef int bincount_into(const gather_number[:] index, int64_number[:] out,
                       int mode=0) except -1 nogil:
    cdef View index_view, out_view
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&out_view, dtype_of(GPUKERN_INT, sizeof(int64_number)), &out[0], 1, out.shape,
             out.strides)
    return bincount_views(&index_view, &out_view, mode)


cdef int gather_reduce_rows_into(const saxpy_number[:, :] source, const gather_number[:] index,
                                 const gather_number[:] offsets, saxpy_number[:, :] out, int mode=0,
                                 int reduce=1) except -1 nogil:
    cdef View source_view, index_view, offsets_view, out_view
    set_view(&source_view, dtype_of_saxpy_number(&source[0, 0]), &source[0, 0], 2, source.shape,
             source.strides)
    set_view(&index_view, dtype_of_index[gather_number](0), &index[0], 1, index.shape,
             index.strides)
    set_view(&offsets_view, dtype_of_index[gather_number](0), &offsets[0], 1, offsets.shape,
             offsets.strides)
    set_view(&out_view, dtype_of_saxpy_number(&out[0, 0]), &out[0, 0], 2, out.shape, out.strides)
    return reduce_views(&source_view, &index_view, &offsets_view, &out_view, mode, reduce)


cdef int segment_reduce_rows_into(const saxpy_number[:, :] x, const gather_number[:] offsets,
                                  saxpy_number[:, :] out, int mode=0, int reduce=1) except -1 nogil:
    cdef View x_view, offsets_view, out_view
    set_view(&x_view, dtype_of_saxpy_number(&x[0, 0]), &x[0, 0], 2, x.shape, x.strides)
    set_view(&offsets_view, dtype_of_index[gather_number](0), &offsets[0], 1, offsets.shape,
             offsets.strides)
    set_view(&out_view, dtype_of_saxpy_number(&out[0, 0]), &out[0, 0], 2, out.shape, out.strides)
    return reduce_views(&x_view, NULL, &offsets_view, &out_view, mode, reduce)


cdef Py_ssize_t count_nonzero(const uint8_t[:] mask) except -1 nogil:
    cdef View mask_view
    set_view(&mask_view, dtype_of(GPUKERN_UINT, 1), &mask[0], 1, mask.shape, mask.strides)
    return count_view(&mask_view)


cdef Py_ssize_t nonzero_into(const uint8_t[:] mask, int64_number[:] out) except -1 nogil:
    cdef View mask_view, out_view
    set_view(&mask_view, dtype_of(GPUKERN_UINT, 1), &mask[0], 1, mask.shape, mask.strides)
    set_view(&out_view, dtype_of(GPUKERN_INT, sizeof(int64_number)), &out[0], 1, out.shape,
             out.strides)
    return select_views(&mask_view, NULL, &out_view)


cdef Py_ssize_t compress_into(const uint8_t[:] mask, const gather_item[:] x,
                              gather_item[:] out) except -1 nogil:
    cdef View mask_view, x_view, out_view
    set_view(&mask_view, dtype_of(GPUKERN_UINT, 1), &mask[0], 1, mask.shape, mask.strides)
    set_view(&x_view, dtype_of_number(&x[0]), &x[0], 1, x.shape, x.strides)
    set_view(&out_view, dtype_of_number(&out[0]), &out[0], 1, out.shape, out.strides)
    return select_views(&mask_view, &x_view, &out_view)


cdef int saxpy_into(saxpy_number a, const saxpy_number[:] x, const saxpy_number[:] y,
                    saxpy_number[:] out) except -1 nogil:
    cdef View x_view, y_view, out_view
    set_view(&x_view, dtype_of_saxpy_number(&x[0]), &x[0], 1, x.shape, x.strides)
    set_view(&y_view, dtype_of_saxpy_number(&y[0]), &y[0], 1, y.shape, y.strides)
    set_view(&out_view, dtype_of_saxpy_number(&out[0]), &out[0], 1, out.shape, out.strides)
    return saxpy_views(&a, &x_view, &y_view, &out_view)


cdef int axpby_into(axpby_number a, const axpby_number[:] x, axpby_number b,
                    const axpby_number[:] y, axpby_number[:] out) except -1 nogil:
    cdef View a_view, x_view, b_view, y_view, out_view
    cdef gpukern_dtype dtype = dtype_of(GPUKERN_FLOAT, sizeof(axpby_number))
    set_view(&a_view, dtype, &a, 0, NULL, NULL)
    set_view(&x_view, dtype, &x[0], 1, x.shape, x.strides)
    set_view(&b_view, dtype, &b, 0, NULL, NULL)
    set_view(&y_view, dtype, &y[0], 1, y.shape, y.strides)
    set_view(&out_view, dtype, &out[0], 1, out.shape, out.strides)
    return axpby_views(&a_view, &x_view, &b_view, &y_view, &out_view)


cdef int fma_into(const axpby_number[:] x, const axpby_number[:] y, const axpby_number[:] z,
                  axpby_number[:] out) except -1 nogil:
    cdef View x_view, y_view, z_view, out_view
    cdef gpukern_dtype dtype = dtype_of(GPUKERN_FLOAT, sizeof(axpby_number))
    set_view(&x_view, dtype, &x[0], 1, x.shape, x.strides)
    set_view(&y_view, dtype, &y[0], 1, y.shape, y.strides)
    set_view(&z_view, dtype, &z[0], 1, z.shape, z.strides)
    set_view(&out_view, dtype, &out[0], 1, out.shape, out.strides)
    return fma_views(&x_view, &y_view, &z_view, &out_view)


# The functions for C are no attributes of the module.
globals().update({name: getattr(functions, name) for name in __all__})
