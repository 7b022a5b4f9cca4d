# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays of element-wise calls in blocks."""

import math

import numpy as np


def blocks(shape, size):
    """Slices that part an array into blocks of about `size` elements, in C order."""
    if not shape:
        yield ()
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


def piece(argument, part):
    """What of an argument, which broadcasts, belongs to a block."""
    ndim = getattr(argument, "ndim", 0)
    if ndim == 0:
        return argument
    own = part[len(part) - ndim :]
    return argument[
        tuple(
            slice(None) if size == 1 else each
            for size, each in zip(argument.shape, own, strict=True)
        )
    ]


def apart(argument, out):
    """The argument, or a copy where `out` is written before all of the argument is read."""
    if not isinstance(argument, np.ndarray) or not np.may_share_memory(argument, out):
        return argument
    same = (
        argument.ctypes.data == out.ctypes.data
        and argument.shape == out.shape
        and argument.strides == out.strides
        and argument.dtype == out.dtype
    )
    return argument if same else argument.copy()


def empty_like_any(arguments, shape, dtype):
    """An uninitialised result, that lies in memory as the first argument of its shape does."""
    for each in arguments:
        if isinstance(each, np.ndarray) and each.shape == shape:
            return np.empty_like(each, dtype, subok=False)
    return np.empty(shape, dtype)


def in_memory_order(arguments, out):
    """The arguments and `out` with the axes in the order in which `out` lies in memory."""
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
