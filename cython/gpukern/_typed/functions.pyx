# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The functions of gpukern.typed for Python. Like the fused functions for Cython, they describe
their arguments and make a call of view.pyx, but the dtypes are those of the arrays."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer

from gpukern._capi cimport GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT, gpukern_dtype
from gpukern._interop.dtype cimport describe_dtype, require_plain
from gpukern._interop.scalar cimport store_scalar
from gpukern._runtime.runtime cimport as_int
from gpukern._typed.view cimport (
    View, axpby_views, bincount_views, count_view, dtype_of, fma_views, gather_views,
    put_along_axis_views, reduce_views, saxpy_views, scatter_views, select_views, set_view,
    take_along_axis_views,
)

import numpy as np

from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()


cdef object read(View *view, object buffer, int ndim, str name, bint integers=False):
    """Describes a buffer of `ndim` dimensions; the result holds its memory."""
    cdef cnp.ndarray array
    cdef gpukern_dtype dtype
    if type(buffer) is cnp.ndarray:
        array = buffer
    elif PyObject_CheckBuffer(buffer):
        array = np.asarray(memoryview(buffer))
    else:
        raise GpukernTypeError(f"{name} must export a buffer, got {type(buffer).__name__}")
    if cnp.PyArray_NDIM(array) != ndim:
        raise GpukernValueError(f"{name} must be {ndim}-D, got {array.ndim}-D")
    require_plain(array.dtype, name)
    describe_dtype(array.dtype, &dtype)
    if dtype.lanes == 0:
        raise GpukernTypeError(
            f"{name} must have items of 1 to 65535 bytes, got dtype {array.dtype}")
    if integers and dtype.code != GPUKERN_INT and dtype.code != GPUKERN_UINT:
        raise GpukernTypeError(f"{name} must be of an integer dtype, got {array.dtype}")
    set_view(view, dtype, cnp.PyArray_DATA(array), ndim, <Py_ssize_t *>cnp.PyArray_DIMS(array),
             <Py_ssize_t *>cnp.PyArray_STRIDES(array))
    return array


cdef object write(View *view, object buffer, int ndim, str name):
    """Describes a buffer to write to."""
    array = read(view, buffer, ndim, name)
    if not cnp.PyArray_ISWRITEABLE(array):
        raise GpukernValueError(f"{name} is read-only")
    return array


# A function assigns the arrays to its parameters, which keeps them until it returns.


def gather_into(source, index, out, mode=0):
    """Writes ``out[i] = source[index[i]]``.

    Arrays of one dimension and one dtype, by an index of an integer dtype. `mode`: 0 raise, 1 wrap,
    2 clip, 3 fill with zeros, as in :func:`gpukern.gather`.
    """
    return gather(source, (index,), out, 1, 1, mode)


def gather_rows_into(source, index, out, mode=0):
    """Writes ``out[i, :] = source[index[i], :]``; see :func:`gather_into`."""
    return gather(source, (index,), out, 2, 2, mode)


def gather_pairs_into(source, i, j, out, mode=0):
    """Writes ``out[n] = source[i[n], j[n]]``; see :func:`gather_into`."""
    return gather(source, (i, j), out, 2, 1, mode)


def gather_triples_into(source, i, j, k, out, mode=0):
    """Writes ``out[n] = source[i[n], j[n], k[n]]``; see :func:`gather_into`."""
    return gather(source, (i, j, k), out, 3, 1, mode)


cdef object gather(object source, tuple index, object out, int ndim, int out_ndim, object mode):
    cdef View source_view, out_view
    cdef View index_views[3]
    cdef int count = len(index), mode_number = as_int(mode, "gather: mode")
    source = read(&source_view, source, ndim, "gather: source")
    index = read_indices(index_views, index, "gather: index")
    out = write(&out_view, out, out_ndim, "gather: out")
    with nogil:
        gather_views(&source_view, index_views, count, &out_view, mode_number)


cdef tuple read_indices(View *views, tuple index, str name):
    if len(index) == 1:
        return (read(views, index[0], 1, name, integers=True),)
    return tuple([read(&views[d], each, 1, name, integers=True) for d, each in enumerate(index)])


def scatter_into(target, index, values, mode=0, reduce=0):
    """Writes ``target[index[i]] = values[i]``, or combines the two.

    Types and `mode` as in :func:`gather_into`; 3 skips values with an index out of bounds.
    `reduce`: 0 none, 1 add, 2 multiply, 3 min, 4 max, 5 mean, as in :func:`gpukern.scatter`.
    """
    return scatter(target, (index,), values, 1, 1, mode, reduce)


def scatter_rows_into(target, index, values, mode=0, reduce=0):
    """Writes ``target[index[i], :] = values[i, :]``, or combines the two; see
    :func:`scatter_into`."""
    return scatter(target, (index,), values, 2, 2, mode, reduce)


