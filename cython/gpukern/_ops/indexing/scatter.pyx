# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""scatter, and bincount by it: the Python functions."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport (
    GPUKERN_BOOL, GPUKERN_FLOAT, GPUKERN_INDEX_ERROR, GPUKERN_INDEX_FILL, GPUKERN_INT,
    GPUKERN_OPAQUE, GPUKERN_SUCCESS, GPUKERN_UINT, gpukern_scatter, gpukern_scatter_options,
    gpukern_status,
)
from gpukern._interop.argument cimport (
    describe_operand, dtype_of, fill_from_ndarray, is_ndarray, refuse_masked, same_shape, shape_of,
)
from gpukern._interop.result cimport new_result
from gpukern._ops.indexing.index_argument cimport copy_to_gpu_of, describe_index, describe_own
from gpukern._ops.indexing.indexed_read cimport as_mode
from gpukern._ops.indexing.indexed_write cimport IndexedWrite, new_indexed_write, set_options
from gpukern._ops.selection.count_nonzero cimport as_size
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, keep, start, what,
)

import numpy as np

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

cdef object ZERO = np.zeros((), np.int64)
cdef object ONE = np.ones((), np.int64)
cdef int FEW = 1024  # numbers, of which a loop finds the largest one before NumPy


def scatter(target, index, values, *, axis=0, mode="raise", reduce=None, order="fixed",
            unique=False, out=None, device=None, stream=None, progress=None, device_memory=None):
    """Writes values to the elements of an array along an axis,
    ``target[a, index[i], b] = values[a, i, b]``, or combines them with these elements; along
    several axes, ``scatter(target, (i, j), values)`` is ``target[i, j] = values``.

    Arrays are accepted as in :func:`gather`.

    Parameters
    ----------
    target : array
        Written to and returned, unless `out` is given or it is a JAX array, which cannot be written
        to. Of any fixed-width dtype of 1 to 65535 bytes; `reduce` takes integers, float16,
        bfloat16, float32, float64, complex64 and complex128. NumPy's masked arrays, and subclasses
        of ndarray that override ``__array_ufunc__``, are refused.
    index : array of an integer dtype, int, or tuple of them
        As in :func:`gather`: a tuple indexes consecutive axes. With a device target, an array on
        the host is copied to the device.
    values : array or scalar
        An array of the target's dtype, whose shape broadcasts to
        ``target.shape[:axis] + index.shape + target.shape[axis+1:]``. A scalar, a list or another
        sequence converts to the target's dtype by NumPy's rule 'same_kind'. With a device target,
        an array or a sequence on the host is copied to the device.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened target.
    {write_options}
    {call_options}

    Returns
    -------
    array
        `out` or `target`; a new array for a target of JAX without `out`.

    Raises
    ------
    IndexError
        In mode 'raise', naming the first bad index; target and `out` are unchanged then. In every
        mode, for values to write to an empty axis, and for a tuple whose elements do not broadcast
        or are more than the axes.
    TypeError
        For a dtype that the reduction does not take, and values of another dtype.
    AxisError, ValueError
        For other invalid arguments, such as a read-only target.

    Notes
    -----
    Where arguments overlap, the result is that of separate memory. On a GPU the call enqueues its
    work; mode 'raise' also waits for the stream.

    Examples
    --------
    >>> scatter(np.zeros(4), [1, 3, 1], [1.0, 2.0, 3.0], reduce="add")
    array([0., 4., 0., 2.])
    """
    return SCATTER.run(target, index, values, axis, mode, reduce, order, unique, out, device,
                       stream, progress, device_memory)


cdef IndexedWrite SCATTER = new_indexed_write("scatter", gpukern_scatter, takes_tuples=True)


