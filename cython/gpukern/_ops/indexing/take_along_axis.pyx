# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""take_along_axis: the Python function."""

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport GPUKERN_AXIS_NONE, gpukern_take_along_axis, gpukern_tensor
from gpukern._ops.indexing.indexed_read cimport IndexedRead, new_indexed_read

import numpy as np

from gpukern._ops.docstrings import complete_docstring


def take_along_axis(source, index, axis=-1, *, mode="raise", fill_value=0, out=None, device=None,
                    stream=None, progress=None, device_memory=None):
    """Takes an element for each index along an axis, as :func:`numpy.take_along_axis`:
    ``out[a, i, b] = source[a, index[a, i, b], b]``.

    Arrays are accepted as in :func:`gather`.

    Parameters
    ----------
    source : array
        Of any fixed-width dtype.
    index : array of an integer dtype
        Of as many dimensions as the source. Source and index broadcast against each other outside
        the axis, along which they may have any lengths.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened source by an index of one dimension.
    {mode}
    fill_value : scalar or array
        For mode 'fill'; other modes ignore it. Converts to the source's dtype by NumPy's rule
        'same_kind'. An array has a shape that is a suffix of ``source.shape[axis+1:]``, along which
        the index has length 1. The default 0 fills with zero bytes for every dtype.
    out : array, optional
        Written to and returned: of the source's dtype, of shape ``index.shape[axis]`` along the
        axis, and of the broadcast shape of source and index elsewhere. May overlap the inputs.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the kind that :func:`gather` returns.

    Raises
    ------
    IndexError
        In mode 'raise', naming the first bad index, unless the result is empty; `out` is unchanged
        then. In every mode, for an index into an empty axis.
    AxisError, TypeError, ValueError
        For invalid arguments.

    Notes
    -----
    On a GPU the call enqueues its work; mode 'raise' also waits for the stream.
    Ctrl-C stops long calls on host arrays between the parts of their work.
    """
    return TAKE_ALONG_AXIS.run(source, index, axis, mode, fill_value, out, device, stream,
                               progress, device_memory)


cdef int result_sizes(const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
                      int axes, int64_t *sizes) noexcept:
    """Fills in the result's shape and returns its ndim."""
    cdef int d, number = axis + index.ndim if axis < 0 else axis
    for d in range(index.ndim):
        sizes[d] = index.shape[d]
        if axis != GPUKERN_AXIS_NONE and d != number and d < source.ndim and sizes[d] == 1:
            sizes[d] = source.shape[d]
    return index.ndim


cdef IndexedRead TAKE_ALONG_AXIS = new_indexed_read(
    "take_along_axis", gpukern_take_along_axis, result_sizes, np.take_along_axis, aligned=True)

complete_docstring(take_along_axis)
