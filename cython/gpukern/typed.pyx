# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False
"""gather, scatter, gather_reduce, segment_reduce and saxpy on typed memoryviews of host memory,
without the GIL.

From Cython: ``from gpukern cimport gather_into``, with memoryviews in a ``nogil`` block. From
Python, the functions of the same names accept objects that export such buffers, and release the
GIL. They accept fewer types than the functions of gpukern, at a lower cost per call.
"""

cimport cython
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

from gpukern._capi cimport (
    GPUKERN_COMPLEX, GPUKERN_CPU, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_ORDER_FIXED, GPUKERN_UINT,
    gpukern_dtype, gpukern_gather, gpukern_gather_options, gpukern_gather_reduce,
    gpukern_gather_reduce_options, gpukern_saxpy, gpukern_scatter, gpukern_scatter_options,
    gpukern_segment_reduce, gpukern_tensor,
)
from gpukern._runtime.runtime cimport check
from gpukern._interop.scalar cimport store_scalar

from gpukern.errors import GpukernValueError

__all__ = [
    "gather_into",
    "gather_reduce_rows_into",
    "gather_rows_into",
    "saxpy_into",
    "scatter_into",
    "scatter_rows_into",
    "segment_reduce_rows_into",
]


# A tensor of up to two dimensions, and one that runs through the bytes of an element.
cdef struct View:
    gpukern_tensor tensor
    int64_t shape[3]
    int64_t strides[3]


cdef void set_view(View *view, const void *data, int ndim, const Py_ssize_t *shape,
                   const Py_ssize_t *strides) noexcept nogil:
    cdef int d
    view.tensor.data = <void *>data
    view.tensor.device.device_type = GPUKERN_CPU
    view.tensor.device.device_id = 0
    view.tensor.ndim = ndim
    view.tensor.shape = view.shape
    view.tensor.strides = view.strides
    view.tensor.byte_offset = 0
    for d in range(ndim):
        view.shape[d] = shape[d]
        view.strides[d] = strides[d]


cdef bint is_whole(const View *view, Py_ssize_t itemsize) noexcept nogil:
    """Whether the strides are multiples of the item size."""
    cdef int d
    for d in range(view.tensor.ndim):
        if view.shape[d] > 1 and view.strides[d] % itemsize != 0:
            return False
    return True


cdef int set_elements(View *view, gpukern_dtype dtype) except -1 nogil:
    """Describes elements of a dtype; their strides must be multiples of its size."""
    cdef Py_ssize_t itemsize = dtype.bits // 8 * dtype.lanes
    cdef int d
    if not is_whole(view, itemsize):
        with gil:
            raise GpukernValueError(f"strides must be multiples of the item size {itemsize}, "
                                    f"got {view.strides[0]}")
    view.tensor.dtype = dtype
    for d in range(view.tensor.ndim):
        view.strides[d] //= itemsize
    return 0


cdef void set_bytes(View *view, Py_ssize_t itemsize) noexcept nogil:
    """Describes elements with any strides, by a last dimension that runs through their bytes."""
    view.tensor.dtype = dtype_of(GPUKERN_UINT, 1)
    view.shape[view.tensor.ndim] = itemsize
    view.strides[view.tensor.ndim] = 1
    view.tensor.ndim += 1


cdef gpukern_dtype dtype_of(int code, Py_ssize_t itemsize) noexcept nogil:
    cdef gpukern_dtype dtype
    dtype.code = code
    dtype.bits = <unsigned char>(8 * itemsize)
    dtype.lanes = 1
    return dtype


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


cdef int gather_views(View *source, View *index, View *out, Py_ssize_t itemsize,
                      gpukern_dtype index_dtype, int mode) except -1 nogil:
    cdef gpukern_gather_options options
    cdef gpukern_dtype item = dtype_of(GPUKERN_UINT, 1)
    if is_whole(source, itemsize) and is_whole(out, itemsize):
        item.lanes = <unsigned short>itemsize
        set_elements(source, item)
        set_elements(out, item)
    else:
        set_bytes(source, itemsize)
        set_bytes(out, itemsize)
    set_elements(index, index_dtype)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.path = 0  # GPUKERN_GATHER_AUTO
    options.fill_value = NULL
    options.out_may_change = 0
    options.further_index_count = 0
    return check(gpukern_gather(&source.tensor, &index.tensor, 0, &out.tensor, &options, NULL))


cdef int gather_into(const gather_item[:] source, const gather_number[:] index, gather_item[:] out,
                     int mode=0) except -1 nogil:
    cdef View source_view, index_view, out_view
    set_view(&source_view, &source[0], 1, source.shape, source.strides)
    set_view(&index_view, &index[0], 1, index.shape, index.strides)
    set_view(&out_view, &out[0], 1, out.shape, out.strides)
    return gather_views(&source_view, &index_view, &out_view, sizeof(gather_item),
                        dtype_of_index[gather_number](0), mode)


