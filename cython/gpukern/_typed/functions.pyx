# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The functions of gpukern.typed for Python: calls of the functions of gpukern, with buffers of the
dimensions and modes by the numbers that the functions for Cython take."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer

from gpukern._runtime.runtime cimport as_int, shown

import numpy as np

from gpukern._interop.numpy_subclasses import is_masked
from gpukern._ops.axpby import axpby
from gpukern._ops.fma import fma
from gpukern._ops.indexing.gather import gather
from gpukern._ops.indexing.put_along_axis import put_along_axis
from gpukern._ops.indexing.scatter import bincount, scatter
from gpukern._ops.indexing.take_along_axis import take_along_axis
from gpukern._ops.reduction.gather_reduce import gather_reduce
from gpukern._ops.reduction.segment_reduce import segment_reduce
from gpukern._ops.saxpy import saxpy
from gpukern._ops.selection.compress import compress
from gpukern._ops.selection.count_nonzero import count_nonzero as count
from gpukern._ops.selection.nonzero import nonzero
from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

cnp.import_array()

# By their numbers in the C header.
cdef dict MODES = {0: "raise", 1: "wrap", 2: "clip", 3: "fill"}
cdef dict MODES_OF_BINCOUNT = {0: "raise", 3: "fill"}
cdef dict MODES_OF_SEGMENTS = {0: "raise", 2: "clip"}
cdef dict REDUCTIONS = {0: None, 1: "add", 2: "multiply", 3: "min", 4: "max", 5: "mean"}
cdef dict REDUCTIONS_OF_BAGS = {1: "sum", 3: "min", 4: "max", 5: "mean"}


cdef cnp.ndarray buffer_of(object buffer, int ndim, str what, bint integers=False):
    """A buffer of `ndim` dimensions as an array."""
    cdef cnp.ndarray array
    if type(buffer) is cnp.ndarray:
        array = buffer
    elif not PyObject_CheckBuffer(buffer):
        raise GpukernTypeError(f"{what} must export a buffer, got {type(buffer).__name__}")
    elif is_masked(buffer):
        raise GpukernTypeError(f"{what} must not be a masked array")
    else:  # not a subclass, which may override methods
        array = np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer))
    if cnp.PyArray_NDIM(array) != ndim:
        raise GpukernValueError(f"{what} must be {ndim}-D, got {cnp.PyArray_NDIM(array)}-D")
    if integers and (not cnp.PyArray_ISINTEGER(array) or cnp.PyArray_ISBYTESWAPPED(array)):
        raise GpukernTypeError(f"{what} must be of an integer dtype, got {array.dtype}")
    return array


cdef cnp.ndarray positions_of(object buffer, str what):
    """A buffer of int64 to write to."""
    array = buffer_of(buffer, 1, what)
    if array.dtype != np.int64:
        raise GpukernTypeError(f"{what} must be of dtype int64, got {array.dtype}")
    if not cnp.PyArray_ISWRITEABLE(array):
        raise GpukernValueError(f"{what} is read-only")
    return array


cdef object factor_of(object number, str what):
    """A number or a 0-d array."""
    if isinstance(number, (list, tuple)) or getattr(number, "ndim", 0) != 0:
        raise GpukernTypeError(f"{what} must be a number, got {type(number).__name__}")
    return number


cdef object named(object number, dict names, str what):
    """What a number of the C header names."""
    number = as_int(number, what)
    if number not in names:
        numbers = ", ".join([f"{key} ({name})" for key, name in names.items()])
        expected = " or ".join(numbers.rsplit(", ", 1))
        raise GpukernValueError(f"{what} must be {expected}, got {shown(number)}")
    return names[number]


def gather_into(source, index, out, mode=0):
    """Writes ``out[i] = source[index[i]]``.

    Arrays of one dimension and one dtype, by an index of an integer dtype. `mode`: 0 raise, 1 wrap,
    2 clip, 3 fill with zeros, as in :func:`gpukern.gather`.
    """
    gather_by(source, (index,), out, 1, 1, mode)


def gather_rows_into(source, index, out, mode=0):
    """Writes ``out[i, :] = source[index[i], :]``; see :func:`gather_into`."""
    gather_by(source, (index,), out, 2, 2, mode)


def gather_pairs_into(source, i, j, out, mode=0):
    """Writes ``out[n] = source[i[n], j[n]]``; see :func:`gather_into`."""
    gather_by(source, (i, j), out, 2, 1, mode)


