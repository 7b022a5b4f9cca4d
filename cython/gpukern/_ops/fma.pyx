# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""fma: the Python function."""

from gpukern._interop.argument cimport describe_output
from gpukern._ops.scaled_sum cimport ScaledSum, add_operand, compute_sum
from gpukern._streams.call cimport Argument, CallContext, begin_call

from gpukern._ops.docstrings import complete_docstring


def fma(x, y, z, *, out=None, rounding=None, seed=None, device=None, stream=None, progress=None,
        device_memory=None):
    """Computes ``x * y + z`` with one rounding: a fused multiply-add of floating-point arrays.

    Parameters
    ----------
    x, y, z : array or number
        As in :func:`axpby`.
    out : array, optional
        As in :func:`axpby`.
    {rounding}
    {call_options}

    Returns
    -------
    array
        As in :func:`axpby`; the order is `y`, `x`, `z`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`axpby`.

    Notes
    -----
    Computed in float64 if an array has that dtype, else in float32, with one rounding, also on CPUs
    without such an instruction; then rounded to the dtype of the output. The CPU and every GPU give
    the same bits. On a GPU the call only enqueues its work.

    Examples
    --------
    >>> fma(np.float32([1, 2]), np.float32([[3], [4]]), 0.5)
    array([[3.5, 6.5],
           [4.5, 8.5]], dtype=float32)
    """
    cdef CallContext call
    cdef ScaledSum terms
    cdef Argument dst
    begin_call(&call, "fma", device, stream, progress, device_memory)
    terms.count = 0
    add_operand(&call, &terms, x, "x")
    add_operand(&call, &terms, y, "y")
    add_operand(&call, &terms, z, "z")
    if out is not None:
        describe_output(&call, out, "out", &dst, temporary=True)
    return compute_sum(&call, &terms, out, &dst, rounding, seed)


complete_docstring(fma)