def scatter_pairs_into(target, i, j, values, mode=0, reduce=0):
    """Writes ``target[i[n], j[n]] = values[n]``, or combines the two; see :func:`scatter_into`."""
    return scatter(target, (i, j), values, 2, 1, mode, reduce)


def scatter_triples_into(target, i, j, k, values, mode=0, reduce=0):
    """Writes ``target[i[n], j[n], k[n]] = values[n]``, or combines the two; see
    :func:`scatter_into`."""
    return scatter(target, (i, j, k), values, 3, 1, mode, reduce)


cdef object scatter(object target, tuple index, object values, int ndim, int values_ndim,
                    object mode, object reduce):
    cdef View target_view, values_view
    cdef View index_views[3]
    cdef int count = len(index), mode_number = as_int(mode, "scatter: mode")
    cdef int reduce_number = as_int(reduce, "scatter: reduce")
    target = write(&target_view, target, ndim, "scatter: target")
    index = read_indices(index_views, index, "scatter: index")
    values = read(&values_view, values, values_ndim, "scatter: values")
    with nogil:
        scatter_views(&target_view, index_views, count, &values_view, mode_number, reduce_number)


def take_along_axis_into(source, index, axis, out, mode=0):
    """Writes ``out[i, k] = source[index[i, k], k]`` for axis 0, or
    ``out[i, k] = source[i, index[i, k]]`` for axis 1.

    Types and `mode` as in :func:`gather_into`, with two dimensions; see
    :func:`gpukern.take_along_axis`.
    """
    cdef View source_view, index_view, out_view
    cdef int axis_number = as_int(axis, "take_along_axis: axis")
    cdef int mode_number = as_int(mode, "take_along_axis: mode")
    source = read(&source_view, source, 2, "take_along_axis: source")
    index = read(&index_view, index, 2, "take_along_axis: index", integers=True)
    out = write(&out_view, out, 2, "take_along_axis: out")
    with nogil:
        take_along_axis_views(&source_view, &index_view, axis_number, &out_view, mode_number)


def put_along_axis_into(target, index, values, axis, mode=0, reduce=0):
    """Writes ``target[index[i, k], k] = values[i, k]`` for axis 0, or
    ``target[i, index[i, k]] = values[i, k]`` for axis 1, or combines the two.

    Types, `mode` and `reduce` as in :func:`scatter_into`, with two dimensions; see
    :func:`gpukern.put_along_axis`.
    """
    cdef View target_view, index_view, values_view
    cdef int axis_number = as_int(axis, "put_along_axis: axis")
    cdef int mode_number = as_int(mode, "put_along_axis: mode")
    cdef int reduce_number = as_int(reduce, "put_along_axis: reduce")
    target = write(&target_view, target, 2, "put_along_axis: target")
    index = read(&index_view, index, 2, "put_along_axis: index", integers=True)
    values = read(&values_view, values, 2, "put_along_axis: values")
    with nogil:
        put_along_axis_views(&target_view, &index_view, &values_view, axis_number, mode_number,
                             reduce_number)


def bincount_into(index, out, mode=0):
    """Writes to ``out[n]`` how many numbers of the index are ``n``.

    An index of an integer dtype, and int64 counts, of one dimension. `mode`: 0 raise, or 3 fill,
    which does not count numbers outside ``[0, len(out))``; see :func:`gpukern.bincount`.
    """
    cdef View index_view, out_view
    cdef int mode_number = as_int(mode, "bincount: mode")
    index = read(&index_view, index, 1, "bincount: index", integers=True)
    out = write(&out_view, out, 1, "bincount: out")
    if out_view.tensor.dtype.code != GPUKERN_INT or out_view.tensor.dtype.bits != 64:
        raise GpukernTypeError(f"bincount: out must be of dtype int64, got {out.dtype}")
    with nogil:
        bincount_views(&index_view, &out_view, mode_number)


def gather_reduce_rows_into(source, index, offsets, out, mode=0, reduce=1):
    """Writes to ``out[b, :]`` the reduction of ``source[index[offsets[b]:offsets[b + 1]], :]``.

    Numbers of one dtype, by indices and offsets of integer dtypes. `mode` as in
    :func:`gather_into`; 3 leaves out items with an index out of bounds. `reduce`: 1 sum, 3 min,
    4 max, 5 mean, as in :func:`gpukern.gather_reduce`.
    """
    cdef View source_view, index_view, offsets_view, out_view
    cdef int mode_number = as_int(mode, "gather_reduce: mode")
    cdef int reduce_number = as_int(reduce, "gather_reduce: reduce")
    source = read(&source_view, source, 2, "gather_reduce: source")
    index = read(&index_view, index, 1, "gather_reduce: index", integers=True)
    offsets = read(&offsets_view, offsets, 1, "gather_reduce: offsets", integers=True)
    out = write(&out_view, out, 2, "gather_reduce: out")
    with nogil:
        reduce_views(&source_view, &index_view, &offsets_view, &out_view, mode_number,
                     reduce_number)


