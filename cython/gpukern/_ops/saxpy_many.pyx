# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""saxpy_many: the Python function. SaxpyList is in saxpy_list.pyx."""

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from gpukern._capi cimport gpukern_explanation, gpukern_saxpy_many, gpukern_tensor
from gpukern._interop.argument cimport count_of, describe_output, prepare
from gpukern._interop.scalar cimport is_number, store_scalar
from gpukern._ops.indexing.indexed_read cimport is_distributed
from gpukern._ops.saxpy cimport compute_saxpy, describe_numbers, result_of
from gpukern._streams.call cimport (
    Argument, CallContext, as_result, begin_call, end_work, finish, keep, new_memory,
    request_explanation, start,
)

import re

import numpy as np

from gpukern._ops.docstrings import complete_docstring
from gpukern.errors import GpukernError, GpukernTypeError, GpukernValueError


def saxpy_many(a, x, y, *, out=None, device=None, stream=None, progress=None, device_memory=None):
    """Computes ``a * x[k] + y[k]`` for lists of arrays, with the bits of a loop of :func:`saxpy`.

    Parameters
    ----------
    a : scalar or array
        As in :func:`saxpy`, for all arrays.
    x, y : list or tuple of arrays
        Of the same length, of any sizes; ``x[k]`` and ``y[k]`` as in :func:`saxpy`. All arrays are
        on one device.
    out : list or tuple of arrays, optional
        Written to and returned; ``out=y`` computes in place. ``out[k]`` as in :func:`saxpy`.
    {call_options}

    Returns
    -------
    list of arrays
        `out`, or a list of new arrays, each as of :func:`saxpy`.

    Raises
    ------
    TypeError, OverflowError, ValueError
        As by :func:`saxpy`, and for lists of different lengths. The message names the array, such
        as ``y[3]``. Nothing has been written then.

    Notes
    -----
    The results are those of a loop from ``k = 0`` on, also where arrays overlap. Contiguous arrays
    of one dtype that do not overlap those of other positions are computed together: on a GPU by one
    launch for each 1020 of them, on the CPU by all threads. Others are computed one by one.
    :class:`SaxpyList` keeps the checked lists for many calls.

    Lists of different dtypes, with numbers among the arrays, or with an array `a` are computed by
    one call of :func:`saxpy` for each array, whose bytes `progress` counts.

    Examples
    --------
    >>> saxpy_many(-0.1, gradients, parameters, out=parameters)
    """
    cdef CallContext call
    cdef object xs, ys, outs
    cdef Described arrays
    cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
    begin_call(&call, "saxpy_many", device, stream, progress, device_memory)
    xs = members(x, "saxpy_many: x", -1)
    ys = members(y, "saxpy_many: y", len(xs))
    outs = None if out is None else members(out, "saxpy_many: out", len(xs))
    if not has_value(a) or not describe_lists(&call, xs, ys, outs, &arrays):
        made = by_saxpy(a, xs, ys, outs, device, stream, progress, device_memory,
                        call.c.explanation)
        return made if outs is None or made is None else out
    a_bytes[0] = a_bytes[1] = 0
    if arrays.count > 0:
        store_scalar(a, "saxpy_many: a", arrays.x[0].c.dtype, a_bytes)
    start(&call, &arrays.whole)
    finish(&call, gpukern_saxpy_many(a_bytes, arrays.tensors, arrays.tensors + arrays.count,
                                     arrays.tensors + 2 * arrays.count, arrays.count, &call.c))
    end_work(&call)
    if call.c.explanation != NULL:
        return None
    if outs is not None:
        return out
    return [as_result(<object>arrays.out[k].array, &arrays.out[k]) for k in range(arrays.count)]


cdef tuple members(object given, str name, Py_ssize_t count):
    """The arrays of a list, `count` of them unless that is negative."""
    if not isinstance(given, (list, tuple)):
        raise GpukernTypeError(
            f"{name} must be a list or a tuple of arrays, got {type(given).__name__}")
    cdef tuple found = tuple(given)
    if count >= 0 and len(found) != count:
        raise GpukernValueError(f"{name} must have the length of x, {count}, got {len(found)}")
    return found


cdef bint has_value(object a):
    """Whether a factor is a number or a 0-d array on the host."""
    return is_number(a) or isinstance(a, (np.ndarray, np.generic)) and a.ndim == 0


