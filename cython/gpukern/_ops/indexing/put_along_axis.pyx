# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""put_along_axis: the Python function."""

from gpukern._capi cimport gpukern_put_along_axis
from gpukern._ops.indexing.indexed_write cimport IndexedWrite, new_indexed_write

from gpukern._ops.docstrings import complete_docstring


def put_along_axis(target, index, values, axis=-1, *, mode="raise", reduce=None, order="fixed",
                   unique=False, out=None, device=None, stream=None, progress=None,
                   device_memory=None):
    """Writes a value for each index along an axis, as :func:`numpy.put_along_axis`:
    ``target[a, index[a, i, b], b] = values[a, i, b]``; or combines them with these elements.

    Arrays are accepted as in :func:`gather`. Unlike NumPy's function, it returns the target.

    Parameters
    ----------
    target : array
        Written to and returned; see :func:`scatter`.
    index : array of an integer dtype
        Of as many dimensions as the target. Target and index broadcast against each other outside
        the axis, along which they may have any lengths.
    values : array or scalar
        As in :func:`scatter`; the shape broadcasts to ``index.shape[axis]`` along the axis, and to
        the broadcast shape of target and index elsewhere.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened target by an index of one dimension.
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
        mode, for values to write to an empty axis.
    AxisError, TypeError, ValueError
        For invalid arguments.

    Notes
    -----
    Where arguments overlap, the result is that of separate memory. On a GPU the call enqueues its
    work; mode 'raise' also waits for the stream.
    """
    return PUT_ALONG_AXIS.run(target, index, values, axis, mode, reduce, order, unique, out, device,
                              stream, progress, device_memory)


cdef IndexedWrite PUT_ALONG_AXIS = new_indexed_write("put_along_axis", gpukern_put_along_axis)

complete_docstring(put_along_axis)
