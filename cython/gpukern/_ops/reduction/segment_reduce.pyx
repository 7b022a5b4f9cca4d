# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""segment_reduce: the Python function."""

from gpukern._ops.reduction.gather_reduce cimport reduce_items

from gpukern._ops.docstrings import complete_docstring


def segment_reduce(x, offsets, reduce="sum", *, axis=0, mode="raise", out=None, device=None,
                   stream=None, progress=None, device_memory=None):
    """Reduces segments of an array: ``out[s] = x[offsets[s]:offsets[s + 1]].sum(axis=0)``.

    It is :func:`gather_reduce` with the index 0, 1, 2, ...: the same dtypes, order and bits. Arrays
    are accepted as in :func:`gather`. Unlike in :func:`numpy.add.reduceat`, the offsets include the
    end of the last segment, and an empty segment gives 0.

    Parameters
    ----------
    x : array
        Of a dtype that the reduction takes; see :func:`gather_reduce`.
    offsets : array of an integer dtype
        Of one dimension, one more than there are segments: they begin in [0, n] and do not fall.
    {bag_reduce}
    axis : int or None
        In [-ndim, ndim); None reduces segments of the flattened array.
    mode : {'raise', 'clip'}
        What to do with offsets that fall or are out of range. 'raise': a ValueError. 'clip': they
        are clipped to [0, n], and a segment that ends before it begins has no items.
    out : array, optional
        Written to and returned: of the dtype of `x`, and of shape
        ``x.shape[:axis] + (len(offsets) - 1,) + x.shape[axis+1:]``. May overlap the inputs.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the library of `x`.

    Raises
    ------
    ValueError
        In mode 'raise', for offsets that fall or are out of range, naming the first; `out` is
        unchanged then. For other invalid arguments.
    AxisError, TypeError
        For invalid arguments.

    Notes
    -----
    On a GPU the call enqueues its work; mode 'raise' also waits for the stream.

    Examples
    --------
    >>> segment_reduce(np.arange(6), [0, 2, 2, 6])
    array([ 1,  0, 14])
    """
    return reduce_items("segment_reduce", x, False, None, offsets, reduce, None, axis, mode, out,
                        device, stream, progress, device_memory)


complete_docstring(segment_reduce)
