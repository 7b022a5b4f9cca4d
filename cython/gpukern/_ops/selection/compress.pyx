# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""compress: the Python function."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_AXIS_NONE, GPUKERN_INDEX_FILL, GPUKERN_MAX_NDIM, GPUKERN_OPAQUE, gpukern_compress,
    gpukern_select_options, gpukern_tensor,
)
from gpukern._interop.argument cimport describe, describe_output, dtype_of, shape_of
from gpukern._interop.dtype cimport require_plain
from gpukern._interop.result cimport new_result
from gpukern._ops.indexing.index_argument cimport copy_to_gpu_of, describe_own
from gpukern._ops.indexing.indexed_read cimport (
    Work, as_axis, axis_length, flat, is_distributed, is_special, is_subclass, prepare_work,
    require_same_dtype, sizes_with,
)
from gpukern._ops.indexing.indexed_write cimport largest
from gpukern._ops.selection.count_nonzero cimport (
    as_size, counted, describe_mask, require_no_fill_value,
)
from gpukern._streams.call cimport Argument, CallContext, begin_call, end_call, finish, start, what

from gpukern._interop import numpy_subclasses
from gpukern._ops.docstrings import complete_docstring
from gpukern._ops.indexing.gather import gather
from gpukern._ops.selection.nonzero import nonzero
from gpukern.errors import GpukernIndexError, GpukernValueError


def compress(mask, x, axis=None, *, size=None, fill_value=0, out=None, device=None, stream=None,
             progress=None, device_memory=None):
    """Takes the items of an array along an axis for which a mask is not zero, as
    :func:`numpy.compress`; without an axis also ``x[mask]``.

    Parameters
    ----------
    mask : array
        Of one dimension, or for ``axis=None`` also of the shape of `x`. Of a dtype that
        :func:`nonzero` takes. It may be shorter than the axis. With a device `x`, a mask on the
        host is copied to the device.
    x : array
        Of any fixed-width dtype; arrays are accepted as in :func:`gather`.
    axis : int or None
        In [-ndim, ndim); None selects elements of the flattened `x`.
    size : int, optional
        The number of items to return: the first ones that the mask selects, and `fill_value` if
        there are fewer. By default the nonzero elements of the mask are counted first.
    fill_value : scalar or array
        For `size`; without it, only the default 0. Converts to the dtype of `x` by NumPy's rule
        'same_kind'. The shape of an array is a suffix of the shape of an item. 0 fills with zero
        bytes.
    out : array, optional
        Written to and returned: of the dtype of `x`, and of shape
        ``x.shape[:axis] + (size,) + x.shape[axis+1:]``. May overlap the inputs. Without `size`, its
        length must be the number of selected items, which are counted.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the library of `x`. Subclasses of ndarray are
        preserved.

    Raises
    ------
    IndexError
        Without `size`, if the mask is not zero beyond the axis. With `size`, that part of the mask
        is not read.
    AxisError, TypeError
        For invalid arguments.
    ValueError
        For other invalid arguments. Without `size`, while the stream is captured into a CUDA graph.

    Notes
    -----
    On a GPU, the call waits for the stream to count; with `size` it only enqueues its work.

    Examples
    --------
    >>> compress([True, False, True], np.array([[1, 2], [3, 4], [5, 6]]), axis=0)
    array([[1, 2],
           [5, 6]])
    >>> compress([True, False, True], np.array([1, 2, 3]), size=3, fill_value=-1)
    array([ 1,  3, -1])
    """
    cdef CallContext call
    cdef Argument src, msk, flat_mask, dst
    cdef Work work
    cdef gpukern_select_options options
    cdef int64_t[GPUKERN_MAX_NDIM + 1] sizes
    cdef int64_t count
    cdef int ndim
    cdef object result
    require_no_fill_value("compress", size, fill_value)
    if is_special(x) and not is_distributed(x):
        return by_positions(mask, x, axis, size, fill_value, out, device, stream, progress,
                            device_memory)
    begin_call(&call, "compress", device, stream, progress, device_memory)
    work.options.mode = GPUKERN_INDEX_FILL
    describe(&call, x, "x", &src)
    if src.c.dtype.code == GPUKERN_OPAQUE:
        require_plain(dtype_of(&src), what(&call, &src))
    describe_mask(&call, mask, &msk)
    copy_to_gpu_of(&call, &src, &msk)
    work.axis = as_axis(&call, axis, src.c.ndim)
    if size is not None:
        count = as_size(&call, size)
    elif work.axis == GPUKERN_AXIS_NONE or has_axis(&src.c, work.axis):
        count = counted_in_bounds(&call, &msk, axis_length(&src.c, work.axis))
    else:
        count = 0  # the C side refuses the axis
    ndim = sizes_with(&src.c, work.axis, 1, &count, 1, sizes)
    if out is None:
        result = new_result(&call, &src, None, ndim, sizes, &dst)
    else:
        result = out
        describe_output(&call, out, "out", &dst)
        require_same_dtype(&call, &src, &dst)
        if size is not None or call.c.explanation == NULL:
            require_length(&call, &dst, ndim, sizes)
    prepare_work(&call, &work, False, fill_value, &src, &msk, &dst)
    if work.axis != GPUKERN_AXIS_NONE and axis is None and msk.c.ndim != 1:
        # x has become flat, so that its bytes can be moved.
        require_shape_of_x(&call, &msk, axis, shape_of(&src.c))
        if not msk.host:
            raise GpukernValueError(f"{what(&call, &msk)} must be on cpu like x, "
                                    f"got cuda:{msk.c.device.device_id}")
        describe_own(&call, flat(&call, &msk), "mask", &flat_mask)
        work.index = &flat_mask.c
    options.struct_size = sizeof(gpukern_select_options)
    options.fill_value = work.options.fill_value
    start(&call, largest(largest(&src, &msk), &dst))
    finish(&call, gpukern_compress(work.index, work.source, work.axis, work.out, &options,
                                   &call.c))
    if is_subclass(&src) and out is None and dst.host and call.c.explanation == NULL:
        end_call(&call, result, &dst)
        return numpy_subclasses.like(x, result)
    return end_call(&call, result, &dst)


