# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""scatter: the Python function."""

from gpukern._capi cimport gpukern_scatter
from gpukern._ops.indexed_write cimport IndexedWrite, new_indexed_write

from gpukern._ops.docstrings import complete_docstring


def scatter(target, index, values, *, axis=0, mode="raise", reduce=None, order="fixed",
            unique=False, out=None, device=None, stream=None, device_memory=None):
    """Writes values to the elements of an array along an axis,
    ``target[a, index[i], b] = values[a, i, b]``, or combines them with these elements.

    Arrays are accepted as in :func:`gather`.

    Parameters
    ----------
    target : array
        Written to and returned, unless `out` is given or it is a JAX array, which cannot be written
        to. Of any fixed-width dtype; `reduce` takes integers, float16, bfloat16, float32, float64,
        complex64 and complex128. NumPy's masked arrays, and subclasses of ndarray that override
        ``__array_ufunc__``, are refused.
    index : array of an integer dtype, or int
        Any shape. With a device target, a host index is copied to the device.
    values : array or scalar
        An array of the target's dtype, whose shape broadcasts to
        ``target.shape[:axis] + index.shape + target.shape[axis+1:]``. A scalar, a list or another
        sequence converts to the target's dtype by NumPy's rule 'same_kind'. With a device target,
        values on the host are copied to the device.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened target.
    {write_options}
    out : array, optional
        Of the target's shape and dtype. Gets a copy of the target with the values written, and is
        returned; the target is unchanged. May overlap the inputs.
    {write_call_options}

    Returns
    -------
    array
        `out` or `target`; a new array for a target of JAX without `out`.

    Raises
    ------
    IndexError
        In mode 'raise', naming the first bad index; target and `out` are unchanged then. In every
        mode, for values to write to an empty axis.
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
                       stream, device_memory)


cdef IndexedWrite SCATTER = new_indexed_write("scatter", gpukern_scatter)

complete_docstring(scatter)
