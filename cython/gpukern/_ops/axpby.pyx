# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""axpby: the Python function."""

from gpukern._interop.argument cimport describe_output
from gpukern._ops.scaled_sum cimport ScaledSum, add_operand, compute_sum
from gpukern._streams.call cimport Argument, CallContext, begin_call

from gpukern._ops.docstrings import complete_docstring


def axpby(a, x, b, y, *, out=None, rounding=None, seed=None, device=None, stream=None,
          progress=None, device_memory=None):
    """Computes ``a * x + b * y`` of floating-point arrays, whose dtypes may differ.

    Parameters
    ----------
    a, x, b, y : array or number
        Arrays of dtype float16, bfloat16, float32 or float64, as in :func:`saxpy`, which broadcast
        as in NumPy; or numbers, which like 0-d host arrays have no part in the choice of the dtype.
    out : array, optional
        Written to and returned; of any of these dtypes, and of a shape to which the others
        broadcast. May be an input, and may overlap them in any way.
    {rounding}
    {call_options}

    Returns
    -------
    array
        `out`, or a new array of the kind of the first operand, in the order `x`, `a`, `y`, `b`, of
        the widest dtype; of float16 and bfloat16, that is float32. The layout is as in
        :func:`saxpy`.

    Raises
    ------
    TypeError
        For an unsupported dtype, and a complex number.
    ValueError
        For shapes that do not broadcast, devices that differ, and an unknown rounding.

    Notes
    -----
    The arithmetic is in float64 if an array has that dtype, else in float32:
    ``fma(a, x, b * y)``, where ``b * y`` is rounded, and then the sum. The result is then rounded
    to the dtype of the output. The CPU and every GPU give the same bits. On a GPU the call only
    enqueues its work.

    Examples
    --------
    >>> axpby(0.5, np.float32([2, 4]), 2, np.float32([1, 1]))
    array([3., 4.], dtype=float32)
    """
    cdef CallContext call
    cdef ScaledSum terms
    cdef Argument dst
    begin_call(&call, "axpby", device, stream, progress, device_memory)
    terms.count = 0
    add_operand(&call, &terms, a, "a")
    add_operand(&call, &terms, x, "x")
    add_operand(&call, &terms, b, "b")
    add_operand(&call, &terms, y, "y")
    if out is not None:
        describe_output(&call, out, "out", &dst, temporary=True)
    return compute_sum(&call, &terms, out, &dst, rounding, seed)


complete_docstring(axpby)