def gather_triples_into(source, i, j, k, out, mode=0):
    """Writes ``out[n] = source[i[n], j[n], k[n]]``; see :func:`gather_into`."""
    gather_by(source, (i, j, k), out, 3, 1, mode)


cdef object gather_by(object source, tuple index, object out, int ndim, int out_ndim, object mode):
    mode = named(mode, MODES, "gather: mode")
    gather(buffer_of(source, ndim, "gather: source"), indices_of(index, "gather: index"), mode=mode,
           out=buffer_of(out, out_ndim, "gather: out"))


cdef object indices_of(tuple index, str what):
    if len(index) == 1:
        return buffer_of(index[0], 1, what, integers=True)
    return tuple([buffer_of(each, 1, what, integers=True) for each in index])


def scatter_into(target, index, values, mode=0, reduce=0):
    """Writes ``target[index[i]] = values[i]``, or combines the two.

    Types and `mode` as in :func:`gather_into`; 3 skips values with an index out of bounds.
    `reduce`: 0 none, 1 add, 2 multiply, 3 min, 4 max, 5 mean, as in :func:`gpukern.scatter`.
    """
    scatter_by(target, (index,), values, 1, 1, mode, reduce)


def scatter_rows_into(target, index, values, mode=0, reduce=0):
    """Writes ``target[index[i], :] = values[i, :]``, or combines the two; see
    :func:`scatter_into`."""
    scatter_by(target, (index,), values, 2, 2, mode, reduce)


def scatter_pairs_into(target, i, j, values, mode=0, reduce=0):
    """Writes ``target[i[n], j[n]] = values[n]``, or combines the two; see :func:`scatter_into`."""
    scatter_by(target, (i, j), values, 2, 1, mode, reduce)


def scatter_triples_into(target, i, j, k, values, mode=0, reduce=0):
    """Writes ``target[i[n], j[n], k[n]] = values[n]``, or combines the two; see
    :func:`scatter_into`."""
    scatter_by(target, (i, j, k), values, 3, 1, mode, reduce)


cdef object scatter_by(object target, tuple index, object values, int ndim, int values_ndim,
                       object mode, object reduce):
    scatter(buffer_of(target, ndim, "scatter: target"), indices_of(index, "scatter: index"),
            buffer_of(values, values_ndim, "scatter: values"),
            mode=named(mode, MODES, "scatter: mode"),
            reduce=named(reduce, REDUCTIONS, "scatter: reduce"))


def take_along_axis_into(source, index, axis, out, mode=0):
    """Writes ``out[i, k] = source[index[i, k], k]`` for axis 0, or
    ``out[i, k] = source[i, index[i, k]]`` for axis 1.

    Types and `mode` as in :func:`gather_into`, with two dimensions; see
    :func:`gpukern.take_along_axis`.
    """
    take_along_axis(buffer_of(source, 2, "take_along_axis: source"),
                    buffer_of(index, 2, "take_along_axis: index", integers=True),
                    as_int(axis, "take_along_axis: axis"),
                    mode=named(mode, MODES, "take_along_axis: mode"),
                    out=buffer_of(out, 2, "take_along_axis: out"))


def put_along_axis_into(target, index, values, axis, mode=0, reduce=0):
    """Writes ``target[index[i, k], k] = values[i, k]`` for axis 0, or
    ``target[i, index[i, k]] = values[i, k]`` for axis 1, or combines the two.

    Types, `mode` and `reduce` as in :func:`scatter_into`, with two dimensions; see
    :func:`gpukern.put_along_axis`.
    """
    put_along_axis(buffer_of(target, 2, "put_along_axis: target"),
                   buffer_of(index, 2, "put_along_axis: index", integers=True),
                   buffer_of(values, 2, "put_along_axis: values"),
                   as_int(axis, "put_along_axis: axis"),
                   mode=named(mode, MODES, "put_along_axis: mode"),
                   reduce=named(reduce, REDUCTIONS, "put_along_axis: reduce"))


def bincount_into(index, out, mode=0):
    """Writes to ``out[n]`` how many numbers of the index are ``n``.

    An index of an integer dtype, and int64 counts, of one dimension. `mode`: 0 raise, or 3 fill,
    which does not count numbers outside ``[0, len(out))``; see :func:`gpukern.bincount`, whose
    result is copied to `out`.
    """
    index = buffer_of(index, 1, "bincount: index", integers=True)
    out = positions_of(out, "bincount: out")
    out[...] = bincount(index, size=len(out), mode=named(mode, MODES_OF_BINCOUNT, "bincount: mode"))


