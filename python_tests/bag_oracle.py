# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Reference results of gather_reduce and segment_reduce: one sequence of items per bag.

Blocks of 256 items are combined from left to right, then adjacent blocks pairwise, level by level.
Items that mode 'fill' leaves out keep their places in the blocks.
"""

import functools
import itertools

import numpy as np
import oracle
from scatter_oracle import BLOCK, STEPS, is_narrow

REDUCTIONS = ("sum", "mean", "min", "max")


def reductions_of(dtype):
    """The reductions of a dtype."""
    if dtype.kind in "iu":
        return ("sum", "min", "max")
    return ("sum", "mean") if dtype.kind == "c" else REDUCTIONS


def parts(array):
    """Numbers as they are added, by their parts: the last dimension has the real parts."""
    wide = array.astype(np.float32) if is_narrow(array.dtype) else np.ascontiguousarray(array)
    return wide.view(wide.real.dtype).reshape(*array.shape, 2 if wide.dtype.kind == "c" else 1)


def product(items, weights):
    """Of items and weights by their parts, each operation rounded."""
    weights = weights.reshape(len(weights), *(1,) * (items.ndim - 2), -1)
    if items.shape[-1] == 1:
        return items * weights
    re, im = items[..., 0], items[..., 1]
    by_re, by_im = weights[..., 0], weights[..., 1]
    return np.stack([re * by_re - im * by_im, re * by_im + im * by_re], -1)


def combine(items, kept, reduce):
    """The combination of items by their parts, along the first dimension; None without any."""
    step = STEPS[{"sum": "add"}.get(reduce, reduce)]
    level = []
    for begin in range(0, len(items), BLOCK):
        block = items[begin : begin + BLOCK][kept[begin : begin + BLOCK]]
        level.append(functools.reduce(step, block) if len(block) else None)
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [(b if a is None else a if b is None else step(a, b)) for a, b in pairs] + odd
    if not level or level[0] is None:
        return None
    total = level[0]
    if reduce == "mean":
        total = total / total.dtype.type(kept.sum())
    if total.dtype.kind == "f":
        total = np.where(np.isnan(total), total.dtype.type(np.nan), total)
    return total


def reduce_bags(source, positions, offsets, reduce, weights, axis):
    """`positions` on the axis, -1 for items that are left out."""
    if axis is None or source.ndim == 0:
        source, axis = source.reshape(-1), 0
    moved = np.moveaxis(source, axis, 0)
    bounds = np.clip(np.array([int(o) for o in offsets], object), 0, len(positions)).astype(int)
    result = np.zeros((len(bounds) - 1, *moved.shape[1:]), source.dtype)
    with np.errstate(all="ignore"):
        for b, (begin, end) in enumerate(itertools.pairwise(bounds)):
            of = positions[begin:end]
            if not len(of) or not len(moved):
                continue
            items = parts(moved[np.maximum(of, 0)])
            if weights is not None:
                items = product(items, parts(weights[begin:end]))
            total = combine(items, of >= 0, reduce)
            if total is None:
                continue
            narrow = is_narrow(source.dtype)
            result[b] = total[..., 0].astype(source.dtype) if narrow else np.ascontiguousarray(
                total).view(source.dtype)[..., 0]  # fmt: skip
    return np.moveaxis(result, 0, axis)


def check_offsets(function, offsets, count):
    before = 0
    for k, offset in enumerate(map(int, offsets)):
        if not before <= offset <= count:
            raise ValueError(
                f"{function}: offsets must be in [0, {count}] and not fall, "
                f"got offsets[{k}] = {offset}"
            )
        before = offset


def gather_reduce(source, index, offsets, reduce="sum", weights=None, axis=0, mode="raise"):
    """The result, or an exception with the message."""
    n = source.size if axis is None or source.ndim == 0 else source.shape[axis]
    number = 0 if axis is None or source.ndim == 0 else axis % source.ndim
    if n == 0 and len(index) and len(offsets) > 1 and source.size == 0:
        others = 1 if axis is None else np.prod(np.delete(source.shape, number))
        if others:
            raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "raise":
        check_offsets("gather_reduce", offsets, len(index))
    if n == 0 and mode != "raise":
        positions = np.zeros(len(index), int)
    else:
        positions, bad = oracle.gather_positions(index, n, number, mode)
        positions = np.where(bad, -1, positions)
    return reduce_bags(source, positions, offsets, reduce, weights, axis)


def segment_reduce(x, offsets, reduce="sum", axis=0, mode="raise"):
    n = x.size if axis is None or x.ndim == 0 else x.shape[axis]
    if mode == "raise":
        check_offsets("segment_reduce", offsets, n)
    return reduce_bags(x, np.arange(n), offsets, reduce, None, axis)