cdef int gather_rows_into(const gather_item[:, :] source, const gather_number[:] index,
                          gather_item[:, :] out, int mode=0) except -1 nogil:
    cdef View source_view, index_view, out_view
    set_view(&source_view, &source[0, 0], 2, source.shape, source.strides)
    set_view(&index_view, &index[0], 1, index.shape, index.strides)
    set_view(&out_view, &out[0, 0], 2, out.shape, out.strides)
    return gather_views(&source_view, &index_view, &out_view, sizeof(gather_item),
                        dtype_of_index[gather_number](0), mode)


cdef int scatter_views(View *target, View *index, View *values, gpukern_dtype dtype,
                       gpukern_dtype index_dtype, int mode, int reduce) except -1 nogil:
    cdef gpukern_scatter_options options
    set_elements(target, dtype)
    set_elements(values, dtype)
    set_elements(index, index_dtype)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.reduce = reduce
    options.order = GPUKERN_ORDER_FIXED
    options.unique = 0
    options.further_index_count = 0
    return check(gpukern_scatter(&target.tensor, &index.tensor, &values.tensor, 0, NULL, &options,
                                 NULL))


cdef int scatter_into(gather_item[:] target, const gather_number[:] index,
                      const gather_item[:] values, int mode=0, int reduce=0) except -1 nogil:
    cdef View target_view, index_view, values_view
    set_view(&target_view, &target[0], 1, target.shape, target.strides)
    set_view(&index_view, &index[0], 1, index.shape, index.strides)
    set_view(&values_view, &values[0], 1, values.shape, values.strides)
    return scatter_views(&target_view, &index_view, &values_view, dtype_of_number(&target[0]),
                         dtype_of_index[gather_number](0), mode, reduce)


cdef int scatter_rows_into(gather_item[:, :] target, const gather_number[:] index,
                           const gather_item[:, :] values, int mode=0,
                           int reduce=0) except -1 nogil:
    cdef View target_view, index_view, values_view
    set_view(&target_view, &target[0, 0], 2, target.shape, target.strides)
    set_view(&index_view, &index[0], 1, index.shape, index.strides)
    set_view(&values_view, &values[0, 0], 2, values.shape, values.strides)
    return scatter_views(&target_view, &index_view, &values_view, dtype_of_number(&target[0, 0]),
                         dtype_of_index[gather_number](0), mode, reduce)


cdef int reduce_views(View *source, View *index, View *offsets, View *out, gpukern_dtype dtype,
                      gpukern_dtype index_dtype, int mode, int reduce) except -1 nogil:
    """`index` is NULL for segments."""
    cdef gpukern_gather_reduce_options options
    set_elements(source, dtype)
    set_elements(out, dtype)
    set_elements(offsets, index_dtype)
    options.struct_size = sizeof(options)
    options.mode = mode
    options.reduce = reduce
    if index == NULL:
        return check(gpukern_segment_reduce(&source.tensor, &offsets.tensor, 0, &out.tensor,
                                            &options, NULL))
    set_elements(index, index_dtype)
    return check(gpukern_gather_reduce(&source.tensor, &index.tensor, &offsets.tensor, NULL, 0,
                                       &out.tensor, &options, NULL))


cdef int gather_reduce_rows_into(const saxpy_number[:, :] source, const gather_number[:] index,
                                 const gather_number[:] offsets, saxpy_number[:, :] out,
                                 int mode=0, int reduce=1) except -1 nogil:
    cdef View source_view, index_view, offsets_view, out_view
    set_view(&source_view, &source[0, 0], 2, source.shape, source.strides)
    set_view(&index_view, &index[0], 1, index.shape, index.strides)
    set_view(&offsets_view, &offsets[0], 1, offsets.shape, offsets.strides)
    set_view(&out_view, &out[0, 0], 2, out.shape, out.strides)
    return reduce_views(&source_view, &index_view, &offsets_view, &out_view,
                        dtype_of_saxpy_number(&out[0, 0]), dtype_of_index[gather_number](0), mode,
                        reduce)


cdef int segment_reduce_rows_into(const saxpy_number[:, :] x, const gather_number[:] offsets,
                                  saxpy_number[:, :] out, int mode=0,
                                  int reduce=1) except -1 nogil:
    cdef View x_view, offsets_view, out_view
    set_view(&x_view, &x[0, 0], 2, x.shape, x.strides)
    set_view(&offsets_view, &offsets[0], 1, offsets.shape, offsets.strides)
    set_view(&out_view, &out[0, 0], 2, out.shape, out.strides)
    return reduce_views(&x_view, NULL, &offsets_view, &out_view,
                        dtype_of_saxpy_number(&out[0, 0]), dtype_of_index[gather_number](0), mode,
                        reduce)