def gather_reduce_rows_into(source, index, offsets, out, mode=0, reduce=1):
    """Writes to ``out[b, :]`` the reduction of ``source[index[offsets[b]:offsets[b + 1]], :]``.

    Numbers of one dtype, by indices and offsets of integer dtypes. `mode` as in
    :func:`gather_into`; 3 leaves out items with an index out of bounds. `reduce`: 1 sum, 3 min,
    4 max, 5 mean, as in :func:`gpukern.gather_reduce`.
    """
    gather_reduce(buffer_of(source, 2, "gather_reduce: source"),
                  buffer_of(index, 1, "gather_reduce: index", integers=True),
                  buffer_of(offsets, 1, "gather_reduce: offsets", integers=True),
                  mode=named(mode, MODES, "gather_reduce: mode"),
                  reduce=named(reduce, REDUCTIONS_OF_BAGS, "gather_reduce: reduce"),
                  out=buffer_of(out, 2, "gather_reduce: out"))


def segment_reduce_rows_into(x, offsets, out, mode=0, reduce=1):
    """Writes to ``out[s, :]`` the reduction of ``x[offsets[s]:offsets[s + 1], :]``; see
    :func:`gather_reduce_rows_into`. `mode`: 0 raise or 2 clip."""
    segment_reduce(buffer_of(x, 2, "segment_reduce: x"),
                   buffer_of(offsets, 1, "segment_reduce: offsets", integers=True),
                   mode=named(mode, MODES_OF_SEGMENTS, "segment_reduce: mode"),
                   reduce=named(reduce, REDUCTIONS_OF_BAGS, "segment_reduce: reduce"),
                   out=buffer_of(out, 2, "segment_reduce: out"))


def count_nonzero(mask):
    """Returns the number of nonzero elements of a mask of one dimension; see
    :func:`gpukern.count_nonzero`."""
    return count(buffer_of(mask, 1, "count_nonzero: mask"))


def nonzero_into(mask, out):
    """Writes the positions of the nonzero elements of a mask of one dimension to an array of int64,
    and zeros beyond the last one.

    Returns the number of all of them, which may be more than the array holds; see
    :func:`gpukern.nonzero`, whose result is copied to `out`.
    """
    mask = buffer_of(mask, 1, "nonzero: mask")
    out = positions_of(out, "nonzero: out")
    number = count(mask)  # before the mask changes, which may overlap `out`
    out[...] = nonzero(mask, size=len(out))[0]
    return number


def compress_into(mask, x, out):
    """Writes the items of x for which a mask is not zero, and zeros beyond the last one.

    Arrays of one dimension, x and out of one dtype. Returns the number of all of these items, which
    may be more than `out` holds. IndexError for a mask that is not zero beyond x; see
    :func:`gpukern.compress`.
    """
    mask = buffer_of(mask, 1, "compress: mask")
    x = buffer_of(x, 1, "compress: x")
    out = buffer_of(out, 1, "compress: out")
    if len(mask) > len(x) and count(mask[len(x):]) > 0:
        raise GpukernIndexError(f"compress: mask must be zero beyond the {len(x)} items of x")
    number = count(mask)
    compress(mask, x, size=len(out), out=out)
    return number


def saxpy_into(a, x, y, out):
    """Writes ``out[i] = a * x[i] + y[i]``, rounded once.

    Arrays of one dimension and of a dtype of :func:`gpukern.saxpy`.
    """
    saxpy(factor_of(a, "saxpy: a"), buffer_of(x, 1, "saxpy: x"), buffer_of(y, 1, "saxpy: y"),
          out=buffer_of(out, 1, "saxpy: out"))


def axpby_into(a, x, b, y, out):
    """Writes ``out[i] = a * x[i] + b * y[i]``.

    Arrays of one dimension and of dtypes of :func:`gpukern.axpby`.
    """
    axpby(factor_of(a, "axpby: a"), buffer_of(x, 1, "axpby: x"), factor_of(b, "axpby: b"),
          buffer_of(y, 1, "axpby: y"), out=buffer_of(out, 1, "axpby: out"))


def fma_into(x, y, z, out):
    """Writes ``out[i] = x[i] * y[i] + z[i]``, rounded once.

    Arrays of one dimension and of dtypes of :func:`gpukern.fma`.
    """
    fma(buffer_of(x, 1, "fma: x"), buffer_of(y, 1, "fma: y"), buffer_of(z, 1, "fma: z"),
        out=buffer_of(out, 1, "fma: out"))
