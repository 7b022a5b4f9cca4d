# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels without any check: peers and a ceiling, and the reference results."""

from benchmarks.native import DTYPES, ITEMSIZE

BAG_REDUCTIONS = ("sum", "mean", "max")  # numbered as in peers/bags.cu


def scatter_unchecked(native, case, target, at):
    """Scatter into a target by atomic operations, or stores, without any check."""
    arguments = (case.index_itemsize, target, at.index, at.values, case.n)
    if case.reduce is None:
        native.enqueue("scatter_put", *arguments, case.width // 4)
    elif case.reduce == "add":
        length = case.width // ITEMSIZE[case.dtype]
        native.enqueue("scatter_add", DTYPES.index(case.dtype), *arguments, length)
    else:
        native.enqueue(f"scatter_{case.reduce}", *arguments, case.width // 4)


def gather_unchecked(native, case, out, at):
    """Gather items, or rows, without any check."""
    name = "gather_rows" if case.row else "gather_unchecked"
    arguments = (case.width, case.index_itemsize, at.source, at.index, out, case.n)
    native.enqueue(name, *arguments)


def read_unchecked(native, case, out, at):
    """Read by the flat index, or along an axis by as many indices as it is long."""
    if case.has_flat:
        return gather_unchecked(native, case, out, at)
    operands = (at.source, at.indices[0], out)
    return native.enqueue("take_along_axis", 8, *operands, *case.shape, case.axis)


def along_unchecked(native, case, target, at):
    """Put along an axis of a target without any check."""
    native.enqueue("put_along_axis", 8, target, at.index, at.values, *case.shape, case.axis)


def bags_unchecked(native, case, out, at):
    """Reduce bags without any check, by a warp each, or by a block where one bag is long."""
    operands = (at.source, at.index, at.offsets, at.weights, out)
    reduction, threads = BAG_REDUCTIONS.index(case.reduce), 1024 if case.one_long else 32
    native.enqueue(
        "bags", DTYPES.index(case.dtype), reduction, threads, *operands, case.bags, case.row_length
    )
