# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise calls on host arrays, block by block: on the CPU, and through a GPU."""

import math
import os
import re

import numpy as np

from gpukern.errors import GpukernValueError

# Elements that host arrays send to a GPU at once, and bytes of device memory for them, at most.
PARCEL = 1 << 25
DEVICE_MEMORY = 1 << 30  # GPUKERN_DEVICE_MEMORY_LIMIT of gpukern.h


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


def device_memory():
    """Bytes from $GPUKERN_DEVICE_MEMORY, a number such as 2147483648 or 2G, or the default."""
    text = os.environ.get("GPUKERN_DEVICE_MEMORY", "")
    found = re.fullmatch("([0-9]+)([KMGT]?)", text)
    size = int(found[1]) << 10 * " KMGT".index(found[2] or " ") if found else 0
    if text and not 0 < size < 2**63:
        raise GpukernValueError(
            f"GPUKERN_DEVICE_MEMORY must be a number of bytes, such as 2147483648 or 2G, got {text}"
        )
    return size if text else DEVICE_MEMORY


def parcels(views, result, limit):
    """Parts of the arguments, numbers among them, and of the result, in C order.

    Each part takes no more than `limit` bytes in all, unless a single element does.
    """
    along = [isinstance(view, np.ndarray) and view.ndim > 0 for view in views]
    if result.flags.c_contiguous and all(
        view.shape == result.shape and view.flags.c_contiguous
        for view, moves in zip(views, along, strict=True)
        if moves
    ):
        result = result.reshape(-1) if result.ndim else result
        views = [
            view.reshape(-1) if moves else view for view, moves in zip(views, along, strict=True)
        ]
    item = result.itemsize + sum(
        view.itemsize for view, moves in zip(views, along, strict=True) if moves
    )
    parts = list(blocks(result.shape, min(max(limit // item, 1), PARCEL)))
    if len(parts) > 1:
        views = [apart(view, result) for view in views]
    for part in parts:
        # With an ellipsis also what has no dimensions is an array, into which can be written.
        yield [piece(view, part) for view in views], result[(*part, ...)]
