# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""gather_reduce and segment_reduce of device arrays: gpukern by its C ABI, the peers, memcpy.

The results of torch and JAX are new arrays. CuPy and JAX are given the bag of each item (`ids`).
"""

from types import SimpleNamespace

from benchmarks.implementations.base import (
    OURS,
    PEER,
    Implementation,
    NotApplicable,
    ceiling,
    copy_half,
    library,
    returning_tensor,
)
from benchmarks.implementations.scatter import NO_ATOMICS
from benchmarks.implementations.unchecked import bags_unchecked


def bag_arrays(array, case, at):
    """Make the operands by an array library; index and weights are None where there are none."""
    of_items = {"index": "int64", "ids": "int64", "weights": case.dtype}
    return SimpleNamespace(
        source=array(at.source, (case.m, *case.row), case.dtype),
        offsets=array(at.offsets, (case.bags + 1,), "int64"),
        out=array(at.out, (case.bags, *case.row), case.dtype),
        **{
            name: array(getattr(at, name), (case.n,), dtype) if getattr(at, name) else None
            for name, dtype in of_items.items()
        },
    )


def bags_gpukern(bench, case, at):
    """Make gpukern_gather_reduce, or gpukern_segment_reduce without an index."""
    of = bag_arrays(bench.native.tensor, case, at)
    return bench.native.bags_call(of.source, of.index, of.offsets, of.weights, of.out, case.reduce)


def bags_plain(bench, case, at):
    """Make a kernel with a warp for a bag, or a block where one bag is long."""
    return lambda: bags_unchecked(bench.native, case, at.out, at)


def bags_torch(bench, case, at):
    """Make embedding_bag."""
    torch = library(bench, "torch")
    of = bag_arrays(torch.array, case, at)
    embedding_bag = torch.module.nn.functional.embedding_bag
    starts = of.offsets[:-1]
    return returning_tensor(
        lambda: embedding_bag(
            of.index, of.source, starts, mode=case.reduce, per_sample_weights=of.weights
        )
    )


def segments_torch(bench, case, at):
    """Make segment_reduce without a check of the offsets."""
    torch = library(bench, "torch")
    if case.one_long and case.row:
        raise NotApplicable("takes seconds: adds the rows of a segment in turn")
    of = bag_arrays(torch.array, case, at)
    segment_reduce = torch.module.segment_reduce
    return returning_tensor(
        lambda: segment_reduce(of.source, case.reduce, offsets=of.offsets, unsafe=True)
    )


def require_combined(case):
    """Leave the cell of a mean empty where a library only combines."""
    if case.reduce == "mean":
        raise NotApplicable("has no such mean")


def bags_cupy(bench, case, at):
    """Make the rows, and add them to the result by the ufunc's at(), which is atomic."""
    cupy = library(bench, "cupy")
    require_combined(case)
    if case.dtype == "bfloat16":
        raise NotApplicable("CuPy's kernels have no bfloat16")
    of = bag_arrays(cupy.array, case, at)
    ufunc, initial = {
        "sum": (cupy.module.add, 0),
        "max": (cupy.module.maximum, float("-inf")),
    }[case.reduce]

    def run():
        rows = of.source if of.index is None else of.source[of.index]
        if of.weights is not None:
            rows *= of.weights[:, None]
        of.out[...] = initial
        ufunc.at(of.out, of.ids, rows)

    return run


def bags_jax(bench, case, at):
    """Make a jitted segment_sum or segment_max of the rows, without any check."""
    jax = library(bench, "jax")
    require_combined(case)
    if case.dtype in NO_ATOMICS:
        raise NotApplicable("adds 16-bit floats by loops of compare-and-swap")
    of = bag_arrays(jax.array, case, at)
    return lambda: jax.bags(of.source, of.index, of.ids, of.weights, case.bags, case.reduce)


def row_gather(bench, case, at):
    """Make gpukern_gather of the rows of all bags, which writes them instead of reducing them."""
    if case.distribution != "uniform":
        raise NotApplicable("no ceiling where rows are read from the L2 cache")
    native = bench.native
    source = native.tensor(at.source, (case.m, *case.row), case.dtype)
    index = native.tensor(at.index, (case.n,), "int64")
    out = native.tensor(at.rows, (case.n, *case.row), case.dtype)
    return native.gather_call(source, (index,), out)


def row_gather_work(case, unit):
    """The bytes of rows read and written."""
    return 2e-9 * case.n * case.row_bytes


def implementations(torch, *ceilings):
    """Return all implementations, given torch's and further ceilings."""
    return (
        Implementation("gpukern", OURS, bags_gpukern),
        Implementation("plain", PEER, bags_plain),
        Implementation("torch", PEER, torch),
        Implementation("cupy", PEER, bags_cupy),
        Implementation("jax", PEER, bags_jax, wall=True),
        *ceilings,
        ceiling("memcpy", copy_half),
    )


BAGS = implementations(bags_torch, ceiling("row gather", row_gather, row_gather_work))
SEGMENTS = implementations(segments_torch)
