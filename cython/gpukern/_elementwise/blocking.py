# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays of element-wise calls in blocks."""

import functools
import math

import numpy as np


def blocks(shape, size):
    """Slices that part an array into blocks of about `size` elements, in C order."""
    if not shape:
        yield (...,)
        return
    inner = math.prod(shape[1:])
    if inner > size:
        for i in range(shape[0]):
            for rest in blocks(shape[1:], size):
                yield (slice(i, i + 1), *rest)
        return
    step = max(size // max(inner, 1), 1)
    for first in range(0, shape[0], step):
        yield (slice(first, first + step), *(slice(None),) * (len(shape) - 1))


def cutter(argument, shape):
    """A function that gives what of an argument, which broadcasts to a shape, is in a block."""
    own = getattr(argument, "shape", ())
    if not own:
        return lambda part: argument
    if own == shape:
        return argument.__getitem__
    return functools.partial(piece, argument)


def piece(argument, part):
    """What of an array with dimensions of its own belongs to a block."""
    own = part[len(part) - argument.ndim :]
    return argument[
        tuple(
            slice(None) if size == 1 else each
            for size, each in zip(argument.shape, own, strict=True)
        )
    ]


def apart(arguments, out):
    """The arguments, none of which `out` overwrites early, and which of them lie there.

    Those of which each element lies in its place of `out` stay; others that share its memory are
    copied.
    """
    arguments, held = list(arguments), []
    for i, each in enumerate(arguments):
        if isinstance(each, np.ndarray) and np.may_share_memory(each, out):
            if lies_in(each, out):
                held.append(i)
            else:
                arguments[i] = each.copy()
    return arguments, tuple(held)


def lies_in(argument, out):
    """Whether an array is the same memory as `out`, element by element."""
    return (
        argument.ctypes.data == out.ctypes.data
        and argument.shape == out.shape
        and argument.strides == out.strides
        and argument.dtype == out.dtype
    )


def empty_like_any(arguments, shape, dtype):
    """An uninitialised result, that lies in memory as the first argument of its shape does."""
    for each in arguments:
        if isinstance(each, np.ndarray) and each.shape == shape:
            return np.empty_like(each, dtype, subok=False)
    return np.empty(shape, dtype)


def in_memory_order(arguments, out):
    """The arguments and `out` with the axes in the order in which `out` lies in memory."""
    if out.flags.c_contiguous:
        return arguments, out
    order = sorted(range(out.ndim), key=lambda axis: -abs(out.strides[axis]))
    if order == list(range(out.ndim)):
        return arguments, out
    return [turned(each, order) for each in arguments], out.transpose(order)


def turned(argument, order):
    """An argument, which broadcasts, with its axes in another order."""
    ndim = getattr(argument, "ndim", 0)
    if ndim == 0:
        return argument
    return argument.reshape((1,) * (len(order) - ndim) + argument.shape).transpose(order)
