# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""saxpy: the Python function."""

from gpukern._capi cimport GPUKERN_OPAQUE, gpukern_saxpy
from gpukern._interop.argument cimport describe_operand, describe_output, dtype_of
from gpukern._interop.result cimport new_result_of
from gpukern._interop.scalar cimport store_scalar
from gpukern._ops.indexing.indexed_read cimport is_distributed
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, start, what,
)

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernTypeError


def saxpy(a, x, y, *, out=None, device=None, stream=None, progress=None, device_memory=None):
    """Computes ``a * x + y`` with one rounding: a fused multiply-add.

    Parameters
    ----------
    a : scalar
        A Python or NumPy number, or a 0-d host array, that converts to the dtype of `x` without
        changing kind: an int to a float, but no float to an int and no complex to a float.
    x, y : array
        Of one shape and one dtype: float16, bfloat16, float32, float64, complex64, complex128,
        int32 or int64. Host arrays: NumPy arrays, objects that export the buffer protocol, lists.
        Device arrays: a DeviceArray, or an object with ``__dlpack__`` or
        ``__cuda_array_interface__``.
    out : array, optional
        Written to and returned; of the same shape and dtype. May be `x` or `y`, and may overlap
        them in any way.
    {call_options}

    Returns
    -------
    array
        `out`, or a new array of the kind of `x`; a scalar if that is a 0-d ndarray. NumPy, PyTorch
        and CuPy arrays have the layout that NumPy gives ``x + y`` (order 'K'); others, and results
        of arrays that are converted first, such as byte-swapped ones, are C-contiguous.

    Raises
    ------
    TypeError
        For an unsupported dtype, and an `a` that would change kind.
    OverflowError
        For an int too large for the dtype, or for a float64 if that is a float type; between the
        two, a narrower float type gets an infinity, as in NumPy.
    ValueError
        For shapes or devices that differ.

    Notes
    -----
    Real types give ``fma(a, x, y)``, correctly rounded; the 16-bit types are computed in float32
    and then rounded. Complex types use an fma for each product. Integers wrap around. The CPU and
    every GPU give the same bits. On a GPU the call only enqueues its work. Ctrl-C stops long calls
    on host arrays between the parts of their work.
    """
    cdef CallContext call
    cdef Argument xs, ys, dst
    cdef object result
    cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
    if is_distributed(x) or is_distributed(y):
        return (x if is_distributed(x) else y)._saxpy(
            a, x, y, out, device=device, stream=stream, progress=progress,
            device_memory=device_memory)
    begin_call(&call, "saxpy", device, stream, progress, device_memory)
    describe_numbers(&call, x, "x", &xs)
    describe_numbers(&call, y, "y", &ys)
    if out is None:
        result = new_result_of(&call, &xs, &ys, &dst)
    else:
        result = out
        describe_output(&call, out, "out", &dst, temporary=True)
    a_bytes[0] = a_bytes[1] = 0
    store_scalar(a, xs.c.dtype, a_bytes)
    start(&call, &dst)
    finish(&call, gpukern_saxpy(a_bytes, &xs.c, &ys.c, &dst.c, &call.c))
    return end_call(&call, result, &dst)


cdef int describe_numbers(CallContext *call, object array, str name, Argument *argument) except -1:
    describe_operand(call, array, name, argument)
    if argument.c.dtype.code == GPUKERN_OPAQUE:
        raise GpukernTypeError(f"{what(call, argument)} must be of a dtype that saxpy computes "
                               f"with, got {dtype_of(argument)}")
    return 0


complete_docstring(saxpy)
