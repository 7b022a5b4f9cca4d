# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays of element-wise calls in blocks."""

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


def even_block(shape, most, threads):
    """The size for blocks() of which each thread gets as many, of about `most` elements or less."""
    if threads == 1:
        return most
    size, row = math.prod(shape), math.prod(shape[1:])
    count = -(-size // (most * threads)) * threads
    even = -(-size // count)
    return -(-even // row) * row if row <= even else even


def block_view(argument):
    """A function of a block that gives the part of an argument that is in it.

    An ndarray has the dimensions of the output, with size 1 where it is broadcast.
    """
    if not isinstance(argument, np.ndarray):
        return lambda part: argument
    if 1 not in argument.shape:
        return argument.__getitem__
    return lambda part: argument[
        tuple(
            slice(None) if size == 1 else each
            for size, each in zip(argument.shape, part, strict=True)
        )
    ]


def empty_like_any(arguments, shape, dtype):
    """An uninitialised result, with the memory layout of NumPy's.

    That of the first argument of its shape, unless one of that shape is C-contiguous.
    """
    alike = [each for each in arguments if isinstance(each, np.ndarray) and each.shape == shape]
    if not alike or any(each.flags.c_contiguous for each in alike):
        return np.empty(shape, dtype)
    return np.empty_like(alike[0], dtype, subok=False)
