# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""count_nonzero: the Python function, and what nonzero and compress share with it."""

from libc.stdint cimport int64_t

from gpukern._capi cimport GPUKERN_FLOAT, GPUKERN_OPAQUE, gpukern_count_nonzero, gpukern_tensor
from gpukern._interop.argument cimport describe_operand, dtype_of
from gpukern._runtime.runtime cimport shown
from gpukern._streams.call cimport Argument, CallContext, begin_call, end_call, finish, start, what

import operator

import numpy as np

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError


def count_nonzero(mask, *, device=None, stream=None, device_memory=None):
    """Counts the nonzero elements of an array, as :func:`numpy.count_nonzero`.

    Parameters
    ----------
    mask : array
        Any shape; arrays are accepted as in :func:`gather`. Of dtype bool, an integer, float16,
        bfloat16, float32, float64, complex64 or complex128. -0.0 is zero and NaN is not.
    {whole_call_options}

    Returns
    -------
    int
        The number; on a GPU the call waits for the stream.

    Raises
    ------
    TypeError
        For a mask of another dtype.
    ValueError
        While the stream is captured into a CUDA graph, and for other invalid arguments.
    """
    cdef CallContext call
    cdef Argument msk
    cdef int64_t count
    begin_call(&call, "count_nonzero", device, stream, None, device_memory)
    describe_mask(&call, mask, &msk)
    count = counted(&call, &msk, &msk.c)
    return end_call(&call, count, &msk)


cdef int describe_mask(CallContext *call, object mask, Argument *msk) except -1:
    describe_operand(call, mask, "mask", msk)
    # The C side sees no more than the size of an opaque dtype, and would refuse a long double and a
    # vector in the name of count_nonzero.
    cdef bint is_long = msk.c.dtype.code == GPUKERN_FLOAT and msk.c.dtype.bits > 64
    if msk.c.dtype.code == GPUKERN_OPAQUE or is_long or msk.c.dtype.lanes != 1:
        raise GpukernTypeError(
            f"{what(call, msk)} must be bool, an integer, float16, bfloat16, float32, float64, "
            f"complex64 or complex128, got {dtype_of(msk)}")
    return 0


cdef int64_t counted(CallContext *call, const Argument *msk, const gpukern_tensor *part) except -1:
    """Counts the nonzero elements of a part of the mask."""
    cdef int64_t count = 0
    start(call, msk)
    finish(call, gpukern_count_nonzero(part, &count, &call.c))
    return count


cdef int64_t as_size(const CallContext *call, object size) except -1:
    cdef int64_t number = as_int64(call, size, "size")
    if not 0 <= number < <int64_t>1 << 60:
        raise GpukernValueError(
            f"{<object>call.function}: size must be in [0, 2**60), got {number}")
    return number


cdef int require_no_fill_value(str function, object size, object fill_value) except -1:
    """Refuses a fill value without a size, which would be ignored; but for the default."""
    if size is None and not (type(fill_value) is int and fill_value == 0):
        raise GpukernValueError(f"{function}: fill_value must be left out without size")
    return 0


cdef int64_t as_int64(const CallContext *call, object number, str name) except? -1:
    if type(number) is int and -2**63 <= number < 2**63:
        return number
    try:
        if isinstance(number, (bool, np.bool)):
            raise TypeError
        return operator.index(number)
    except TypeError:
        raise GpukernTypeError(f"{<object>call.function}: {name} must be an int, "
                               f"got {type(number).__name__}") from None
    except OverflowError:
        raise GpukernOverflowError(
            f"{<object>call.function}: {name} must fit in int64, got {shown(number)}") from None


complete_docstring(count_nonzero)