cdef int saxpy_into(saxpy_number a, const saxpy_number[:] x, const saxpy_number[:] y,
                    saxpy_number[:] out) except -1 nogil:
    cdef View x_view, y_view, out_view
    cdef gpukern_dtype dtype = dtype_of_number(&a)
    set_view(&x_view, &x[0], 1, x.shape, x.strides)
    set_view(&y_view, &y[0], 1, y.shape, y.strides)
    set_view(&out_view, &out[0], 1, out.shape, out.strides)
    set_elements(&x_view, dtype)
    set_elements(&y_view, dtype)
    set_elements(&out_view, dtype)
    return check(gpukern_saxpy(&a, &x_view.tensor, &y_view.tensor, &out_view.tensor, NULL))


# The types that differ at run time.
ctypedef fused python_item:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    float complex
    double complex

ctypedef fused python_index:
    int32_t
    int64_t

ctypedef fused python_number:
    float
    double
    float complex
    double complex
    int32_t
    int64_t


def python_gather_into(const python_item[:] source, const python_index[:] index,
                       python_item[:] out, int mode=0):
    """Writes ``out[i] = source[index[i]]``.

    Integers, float32, float64, complex64 and complex128 of one dimension, by an index of int32 or
    int64. `mode`: 0 raise, 1 wrap, 2 clip, 3 fill with zeros, as in :func:`gpukern.gather`.
    """
    with nogil:
        gather_into(source, index, out, mode)


def python_gather_rows_into(const python_item[:, :] source, const python_index[:] index,
                            python_item[:, :] out, int mode=0):
    """Writes ``out[i, :] = source[index[i], :]``; see :func:`gather_into`."""
    with nogil:
        gather_rows_into(source, index, out, mode)


def python_scatter_into(python_item[:] target, const python_index[:] index,
                        const python_item[:] values, int mode=0, int reduce=0):
    """Writes ``target[index[i]] = values[i]``, or combines the two.

    Types and `mode` as in :func:`gather_into`; 3 skips values with an index out of bounds.
    `reduce`: 0 none, 1 add, 2 multiply, 3 min, 4 max, 5 mean, as in :func:`gpukern.scatter`.
    """
    with nogil:
        scatter_into(target, index, values, mode, reduce)


def python_scatter_rows_into(python_item[:, :] target, const python_index[:] index,
                             const python_item[:, :] values, int mode=0, int reduce=0):
    """Writes ``target[index[i], :] = values[i, :]``, or combines the two; see
    :func:`scatter_into`."""
    with nogil:
        scatter_rows_into(target, index, values, mode, reduce)


def python_gather_reduce_rows_into(const python_number[:, :] source, const python_index[:] index,
                                   const python_index[:] offsets, python_number[:, :] out,
                                   int mode=0, int reduce=1):
    """Writes to ``out[b, :]`` the reduction of ``source[index[offsets[b]:offsets[b + 1]], :]``.

    Types as in :func:`saxpy_into`, `mode` as in :func:`gather_into`; 3 leaves out items with an
    index out of bounds. `reduce`: 1 sum, 3 min, 4 max, 5 mean, as in :func:`gpukern.gather_reduce`.
    """
    with nogil:
        gather_reduce_rows_into(source, index, offsets, out, mode, reduce)


def python_segment_reduce_rows_into(const python_number[:, :] x, const python_index[:] offsets,
                                    python_number[:, :] out, int mode=0, int reduce=1):
    """Writes to ``out[s, :]`` the reduction of ``x[offsets[s]:offsets[s + 1], :]``; see
    :func:`gather_reduce_rows_into`. `mode`: 0 raise or 2 clip."""
    with nogil:
        segment_reduce_rows_into(x, offsets, out, mode, reduce)


def python_saxpy_into(a, const python_number[:] x, const python_number[:] y, python_number[:] out):
    """Writes ``out[i] = a * x[i] + y[i]``, rounded once.

    float32, float64, complex64, complex128, int32 or int64 of one dimension; see
    :func:`gpukern.saxpy`.
    """
    cdef python_number scalar = 0
    store_scalar(a, dtype_of_number(&scalar), &scalar)
    with nogil:
        saxpy_into(scalar, x, y, out)


def publish(names):
    """Gives the functions for Python the names of those for C, which are no attributes here."""
    for name in __all__:
        function = names.pop("python_" + name)
        function.__name__ = function.__qualname__ = name
        names[name] = function


publish(globals())
