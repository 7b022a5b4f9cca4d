# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of gather_reduce and segment_reduce, on device and host arrays."""

from functools import partial

from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.cases import GI, HOST, HOST_COUNTS, KI, MI, Table

BAGS = ("gpukern", "plain", "torch", "cupy", "jax", "memcpy")
BAG_SUMS = (*BAGS[:-1], "row gather", "memcpy")
HOST_BAGS = ("gpukern", "numpy", "torch", "numba")

ROWS = 4 * MI
COLUMNS, LENGTH = 64, "8"
# Bytes of a row and rows a bag.
SHAPES = ((64, "1"), (64, "20"), (128, "20"), (256, "8"), (512, "20"), (512, "100"), (1024, "4"))
QUICK = ((64, "20"), (256, "8"))
# Items a segment, for each number of columns.
SEGMENTS = {1: ("10", "64", "1000", "all"), COLUMNS: ("10", "1000", "all")}
NOTE = (
    "N items in bags, of a table of M rows; bytes of rows read and results written. Index, offsets "
    "and weights are left out."
)


def items_of(columns):
    """The number of items: 2 GiB of rows of float32, or fewer where an index is as long."""
    return min(2 * GI // (4 * columns), 64 * MI)


def bag_of(columns=COLUMNS, lengths=LENGTH, **options):
    """Return a case of bags of device arrays."""
    return Bags(items_of(columns), lengths, columns, ROWS, **options)


def bag_tables():
    """Tables of bags: sums over columns, lengths and index distributions; other reductions."""
    sums = [
        bag_of(width // 4, lengths, priority=1 if (width, lengths) in QUICK else 2)
        for width, lengths in SHAPES
    ]
    sums += [
        bag_of(lengths=lengths, priority=1 if lengths == "1 to 20" else 2)
        for lengths in ("1 to 20", "zipf", "half")
    ]
    sums += [
        bag_of(distribution="zipf"),
        bag_of(lengths="1 to 20", distribution="zipf", priority=2),
        bag_of(1, "10", priority=2),
    ]
    # The reciprocal of 8 is exact, so that peers may multiply by it.
    others = [bag_of(reduce=reduce, priority=2) for reduce in ("mean", "max")]
    others += [bag_of(weights=True)]
    others += [bag_of(dtype=dtype, priority=2) for dtype in ("float16", "bfloat16")]
    sums_note = (
        f"{NOTE} row gather is gpukern's gather of the same rows, all of which it reads and writes."
    )
    return (
        Table("bag sum", "gather_reduce, float32 sums", "GB/s", BAG_SUMS, tuple(sums), sums_note),
        Table("bag reductions", "gather_reduce, reductions and dtypes", "GB/s", BAGS,
              tuple(others), NOTE),
    )  # fmt: skip


def segment_table():
    """The table of segments of contiguous rows."""
    cases = tuple(
        Segments(64 * MI // (8 if columns > 1 else 1), lengths, columns,
                 priority=2 if lengths == "all" else 1)
        for columns, every in SEGMENTS.items()
        for lengths in every
    )  # fmt: skip
    note = (
        "N rows in segments, or one segment of all; bytes of rows read and results written. torch "
        "adds the rows of a segment in turn, which takes it seconds for one of all rows."
    )
    return Table("segment sum", "segment_reduce, float32 sums", "GB/s", BAGS, cases, note)


def bags_tables():
    """Tables of device arrays."""
    return (*bag_tables(), segment_table())


def host_tables():
    """The table of host arrays on all cores."""
    bag = partial(Bags, memory=HOST, new_result=True)
    cases = [
        bag(MI, lengths, COLUMNS, MI, priority=1 if lengths == "10" else 2)
        for lengths in ("1", "10", "1 to 20", "zipf", "half")
    ]
    cases += [
        bag(KI, "10", COLUMNS, MI),
        bag(MI, "10", COLUMNS, MI, distribution="zipf", priority=2),
        bag(4 * MI, "10", 1, MI, priority=2),
    ]
    segments = tuple(
        Segments(n, "10", 1, memory=HOST, new_result=True, priority=priority)
        for n, priority in HOST_COUNTS.items()
    )
    title = "host arrays: {}, float32 sums, new result"
    return (
        Table("host bags", title.format("gather_reduce"), "GB/s", HOST_BAGS, tuple(cases), NOTE),
        Table(
            "host segment sum",
            title.format("segment_reduce"),
            "GB/s",
            HOST_BAGS,
            segments,
            "N rows in segments; bytes of rows read and results written.",
        ),
    )