cdef bint has_axis(const gpukern_tensor *x, int axis) noexcept:
    cdef int ndim = max(x.ndim, 1)
    return -ndim <= axis < ndim


cdef int64_t counted_in_bounds(CallContext *call, const Argument *msk, int64_t n) except? -1:
    """Counts the nonzero elements of a mask, none of which may be beyond an axis of length `n`."""
    cdef gpukern_tensor part = msk.c
    cdef int64_t length, step
    if msk.c.ndim != 1 or msk.c.shape[0] <= n:
        return counted(call, msk, &msk.c)
    length = msk.c.shape[0] - n
    # Of one element it may be any number.
    step = <int64_t>(<uint64_t>(1 if msk.c.strides == NULL else msk.c.strides[0])
                     * <uint64_t>msk.itemsize)
    part.shape = &length
    part.data = <char *>msk.c.data + n * step
    if counted(call, msk, &part) > 0 and call.c.explanation == NULL:
        raise GpukernIndexError(f"{what(call, msk)} must be zero beyond the {n} items of x")
    length = n
    part.data = msk.c.data
    return counted(call, msk, &part)


cdef object by_positions(object mask, cnp.ndarray x, object axis, object size, object fill_value,
                         object out, object device, object stream, object progress,
                         object device_memory):
    """By gather, which knows references and masked arrays."""
    cdef CallContext call
    cdef Argument msk
    cdef gpukern_tensor like
    cdef int64_t[GPUKERN_MAX_NDIM] sizes  # a copy: to read the mask may reshape x
    cdef str mode = "fill"
    begin_call(&call, "compress", device, stream, None, device_memory)
    like.ndim, like.shape = cnp.PyArray_NDIM(x), sizes
    memcpy(sizes, cnp.PyArray_DIMS(x), like.ndim * sizeof(int64_t))
    c_axis = as_axis(&call, axis, like.ndim)
    describe_mask(&call, mask, &msk)
    if msk.c.ndim != 1:
        require_shape_of_x(&call, &msk, axis, shape_of(&like))
        mask = flat(&call, &msk)
    if size is None:
        mode, size = "raise", counted_in_bounds(&call, &msk, axis_length(&like, c_axis))
    end_call(&call, None, &msk)
    positions = nonzero(mask, size=size, fill_value=-2**63, device=device, stream=stream,
                        device_memory=device_memory)[0]
    return gather(x, positions, axis=axis, mode=mode, fill_value=fill_value, out=out, device=device,
                  stream=stream, progress=progress, device_memory=device_memory)


cdef int require_shape_of_x(CallContext *call, const Argument *msk, object axis,
                            tuple shape) except -1:
    """Raises unless a mask, not of one dimension, has the shape of the flattened x."""
    if axis is not None:
        raise GpukernValueError(f"{what(call, msk)} must have one dimension if an axis is given, "
                                f"got shape {shape_of(&msk.c)}")
    if shape_of(&msk.c) != shape:
        raise GpukernValueError(
            f"{what(call, msk)} must have one dimension, or without an axis the shape of x, "
            f"{shape}, got {shape_of(&msk.c)}")
    return 0


cdef int require_length(CallContext *call, const Argument *dst, int ndim,
                        const int64_t *sizes) except -1:
    """The C side takes the number of items from the output."""
    wanted = tuple([sizes[d] for d in range(ndim)])
    if shape_of(&dst.c) != wanted:
        raise GpukernValueError(
            f"{what(call, dst)} must have shape {wanted}, got {shape_of(&dst.c)}")
    return 0


complete_docstring(compress)
