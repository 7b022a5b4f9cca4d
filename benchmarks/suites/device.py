# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of cases on device arrays."""

from benchmarks.native import DTYPES, ITEMSIZE
from benchmarks.suites.cases import GI, KI, MI, Gather, Saxpy, Table

SAXPY = ("gpukern", "cub", "plain", "cublas", "torch", "cupy", "jax", "memcpy", "copy")
GATHER = ("gpukern", "thrust", "torch", "cupy", "jax", "unchecked", "copy")
FORCED = ("gpukern", "gpukern direct", "gpukern partitioned", "torch", "cupy", "unchecked")
ROWS = ("gpukern", "torch", "embedding", "cupy", "jax", "unchecked rows", "memcpy")
MODES = (
    "gpukern wrap",
    "gpukern clip",
    "gpukern fill",
    "gpukern raise",
    "gpukern raise, out unchanged",
    "unchecked",
)

DISTRIBUTIONS = ("uniform", "sorted", "blocked", "zipf", "scattered zipf", "equal")
# The points with targets come first.
TARGETS = ((128 * MI, 128 * MI), (GI, GI), (128 * MI, 32 * MI), (128 * MI, MI), (MI, 128 * MI))
SOURCES = (MI, 8 * MI, 32 * MI, 128 * MI, GI, 8 * GI)
COUNTS = (KI, MI, 16 * MI, 128 * MI, GI)


def index_for(m):
    """The narrowest index dtype of the two that reaches every item."""
    return "int32" if m <= 2**31 else "int64"


def saxpy_tables():
    """Tables of saxpy: float32 over sizes, the dtypes, misaligned and in place."""
    sizes = (KI, 16 * KI, 64 * KI, 256 * KI, MI, 4 * MI, 16 * MI, 64 * MI, 320_000_000)
    quick = (KI, MI, 16 * MI, 320_000_000)
    over_sizes = [Saxpy("float32", n, priority=1 if n in quick else 2) for n in sizes]
    traffic = 3 * GI
    dtypes = [Saxpy(dtype, traffic // (3 * ITEMSIZE[dtype])) for dtype in DTYPES]
    shifts = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3), (1, 1, 1))
    shifted = [Saxpy("float32", 64 * MI, shift, priority=2) for shift in shifts]
    shifted += [Saxpy("float16", 128 * MI, (1, 2, 3), priority=2)]
    shifted += [Saxpy("float64", 32 * MI, (1, 0, 1), priority=2)]
    placed = [Saxpy("float32", n, in_place=True, priority=2) for n in (MI, 16 * MI, 256 * MI)]
    return (
        Table("saxpy sizes", "saxpy, float32", "GB/s", SAXPY, tuple(over_sizes)),
        Table("saxpy dtypes", "saxpy, 3 GiB of traffic", "GB/s", SAXPY, tuple(dtypes)),
        Table("saxpy misaligned", "saxpy, misaligned", "GB/s", SAXPY, tuple(shifted)),
        Table("saxpy in place", "saxpy, in place", "GB/s", SAXPY, tuple(placed)),
    )


def gather_priority(m, n, distribution):
    """Return a point's priority: 1 for targets, then uniform indices, then the others."""
    if distribution == "uniform":
        return 1 if (m, n) in TARGETS else 2
    if (m, n) == (128 * MI, 128 * MI):
        return 1
    return 3 if n in (128 * MI, MI) else 4


def gather_tables():
    """Tables of the gather of items: the grid, index dtypes and widths, the forced paths."""
    grid = [
        Gather(m, n, 4, index_for(m), distribution, priority=gather_priority(m, n, distribution))
        for distribution in DISTRIBUTIONS
        for m in SOURCES
        for n in COUNTS
    ]
    big = 128 * MI
    widths = [
        Gather(big, big, width, index, priority=1 if width in (4, 8) else 2)
        for width in (1, 2, 4, 8, 16)
        for index in ("int32", "int64")
    ]
    forced = [
        Gather(m, n, 4, index_for(m), distribution, priority=2 if distribution == "uniform" else 3)
        for distribution in ("uniform", "sorted", "scattered zipf")
        for m in (8 * MI, 32 * MI, big, GI)
        for n in (16 * MI, big, GI)
    ]
    note = (
        "M items in the source, N gathered. M at 4 bytes: 8Mi fit the L2 of an H200, 32Mi do not."
    )
    return (
        Table("gather grid", "gather, float32", "Gitem/s", GATHER, tuple(grid), note),
        Table("gather widths", "gather, item widths and index dtypes", "Gitem/s", GATHER,
              tuple(widths)),
        Table("gather forced", "gather, either path forced", "Gitem/s", FORCED, tuple(forced)),
    )  # fmt: skip


def rows_tables():
    """Tables of the gather of rows: 2 GiB out of 16 GiB, and few rows out of 1 GiB."""
    quick = (16, 32, 64, 128, 256, 1024, 4096)
    widths = (8, 16, 24, 32, 48, 64, 100, 128, 192, 256, 300, 512, 1024, 4096, 16 * KI, 64 * KI)
    cases = [
        Gather(16 * GI // width, 2 * GI // width, width, index_for(16 * GI // width),
               rows=True, priority=1 if width in quick else 2)
        for width in widths
    ]  # fmt: skip
    note = "2 GiB of rows out of 16 GiB; bytes read and written, the index left out."
    few = [
        Gather(GI // width, count, width, rows=True, priority=2)
        for width in (100, 256, 1024)
        for count in (16, 256, 4 * KI)
    ]
    few_note = (
        "Few rows out of 1 GiB: the latency of the launch, and how many multiprocessors get work."
    )
    return (
        Table("rows", "gather of rows, uniform", "GB/s", ROWS, tuple(cases), note),
        Table("few rows", "gather of few rows, uniform", "GB/s", ROWS, tuple(few), few_note),
    )


def modes_tables():
    """The table of the cost of bounds checks."""
    cases = [
        Gather(m, n, priority=1 if (m, n) == (128 * MI, 128 * MI) else 2)
        for m, n in ((8 * MI, 16 * MI), (128 * MI, 16 * MI), (8 * MI, 128 * MI),
                     (128 * MI, 128 * MI))
    ]  # fmt: skip
    note = (
        "The direct path is forced, so that both access memory alike. The ratio is that of gpukern "
        "raise, the default mode with a new result."
    )
    return (Table("modes", "gather, modes against no check", "Gitem/s", MODES, tuple(cases), note),)