def segment_reduce_rows_into(x, offsets, out, mode=0, reduce=1):
    """Writes to ``out[s, :]`` the reduction of ``x[offsets[s]:offsets[s + 1], :]``; see
    :func:`gather_reduce_rows_into`. `mode`: 0 raise or 2 clip."""
    cdef View x_view, offsets_view, out_view
    cdef int mode_number = as_int(mode, "segment_reduce: mode")
    cdef int reduce_number = as_int(reduce, "segment_reduce: reduce")
    x = read(&x_view, x, 2, "segment_reduce: x")
    offsets = read(&offsets_view, offsets, 1, "segment_reduce: offsets", integers=True)
    out = write(&out_view, out, 2, "segment_reduce: out")
    with nogil:
        reduce_views(&x_view, NULL, &offsets_view, &out_view, mode_number, reduce_number)


def count_nonzero(mask):
    """Returns the number of nonzero elements of a mask of one dimension; see
    :func:`gpukern.count_nonzero`."""
    cdef View mask_view
    cdef Py_ssize_t count
    mask = read(&mask_view, mask, 1, "count_nonzero: mask")
    with nogil:
        count = count_view(&mask_view)
    return count


def nonzero_into(mask, out):
    """Writes the positions of the nonzero elements of a mask of one dimension to an array of int64,
    and zeros beyond the last one.

    Returns the number of all of them, which may be more than the array holds; see
    :func:`gpukern.nonzero`.
    """
    cdef View mask_view, out_view
    cdef Py_ssize_t count
    mask = read(&mask_view, mask, 1, "nonzero: mask")
    out = write(&out_view, out, 1, "nonzero: out")
    with nogil:
        count = select_views(&mask_view, NULL, &out_view)
    return count


def compress_into(mask, x, out):
    """Writes the items of x for which a mask is not zero, and zeros beyond the last one.

    Arrays of one dimension, x and out of one dtype. Returns the number of all of these items, which
    may be more than `out` holds. IndexError for a mask that is not zero beyond x; see
    :func:`gpukern.compress`.
    """
    cdef View mask_view, x_view, out_view
    cdef Py_ssize_t count
    mask = read(&mask_view, mask, 1, "compress: mask")
    x = read(&x_view, x, 1, "compress: x")
    out = write(&out_view, out, 1, "compress: out")
    with nogil:
        count = select_views(&mask_view, &x_view, &out_view)
    return count


def saxpy_into(a, x, y, out):
    """Writes ``out[i] = a * x[i] + y[i]``, rounded once.

    Arrays of one dimension and of a dtype of :func:`gpukern.saxpy`.
    """
    cdef View x_view, y_view, out_view
    cdef double complex scalar = 0  # of the size of the largest element
    x = read(&x_view, x, 1, "saxpy: x")
    y = read(&y_view, y, 1, "saxpy: y")
    out = write(&out_view, out, 1, "saxpy: out")
    store_scalar(a, "saxpy: a", x_view.tensor.dtype, &scalar)
    with nogil:
        saxpy_views(&scalar, &x_view, &y_view, &out_view)


def axpby_into(a, x, b, y, out):
    """Writes ``out[i] = a * x[i] + b * y[i]``.

    Arrays of one dimension and of dtypes of :func:`gpukern.axpby`.
    """
    cdef View a_view, x_view, b_view, y_view, out_view
    cdef double a_value, b_value  # of the size of the larger number
    cdef gpukern_dtype dtype
    x = read(&x_view, x, 1, "axpby: x")
    y = read(&y_view, y, 1, "axpby: y")
    out = write(&out_view, out, 1, "axpby: out")
    # Of the arithmetic.
    dtype = dtype_of(GPUKERN_FLOAT, 8 if is_double(&x_view) or is_double(&y_view)
                     or is_double(&out_view) else 4)
    store_scalar(a, "axpby: a", dtype, &a_value)
    store_scalar(b, "axpby: b", dtype, &b_value)
    set_view(&a_view, dtype, &a_value, 0, NULL, NULL)
    set_view(&b_view, dtype, &b_value, 0, NULL, NULL)
    with nogil:
        axpby_views(&a_view, &x_view, &b_view, &y_view, &out_view)


cdef bint is_double(const View *view) noexcept:
    return view.tensor.dtype.code == GPUKERN_FLOAT and view.tensor.dtype.bits == 64


def fma_into(x, y, z, out):
    """Writes ``out[i] = x[i] * y[i] + z[i]``, rounded once.

    Arrays of one dimension and of dtypes of :func:`gpukern.fma`.
    """
    cdef View x_view, y_view, z_view, out_view
    x = read(&x_view, x, 1, "fma: x")
    y = read(&y_view, y, 1, "fma: y")
    z = read(&z_view, z, 1, "fma: z")
    out = write(&out_view, out, 1, "fma: out")
    with nogil:
        fma_views(&x_view, &y_view, &z_view, &out_view)
