# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""saxpy: the Python function, and what saxpy_many shares with it."""

cimport numpy as cnp

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_OPAQUE, gpukern_saxpy,
    gpukern_tensor,
)
from gpukern._elementwise.loop_plan cimport Broadcast, broadcast_all
from gpukern._interop.argument cimport (
    count_of, describe_operand, describe_output, dtype_of, new_ndarray, same_shape, shape_of,
)
from gpukern._interop.result cimport new_result_of
from gpukern._interop.scalar cimport is_number, store_scalar
from gpukern._ops.indexing.index_argument cimport copy_to_gpu_of
from gpukern._ops.indexing.indexed_read cimport is_distributed
from gpukern._ops.scaled_sum cimport (
    ScaledSum, add_operand, add_term, compute_sum, require_shape, rounds_to_nearest,
)
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, keep, name_of, start, what,
)

import numpy as np

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernTypeError, GpukernValueError


def saxpy(a, x, y, *, out=None, rounding=None, seed=None, device=None, stream=None, progress=None,
          device_memory=None):
    """Computes ``a * x + y`` with one rounding: a fused multiply-add.

    Parameters
    ----------
    a : scalar or array
        A Python or NumPy number, or a 0-d host array, that converts to the dtype of `x` without
        changing kind: an int to a float, but no float to an int and no complex to a float. For
        floating-point dtypes also an array, such as a 0-d array on a GPU, or a factor for each row.
    x, y : array
        Of one dtype: float16, bfloat16, float32, float64, complex64, complex128, int32 or int64; or
        of different floating-point dtypes. One or both may be numbers. They broadcast as in NumPy.
        Host arrays: NumPy arrays, objects that export the buffer protocol, lists. Device arrays: a
        DeviceArray, or an object with ``__dlpack__`` or ``__cuda_array_interface__``.
    out : array, optional
        Written to and returned; of a shape to which the others broadcast, and of the dtype of `x`,
        or any floating-point dtype for one. May be an input, and may overlap them in any way.
    {rounding}
    {call_options}

    Returns
    -------
    array
        `out`, or a new array of the kind of `x`; a scalar if that is a 0-d ndarray. NumPy, PyTorch
        and CuPy arrays have the layout that NumPy gives ``x + y`` (order 'K'); others, and results
        of arrays that are converted first, such as byte-swapped ones, are C-contiguous. Of
        different dtypes, it has the widest one; of float16 and bfloat16, float32.

    Raises
    ------
    TypeError
        For an unsupported dtype, and an `a` that would change kind.
    OverflowError
        For an int too large for the dtype, or for a float64 if that is a float type; between the
        two, a narrower float type gets an infinity, as in NumPy.
    ValueError
        For shapes that do not broadcast, and devices that differ.

    Notes
    -----
    Real types give ``fma(a, x, y)``, correctly rounded; the 16-bit types are computed in float32
    and then rounded. Complex types use an fma for each product. Integers wrap around. Different
    dtypes, and an array `a`, are computed as in :func:`fma`. The CPU and every GPU give the same
    bits. On a GPU the call only enqueues its work. Ctrl-C stops long calls on host arrays between
    the parts of their work.
    """
    return compute_saxpy("saxpy", -1, a, x, y, out, rounding, seed, device, stream, progress,
                         device_memory)


cdef object compute_saxpy(str function, int position, object a, object x, object y, object out,
                          object rounding, object seed, object device, object stream,
                          object progress, object device_memory):
    """`position` is that of the arrays in lists, -1 for none."""
    cdef CallContext call
    cdef Argument xs, ys, dst
    cdef const Argument *like = &xs
    cdef ScaledSum terms
    cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
    cdef bint x_is_number = False, y_is_number = False
    if not (cnp.PyArray_CheckExact(x) and cnp.PyArray_CheckExact(y)):
        if is_distributed(x) or is_distributed(y):
            return (x if is_distributed(x) else y)._saxpy(
                a, x, y, out, rounding=rounding, seed=seed, device=device, stream=stream,
                progress=progress, device_memory=device_memory)
        x_is_number, y_is_number = is_number(x), is_number(y)
    begin_call(&call, function, device, stream, progress, device_memory)
    terms.count = 0
    call.position = position
    xs.host = ys.host = True
    if x_is_number and y_is_number and (is_number(a) or cnp.PyArray_IsZeroDim(a)):
        dtype = dtype_of_sum(&call, x, y)
        describe_as(&call, x, "x", dtype, &xs)
        describe_as(&call, y, "y", dtype, &ys)
        x_is_number = y_is_number = False
    else:
        if not x_is_number:
            describe_numbers(&call, x, "x", &xs)
        if not y_is_number:
            describe_numbers(&call, y, "y", &ys)
    if x_is_number and not y_is_number and not is_real(&ys):
        describe_number(&call, x, "x", &ys, &xs)
        x_is_number, like = False, &ys
    elif y_is_number and not x_is_number and not is_real(&xs):
        describe_number(&call, y, "y", &xs, &ys)
        y_is_number = False
    if out is not None:
        describe_output(&call, out, "out", &dst, temporary=True)
    call.position = -1
    # The value of a 0-d array, of ours and CuPy's also on a GPU, is read for operands on the host.
    if xs.host and ys.host and (is_number(a) or getattr(a, "ndim", None) == 0):
        add_term(&terms, NULL, a, "a")
    else:
        add_operand(&call, &terms, a, "a")
    if (x_is_number or y_is_number or terms.array[0] != NULL
            or not rounds_to_nearest(&call, rounding) or differ(&xs, &ys)
            or out is not None and differ(&xs, &dst) or one_is_on_host(&xs, &ys)):
        add_term(&terms, <Argument *>NULL if x_is_number else &xs, x, "x")
        add_term(&terms, NULL, 1, "b")
        add_term(&terms, <Argument *>NULL if y_is_number else &ys, y, "y")
        return compute_sum(&call, &terms, out, &dst, rounding, seed)
    if seed is not None:
        raise GpukernValueError(f"{function}: seed is for rounding='stochastic'")
    result = result_of(&call, like, &ys if like == &xs else &xs, out, &dst)
    a_bytes[0] = a_bytes[1] = 0
    store_scalar(a, "saxpy: a" if position < 0 else "saxpy_many: a", xs.c.dtype, a_bytes)
    start(&call, &dst)
    finish(&call, gpukern_saxpy(a_bytes, &xs.c, &ys.c, &dst.c, &call.c))
    return end_call(&call, result, &dst)


