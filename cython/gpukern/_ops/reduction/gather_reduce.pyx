# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""gather_reduce: the Python function."""

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport (
    GPUKERN_MAX_NDIM, GPUKERN_OPAQUE, GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MAX, GPUKERN_REDUCE_MEAN,
    GPUKERN_REDUCE_MIN, gpukern_gather_reduce, gpukern_gather_reduce_options,
    gpukern_segment_reduce, gpukern_status, gpukern_tensor,
)
from gpukern._interop.argument cimport describe_operand, describe_output, dtype_of, refuse_masked
from gpukern._interop.result cimport new_result
from gpukern._ops.indexing.index_argument cimport describe_index
from gpukern._ops.indexing.indexed_read cimport as_axis, as_mode, require_same_dtype, sizes_with
from gpukern._ops.indexing.indexed_write cimport describe_values, largest, one_of
from gpukern._streams.call cimport Argument, CallContext, begin_call, end_call, finish, start, what

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernTypeError

cdef dict REDUCTIONS = {
    "sum": GPUKERN_REDUCE_ADD,
    "mean": GPUKERN_REDUCE_MEAN,
    "min": GPUKERN_REDUCE_MIN,
    "max": GPUKERN_REDUCE_MAX,
}


def gather_reduce(source, index, offsets, *, reduce="sum", weights=None, axis=0, mode="raise",
                  out=None, device=None, stream=None, progress=None, device_memory=None):
    """Reduces bags of items that an index takes from an array, as ``torch.nn.EmbeddingBag``:
    ``out[b] = source[index[offsets[b]:offsets[b + 1]]].sum(axis=0)``, without the gathered array.

    Arrays are accepted as in :func:`gather`.

    Parameters
    ----------
    source : array
        Of a dtype that the reduction takes: integers, float16, bfloat16, float32, float64,
        complex64 or complex128.
    index : array of an integer dtype
        Of one dimension. With a device source, a host index is copied to the device.
    offsets : array of an integer dtype
        Of one dimension, one more than there are bags: they begin in [0, len(index)] and do not
        fall. Items before the first offset and from the last one on are in no bag.
    {bag_reduce}
    weights : array, optional
        Of the source's dtype and the index's shape, for 'sum': each item is multiplied by its
        weight before it is added. A list converts to the dtype.
    axis : int or None
        Of the source, in [-ndim, ndim); None indexes the flattened source.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        What to do with an index outside [0, n), as in :func:`gather`; 'fill' leaves the item out of
        its bag. In modes other than 'raise', offsets are not checked but clipped to
        [0, len(index)], and a bag that ends before it begins has no items.
    out : array, optional
        Written to and returned: of the source's dtype, and of shape
        ``source.shape[:axis] + (len(offsets) - 1,) + source.shape[axis+1:]``. May overlap the
        inputs.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the library of the source.

    Raises
    ------
    ValueError
        In mode 'raise', for offsets that fall or are out of range, naming the first; and for other
        invalid arguments.
    IndexError
        In mode 'raise', naming the first bad index, also outside of all bags; in every mode, for an
        index into an empty axis. `out` is unchanged by errors.
    AxisError, TypeError
        For invalid arguments.

    Notes
    -----
    The items of a bag are combined in blocks of 256, from left to right, and the blocks by a fixed
    tree: the result has the same bits on every device and with any number of threads. On a GPU the
    call enqueues its work; mode 'raise' also waits for the stream.

    Examples
    --------
    >>> gather_reduce(np.array([1.0, 2.0, 4.0]), [0, 2, 2, 1], [0, 3, 3, 4])
    array([9., 0., 2.])
    """
    return reduce_items("gather_reduce", source, True, index, offsets, reduce, weights, axis, mode,
                        out, device, stream, progress, device_memory)


cdef object reduce_items(str function, object source, bint has_index, object index, object offsets,
                         object reduce, object weights, object axis, object mode, object out,
                         object device, object stream, object progress,
                         object device_memory):
    cdef CallContext call
    cdef Argument src, idx, bounds, factors, dst
    cdef const Argument *biggest = &src
    cdef const gpukern_tensor *c_weights = NULL
    cdef gpukern_gather_reduce_options options
    cdef gpukern_status status
    cdef int32_t c_axis
    cdef int64_t[GPUKERN_MAX_NDIM + 1] sizes
    cdef int ndim
    begin_call(&call, function, device, stream, progress, device_memory)
    options.struct_size = sizeof(gpukern_gather_reduce_options)
    options.mode = as_mode(&call, mode) if has_index else as_mode(&call, mode, ("raise", "clip"))
    options.reduce = one_of(&call, REDUCTIONS, reduce, "reduce", "'sum', 'mean', 'min' or 'max'")
    describe_operand(&call, source, "source" if has_index else "x", &src)
    if src.c.dtype.code == GPUKERN_OPAQUE:
        raise GpukernTypeError(f"{what(&call, &src)} must be of a dtype that reduce {reduce!r} "
                               f"takes, got {dtype_of(&src)}")
    if has_index:
        describe_index(&call, index, &src, &idx)
        refuse_masked(&call, &idx)
        biggest = largest(biggest, &idx)
    describe_index(&call, offsets, &src, &bounds, "offsets")
    refuse_masked(&call, &bounds)
    if weights is not None:
        describe_values(&call, weights, &src, &factors, "weights")
        c_weights = &factors.c
    c_axis = as_axis(&call, axis, src.c.ndim)
    if out is None:
        ndim = reduced_sizes(&src.c, &bounds.c, c_axis, sizes)
        result = new_result(&call, &src, None, ndim, sizes, &dst)
    else:
        result = out
        describe_output(&call, out, "out", &dst, temporary=True)
        require_same_dtype(&call, &src, &dst)
    start(&call, largest(biggest, &dst))
    if has_index:
        status = gpukern_gather_reduce(&src.c, &idx.c, &bounds.c, c_weights, c_axis, &dst.c,
                                       &options, &call.c)
    else:
        status = gpukern_segment_reduce(&src.c, &bounds.c, c_axis, &dst.c, &options, &call.c)
    finish(&call, status)
    return end_call(&call, result, &dst)


cdef int reduced_sizes(const gpukern_tensor *source, const gpukern_tensor *offsets, int32_t axis,
                       int64_t *sizes) noexcept:
    """Fills in the result's shape and returns its ndim; any shape for an axis or offsets that the
    C side refuses."""
    cdef bint good = offsets.ndim == 1 and offsets.shape[0] > 0
    cdef int64_t bags = offsets.shape[0] - 1 if good else 0
    return sizes_with(source, axis, 1, &bags, 1, sizes)


complete_docstring(gather_reduce)