cdef bint describe_lists(CallContext *call, tuple xs, tuple ys, tuple outs,
                         Described *arrays) except -1:
    """Describes lists as gpukern_saxpy_many() takes them; False for what it does not take. Without
    `outs`, new arrays are made."""
    cdef Py_ssize_t k, total = 0, count = len(xs)
    cdef Argument *memory = new_arguments(call, 3 * count)
    cdef Argument *x
    cdef Argument *y
    cdef Argument *out
    arrays.count = count
    arrays.odd = NULL
    arrays.x, arrays.y, arrays.out = memory, memory + count, memory + 2 * count
    arrays.tensors = <const gpukern_tensor **>new_memory(call, 3 * count * sizeof(void *))
    for k in range(count):
        x, y, out = &arrays.x[k], &arrays.y[k], &arrays.out[k]
        call.position = k
        if is_distributed(xs[k]) or is_distributed(ys[k]):
            return False
        # Of ints, which NumPy may have no dtype for, nothing is described.
        if isinstance(xs[k], int):
            prepare(x, xs[k], "x")
            arrays.odd = x
        elif isinstance(ys[k], int):
            prepare(y, ys[k], "y")
            arrays.odd = y
        if arrays.odd != NULL:
            return False
        describe_numbers(call, xs[k], "x", x)
        if outs is not None:
            describe_output(call, outs[k], "out", out, temporary=True)
        if outs is not None and outs[k] is ys[k] and out.target == NULL:
            y = out  # described once
        else:
            describe_numbers(call, ys[k], "y", y)
        if is_odd(x, xs[k], &arrays.x[0]):
            arrays.odd = x
        elif is_odd(y, ys[k], &arrays.x[0]):
            arrays.odd = y
        elif outs is not None and differ(out, &arrays.x[0]):
            arrays.odd = out
        if arrays.odd != NULL:
            return False
        if outs is None:
            keep(call, result_of(call, x, y, None, out))
        else:
            result_of(call, x, y, outs[k], out)
        arrays.tensors[k] = &x.c
        arrays.tensors[count + k] = &y.c
        arrays.tensors[2 * count + k] = &out.c
        total += count_of(&out.c)
    call.position = -1
    describe_whole(arrays, total)
    return True


cdef Argument *new_arguments(CallContext *call, Py_ssize_t count) except NULL:
    """As new_memory(), but not set to zero, which would take as long as the descriptions."""
    cdef bytearray memory = PyByteArray_FromStringAndSize(NULL, count * sizeof(Argument) + 16)
    cdef char *begin = memory
    keep(call, memory)
    return <Argument *>(begin + (-<uintptr_t>begin % 16))


cdef bint is_odd(const Argument *given, object array, const Argument *x):
    """Whether saxpy() does not pass an array to gpukern_saxpy() with an `x`."""
    return given.c.ndim == 0 and is_number(array) or given.host != x.host or differ(given, x)


cdef bint differ(const Argument *argument, const Argument *x) noexcept:
    return (argument.c.dtype.code != x.c.dtype.code or argument.c.dtype.bits != x.c.dtype.bits
            or argument.c.dtype.lanes != x.c.dtype.lanes)


cdef int describe_whole(Described *arrays, Py_ssize_t total) except -1:
    """Describes the elements of all outputs, for start()."""
    cdef Argument *whole = &arrays.whole
    prepare(whole, None, "out")
    whole.c.ndim = 1
    whole.sizes[0] = total
    whole.c.shape = whole.sizes
    if arrays.count > 0:
        whole.itemsize = arrays.out[0].itemsize
    return 0


# ---- one call of saxpy for each array ----

# What C functions call the arrays.
OF_ONE = re.compile(r"^\w+: (x|y|out)\b(?!\[)")


cdef object by_saxpy(object a, tuple xs, tuple ys, tuple outs, object device, object stream,
                     object progress, object device_memory, gpukern_explanation *explanation):
    """Calls saxpy for each array, when all calls have been explained: an error that an argument
    causes is raised before anything is written."""
    cdef gpukern_explanation scratch
    cdef int k
    for k in range(len(xs)):
        if is_distributed(xs[k]) or is_distributed(ys[k]):  # which are not explained
            if explanation == NULL:
                continue
            raise GpukernTypeError("explain: saxpy_many of a DistributedArray is several calls; "
                                   "pass its .local")
        memset(&scratch, 0, sizeof(scratch))
        scratch.struct_size = sizeof(scratch)
        request_explanation(&scratch if explanation == NULL else explanation)
        try:
            one_saxpy(k, a, xs, ys, outs, device, stream, progress, device_memory)
        except GpukernError as error:
            message = OF_ONE.sub(rf"saxpy_many: \1[{k}]", str(error))
            message = re.sub(r" (of|like) x,", rf" \1 x[{k}],", message)
            raise type(error)(message) from None
        finally:
            request_explanation(NULL)
    if explanation != NULL:
        return None
    return [one_saxpy(k, a, xs, ys, outs, device, stream, progress, device_memory)
            for k in range(len(xs))]


cdef object one_saxpy(int k, object a, tuple xs, tuple ys, tuple outs, object device,
                      object stream, object progress, object device_memory):
    return compute_saxpy("saxpy_many", k, a, xs[k], ys[k], None if outs is None else outs[k], None,
                         None, device, stream, progress, device_memory)


complete_docstring(saxpy_many)
