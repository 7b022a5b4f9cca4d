# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Reference results of scatter and put_along_axis: one sequence of values per target element.

The sequence of an element is the element and then its updates in order. Blocks of 256 values are
combined from left to right, then adjacent blocks pairwise, level by level.
"""

import functools

import numpy as np
import oracle

BLOCK = 256
REDUCTIONS = (None, "add", "multiply", "min", "max", "mean")


def reductions_of(dtype):
    """The reductions that scatter has for a dtype, besides None."""
    if dtype.kind in "iu":
        return ("add", "multiply", "min", "max")
    if dtype.kind == "c":
        return ("add", "mean")
    return ("add", "multiply", "min", "max", "mean")


def is_narrow(dtype):
    return dtype in (np.float16, oracle.bfloat16)


def total_order(numbers):
    """Integers in the order of floats, in which -0 is less than +0."""
    bits = numbers.view(f"i{numbers.dtype.itemsize}")
    return np.where(bits < 0, ~bits ^ np.iinfo(bits.dtype).min, bits)


def extreme(one, other, largest):
    if one.dtype.kind != "f":
        return (np.maximum if largest else np.minimum)(one, other)
    ranks = total_order(one), total_order(other)
    first = ranks[0] >= ranks[1] if largest else ranks[0] <= ranks[1]
    chosen = np.where(first, one, other)
    return np.where(np.isnan(one) | np.isnan(other), one.dtype.type(np.nan), chosen)


STEPS = {
    "add": np.add,
    "mean": np.add,
    "multiply": np.multiply,
    "min": functools.partial(extreme, largest=False),
    "max": functools.partial(extreme, largest=True),
}


def combine_blocks(rows, begin, size, step):
    """Of each block of rows, from left to right: one row of all blocks at a time."""
    level = rows[begin]
    for k in range(1, size.max()):
        longer = np.flatnonzero(size > k)
        level[longer] = step(level[longer], rows[begin[longer] + k])
    return level


def combine(sequences, lengths, reduce):
    """The combination of each of several sequences of values, one after the other in an array;
    complex ones by their parts."""
    dtype, lengths = sequences.dtype, np.asarray(lengths)
    wide = sequences.astype(np.float32) if is_narrow(dtype) else sequences
    rows = wide.view(wide.real.dtype).reshape(len(wide), -1)
    step = STEPS[reduce]
    blocks = -(-lengths // BLOCK)
    of = np.repeat(np.arange(len(lengths)), blocks)  # the sequence of each block
    place = np.arange(len(of)) - (np.cumsum(blocks) - blocks)[of]
    begin = (np.cumsum(lengths) - lengths)[of] + place * BLOCK
    with np.errstate(all="ignore"):
        level = combine_blocks(rows, begin, np.minimum(lengths[of] - place * BLOCK, BLOCK), step)
        while (blocks > 1).any():
            left = np.flatnonzero((place % 2 == 0) & (place + 1 < blocks[of]))
            level[left] = step(level[left], level[left + 1])
            kept = place % 2 == 0
            level, of, place, blocks = level[kept], of[kept], place[kept] // 2, (blocks + 1) // 2
        result = level / lengths[:, None].astype(rows.dtype) if reduce == "mean" else level
        if rows.dtype.kind == "f":
            result = np.where(np.isnan(result), rows.dtype.type(np.nan), result)
        assert result.dtype == rows.dtype
        return (result.astype(dtype) if is_narrow(dtype) else result.view(dtype))[:, 0]


def write(target, positions, values, reduce):
    """The target, as a flat array, with values written to positions; -1 skips one."""
    result = target.copy()
    kept = positions >= 0
    positions, values = positions[kept], values[kept]
    if reduce is None:
        for position, value in zip(positions, values, strict=True):
            result[position] = value
        return result
    if not len(positions):
        return result
    touched = np.unique(positions)
    keys = np.concatenate([touched, positions])
    order = np.argsort(keys, kind="stable")  # each element before its updates
    sequences = np.concatenate([target[touched], values])[order]
    result[touched] = combine(sequences, np.unique(keys, return_counts=True)[1], reduce)
    return result


def elements(target, values, reduce):
    """Native numbers for a reduction, else plain bytes."""
    if reduce is None:
        return oracle.raw(target), oracle.raw(values)
    native = target.dtype.newbyteorder("=")
    return target.astype(native), values.astype(native)


def checked_positions(index, n, axis, mode, count):
    """Where the indices point; -1 for those that are skipped. `count` values are to be written."""
    if n == 0 and count:
        raise IndexError("cannot do a non-empty put to an empty axis.")
    if count == 0 and mode != "raise":
        return np.zeros(index.shape, np.int64)
    positions, bad = oracle.gather_positions(index, n, axis, mode)
    return np.where(bad, -1, positions)


def scatter(target, index, values, axis, mode, reduce):
    """The target after the call, of plain bytes without a reduction; or an IndexError with the
    message."""
    target, values = elements(target, values, reduce)
    shape = target.shape
    if axis is None or target.ndim == 0:
        target, axis = target.reshape(-1), 0
    axis %= target.ndim
    updates = target.shape[:axis] + index.shape + target.shape[axis + 1 :]
    values = np.broadcast_to(values, updates)
    found = checked_positions(index, target.shape[axis], axis, mode, values.size)
    number = np.arange(target.size).reshape(target.shape)
    if values.size == 0:
        return target.reshape(shape)
    positions = np.take(number, np.maximum(found, 0), axis=axis)
    skipped = (found < 0).reshape(found.shape + (1,) * (target.ndim - axis - 1))
    positions = np.where(skipped, -1, positions)
    flat = write(target.reshape(-1), positions.reshape(-1), values.reshape(-1), reduce)
    return flat.reshape(shape)


def put_along_axis(target, index, values, axis, mode, reduce):
    """As scatter(), by the rule of numpy.put_along_axis."""
    target, values = elements(target, values, reduce)
    shape = target.shape
    if axis is None:
        target, axis = target.reshape(-1), 0
    axis %= target.ndim
    sizes = [i if t == 1 else t for t, i in zip(target.shape, index.shape, strict=True)]
    sizes[axis] = index.shape[axis]
    values = np.broadcast_to(values, sizes)
    if values.size == 0:
        return target.reshape(shape)
    found = checked_positions(index, target.shape[axis], axis, mode, values.size)
    number = np.arange(target.size).reshape(target.shape)
    positions = np.take_along_axis(number, np.maximum(found, 0), axis)
    positions = np.where(np.broadcast_to(found, sizes) < 0, -1, positions)
    flat = write(target.reshape(-1), positions.reshape(-1), values.reshape(-1), reduce)
    return flat.reshape(shape)
