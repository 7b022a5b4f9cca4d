# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""gather and take: the Python functions."""

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport gpukern_gather, gpukern_tensor
from gpukern._ops.indexing.indexed_read cimport (
    IndexedRead, is_distributed, new_indexed_read, sizes_with,
)

import numpy as np

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernValueError


def gather(source, index, *, axis=0, mode="raise", fill_value=0, out=None, device=None,
           stream=None, progress=None, device_memory=None):
    """Takes items of an array along an axis, ``out[a, i, b] = source[a, index[i], b]``, or along
    several: ``gather(source, (i, j))`` is ``source[i, j]``.

    Parameters
    ----------
    source : array
        Of any fixed-width dtype. A host array: a NumPy array, an object that exports the buffer
        protocol, or a list. A device array: a DeviceArray, or an object with ``__dlpack__`` or
        ``__cuda_array_interface__``. With an index on a GPU, also a host array in pinned memory
        (:func:`pinned_empty`, or pinned by another library), which the GPU reads in place; CPU
        threads gather a share of large calls.
    index : array of an integer dtype, int, or tuple of them
        Any shape. With a device source, an array on the host is copied to the device. The elements
        of a tuple index consecutive axes from `axis` on, and broadcast against each other; their
        common shape replaces these axes.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened source.
    {mode}
    fill_value : scalar or array
        For mode 'fill'; other modes ignore it. Converts to the source's dtype by NumPy's rule
        'same_kind'. The shape of an array is a suffix of the shape of an item. The default 0 fills
        with zero bytes for every dtype.
    out : array, optional
        Written to and returned: of the source's dtype, and of shape
        ``source.shape[:axis] + index.shape + source.shape[axis+1:]``. May overlap the inputs.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the library of the source, or of the index if that is
        on a GPU and the source is not. As in :func:`numpy.take`, a 0-d result of NumPy arrays is a
        scalar, and subclasses of ndarray are preserved.

    Raises
    ------
    IndexError
        In mode 'raise', naming the first bad index; `out` is unchanged then. In every mode, for an
        index into an empty axis, for a Python int that no integer dtype holds, and for a tuple
        whose elements do not broadcast or are more than the axes.
    AxisError, TypeError, ValueError
        For invalid arguments.

    Notes
    -----
    On a GPU the call enqueues its work; mode 'raise' also waits for the stream, except for an int.
    Ctrl-C stops long calls on host arrays between the parts of their work.
    """
    return GATHER.run(source, index, axis, mode, fill_value, out, device, stream, progress,
                      device_memory)


def take(a, indices, axis=None, out=None, mode="raise", *, device=None, stream=None, progress=None,
         device_memory=None):
    """Takes elements of an array along an axis, with the parameters of :func:`numpy.take`.

    It is :func:`gather` with another default: ``axis=None`` takes from the flattened array. Arrays,
    results and errors, whose messages name :func:`gather`, are as described there.

    Parameters
    ----------
    a : array
        The source.
    indices : array of an integer dtype, or int
        Any shape.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened source.
    out : array, optional
        Written to and returned: of the dtype of `a`, to which NumPy would convert. Unchanged if
        mode 'raise' raises.
    mode : {'raise', 'wrap', 'clip'}
        What to do with an index outside [0, n), as in :func:`gather`.
    {call_options}

    Returns
    -------
    array
        `out`, or a new array; a scalar for a 0-d result of NumPy arrays.
    """
    if isinstance(indices, tuple):  # a sequence, as in NumPy
        indices = list(indices)
    if not isinstance(mode, str) or mode not in ("raise", "wrap", "clip"):
        error = GpukernValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
        if is_distributed(a):
            a._refuse("take", mode, error)
        raise error
    return GATHER.run(a, indices, axis, mode, 0, out, device, stream, progress, device_memory)


cdef int result_sizes(const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
                      int axes, int64_t *sizes) noexcept:
    return sizes_with(source, axis, axes, index.shape, index.ndim, sizes)


cdef IndexedRead GATHER = new_indexed_read("gather", gpukern_gather, result_sizes, np.take)

complete_docstring(gather)
complete_docstring(take)