def bincount(index, weights=None, *, size=None, mode="raise", order="fixed", device=None,
             stream=None, progress=None, device_memory=None):
    """Counts the occurrences of each number in an array, or adds their weights; as
    :func:`numpy.bincount`.

    It is :func:`scatter` with ``reduce='add'`` to zeros, of ones or of the weights.

    Parameters
    ----------
    index : array of an integer dtype
        Any shape; arrays are accepted as in :func:`gather`.
    weights : array, optional
        Of a dtype that ``scatter(reduce='add')`` takes, and of the shape of the index.
    size : int, optional
        The number of bins. Without it, and only for an index of NumPy or a list, the largest number
        plus one: the numbers on a GPU are not read on the host. For an index of int8, int16 or
        int32 on a GPU, at most 2**7, 2**15 or 2**31.
    mode : {'raise', 'fill'}
        What to do with a number outside [0, size), and so with any negative one. 'raise': an
        IndexError. 'fill': it is not counted.
    order : {'fixed', 'any'}
        See :func:`scatter`.
    {call_options}

    Returns
    -------
    array
        Of shape ``(size,)`` and of the kind of the index; of dtype int64, or that of the weights,
        which NumPy converts to float64.

    Raises
    ------
    IndexError
        In mode 'raise', for a number outside [0, size).
    TypeError, ValueError
        For invalid arguments.

    Examples
    --------
    >>> bincount([0, 3, 3, 1])
    array([1, 1, 0, 2])
    """
    cdef CallContext call
    cdef Argument idx, zero, vals, dst
    cdef gpukern_scatter_options options
    cdef gpukern_status status
    cdef int64_t bins
    begin_call(&call, "bincount", device, stream, progress, device_memory)
    as_mode(&call, mode, ("raise", "fill"))
    set_options(&call, &options, mode, "add", order, False)
    if type(index) is not cnp.ndarray and isinstance(index, (int, np.integer)):
        # The result is an ndarray, as for a list.
        index = np.asarray(index)
    describe_index(&call, index, &idx, &idx)
    refuse_masked(&call, &idx)
    if idx.c.dtype.code not in (GPUKERN_INT, GPUKERN_UINT):
        raise GpukernTypeError(f"bincount: index must be of an integer dtype, got {dtype_of(&idx)}")
    bins = number_of_bins(&call, size, &idx)
    fit_signed(&call, bins, &idx)
    if weights is None:
        describe_own(&call, ONE, "weights", &vals)
    else:
        describe_weights(&call, weights, &idx, &vals)
    zeros = ZERO if weights is None else np.zeros((), dtype_of(&vals))
    describe_own(&call, zeros, "zeros", &zero)
    zero.c.dtype = vals.c.dtype  # which NumPy may not have
    repeat(&zero, bins)
    result = new_result(&call, &idx, dtype_of(&vals), 1, &bins, &dst)
    if bins == 0 and options.mode == GPUKERN_INDEX_FILL:  # no number is counted
        idx.c.ndim, idx.c.shape = 1, &bins
        if weights is not None:
            vals.c = zero.c
            vals.c.ndim = 0
    # As unsigned, negative numbers are out of bounds instead of counting from the end.
    idx.c.dtype.code = GPUKERN_UINT
    start(&call, &idx)
    call.c.index_errors = NULL  # a deferred error would name a number that nobody has given
    status = gpukern_scatter(&zero.c, &idx.c, &vals.c, 0, &dst.c, &options, &call.c)
    is_bad = status == GPUKERN_INDEX_ERROR and call.watch.error == NULL
    finish(&call, GPUKERN_SUCCESS if is_bad else status)
    if is_bad:
        raise GpukernIndexError(bad_number(&idx, size, bins))
    return end_call(&call, result, &dst)


cdef str bad_number(const Argument *idx, object size, int64_t bins):
    cdef str bounds = f"be in [0, {bins})" if size is not None else "not be negative"
    if not is_ndarray(idx):
        return f"bincount: index must {bounds}"
    array = <object>idx.owner
    return f"bincount: index must {bounds}, got {array[(array < 0) | (array >= bins)].flat[0]}"


cdef int fit_signed(CallContext *call, int64_t bins, Argument *idx) except -1:
    """Widens an index whose negative numbers would be bins when they are read as unsigned."""
    cdef int64_t most = <int64_t>1 << (8 * idx.itemsize - 1) if 0 < idx.itemsize < 8 else bins
    if idx.c.dtype.code == GPUKERN_UINT or bins <= most:
        return 0
    if not is_ndarray(idx):
        raise GpukernValueError(f"bincount: size must be at most {most} for an index of "
                                f"{dtype_of(idx)}, got {bins}")
    array = (<object>idx.owner).astype(np.int64)
    keep(call, array)
    return fill_from_ndarray(call, idx, array)


cdef object largest_number(cnp.ndarray array):
    cdef const int64_t *numbers = <const int64_t *>cnp.PyArray_DATA(array)
    cdef int64_t largest
    cdef Py_ssize_t k, count = cnp.PyArray_SIZE(array)
    if (count > FEW or cnp.PyArray_TYPE(array) != cnp.NPY_INT64
            or not cnp.PyArray_ISCARRAY_RO(array)):
        return int(array.max())
    largest = numbers[0]
    for k in range(1, count):
        largest = max(largest, numbers[k])
    return largest


cdef int64_t number_of_bins(const CallContext *call, object size, const Argument *idx) except -1:
    if size is None:
        if not is_ndarray(idx):
            raise GpukernValueError("bincount: size is required, but for an index of NumPy")
        array = <cnp.ndarray>idx.owner
        size = max(largest_number(array) + 1, 0) if cnp.PyArray_SIZE(array) > 0 else 0
        if size >= 2**60:
            raise GpukernValueError(f"bincount: index must be less than 2**60 - 1, got {size - 1}")
    return as_size(call, size)


cdef int describe_weights(CallContext *call, object weights, const Argument *idx,
                          Argument *vals) except -1:
    describe_operand(call, weights, "weights", vals)
    if (vals.c.dtype.code == GPUKERN_OPAQUE or vals.c.dtype.code == GPUKERN_BOOL
            or (vals.c.dtype.code == GPUKERN_FLOAT and vals.c.dtype.bits > 64)):
        raise GpukernTypeError(
            f"{what(call, vals)} must be of a dtype that scatter adds, got {dtype_of(vals)}")
    if not same_shape(&vals.c, &idx.c):
        raise GpukernValueError(f"{what(call, vals)} must have the index's shape "
                                f"{shape_of(&idx.c)}, got {shape_of(&vals.c)}")
    return copy_to_gpu_of(call, idx, vals)


cdef void repeat(Argument *element, int64_t count) noexcept:
    """Describes a 0-d array as one dimension, which repeats the element."""
    element.c.ndim = 1
    element.c.shape = element.sizes
    element.c.strides = element.sizes + 1
    element.sizes[0], element.sizes[1] = count, 0


complete_docstring(bincount)
complete_docstring(scatter)