cdef bint differ(const Argument *x, const Argument *other) noexcept:
    """Whether both are floating-point, of different dtypes: an error is left to the C side."""
    return (x.c.dtype.code != other.c.dtype.code or x.c.dtype.bits != other.c.dtype.bits) and (
        is_real(x) and is_real(other))


cdef bint one_is_on_host(const Argument *x, const Argument *y) noexcept:
    """Whether one, beside an array of a GPU, is a host array of one element."""
    return x.host != y.host and is_real(x) and count_of(&x.c if x.host else &y.c) == 1


cdef bint is_real(const Argument *argument) noexcept:
    return argument.c.dtype.code == GPUKERN_FLOAT or argument.c.dtype.code == GPUKERN_BFLOAT


cdef object result_of(CallContext *call, const Argument *x, const Argument *y, object out,
                      Argument *dst):
    """`out`, whose shape is checked, or a new array."""
    cdef const gpukern_tensor *tensors[2]
    cdef Broadcast shape
    tensors[0], tensors[1] = &x.c, &y.c
    if same_shape(&x.c, &y.c):  # the most frequent case, without a copy of the shape
        if out is None:
            return new_result_of(call, x, None, x.c.ndim, x.c.shape, tensors, 2, dst)
        if same_shape(&x.c, &dst.c):
            return out
    if not broadcast_all(&shape, tensors, 2):
        raise GpukernValueError(f"{what(call, y)} must broadcast with the shape of "
                                f"{name_of(x)}, {shape_of(&x.c)}, got {shape_of(&y.c)}")
    if out is None:
        return new_result_of(call, x, None, shape.ndim, shape.sizes, tensors, 2, dst)
    require_shape(call, dst, &shape)
    return out


cdef int describe_number(CallContext *call, object number, str name, const Argument *beside,
                         Argument *argument) except -1:
    """Describes a number as a 0-d array of the dtype of another operand, and on its device."""
    if beside.c.dtype.code not in (GPUKERN_INT, GPUKERN_COMPLEX) or beside.c.dtype.bits < 32:
        raise GpukernTypeError(f"{what(call, beside)} must be of a dtype that saxpy computes with, "
                               f"got {dtype_of(beside)}")
    describe_as(call, number, name, dtype_of(beside), argument)
    return copy_to_gpu_of(call, beside, argument)


cdef object dtype_of_sum(CallContext *call, object x, object y):
    """The dtype of NumPy's sum of two numbers: those of Python are weak (NEP 50)."""
    weak = [0 * each if isinstance(each, (int, float, complex)) and not isinstance(each, np.generic)
            else each for each in (x, y)]
    try:
        return np.result_type(*weak)
    except TypeError as error:
        raise GpukernTypeError(f"{<object>call.function}: x and y: {error}") from None


cdef int describe_as(CallContext *call, object number, str name, object dtype,
                     Argument *argument) except -1:
    """Describes a number as a 0-d array."""
    element = new_ndarray(dtype, 0, NULL)
    keep(call, element)
    describe_numbers(call, element, name, argument)
    return store_scalar(number, f"{<object>call.function}: {name}", argument.c.dtype,
                        argument.c.data)


cdef int describe_numbers(CallContext *call, object array, str name, Argument *argument) except -1:
    describe_operand(call, array, name, argument)
    if argument.c.dtype.code == GPUKERN_OPAQUE:
        raise GpukernTypeError(f"{what(call, argument)} must be of a dtype that saxpy computes "
                               f"with, got {dtype_of(argument)}")
    return 0


complete_docstring(saxpy)
