# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of scatter, put_along_axis and bincount, on device and host arrays."""

from dataclasses import replace
from functools import partial
from math import isqrt

from benchmarks.suites.cases import GI, HOST, HOST_COUNTS, KI, MI, Table, along_axes
from benchmarks.suites.scatter_cases import Bincount, PutAlongAxis, Scatter

ADD = (
    "gpukern", "gpukern any", "plain", "torch scatter", "torch index", "torch deterministic",
    "cupy", "jax", "memcpy",
)  # fmt: skip
PUT = ("gpukern", "plain", "torch scatter", "torch index", "cupy", "jax", "memcpy")
MAX = ("gpukern", "gpukern any", "plain", "torch scatter", "cupy", "jax")
RAISE = ("gpukern raise", "gpukern clip", "torch index", "torch deterministic", "memcpy")
ALONG = ("gpukern", "plain", "torch", "cupy", "jax", "memcpy")
BINCOUNT = (
    "gpukern", "gpukern fill", "gpukern any", "torch", "torch scatter", "cupy", "memcpy",
)  # fmt: skip
HOST_ALONG = ("gpukern", "numpy", "torch", "numba")
HOST_BINCOUNT = ("gpukern", "numpy", "torch", "numba")
HOST_ADD = ("gpukern", "numpy", "torch index", "torch scatter", "numba")

BIG = 128 * MI
DISTRIBUTIONS = ("uniform", "skewed", "half", "sorted")
SIZES = ((BIG, BIG), (64 * KI, BIG), (MI, MI), (MI, 64 * KI), (MI, KI))
ROWS = 4 * MI
NOTE = "N values for M of the target; int64 index."
ADD_NOTE = (
    f"{NOTE} gpukern adds in a fixed order, gpukern any in any order. torch deterministic is "
    "left out where one index has more than 512 Ki values, which takes it seconds."
)


def add_priority(m, n, distribution):
    """Return a point's priority: 1 for those with a target."""
    if (m, n) == (BIG, BIG):
        return 1
    return 1 if distribution == "uniform" and (m, n) != (MI, KI) else 2


def rows_of(reduce, distribution, quick):
    """Return cases of 1 GiB of rows for 4 Mi rows of the target."""
    return [
        Scatter(ROWS, GI // width, reduce, row_bytes=width, distribution=distribution,
                priority=1 if width in quick else 2)
        for width in (64, 128, 512, 1024)
    ]  # fmt: skip


def add_tables():
    """Tables of additions: items over sizes and distributions, dtypes, rows."""
    items = [
        Scatter(m, n, distribution=distribution, priority=add_priority(m, n, distribution))
        for distribution in DISTRIBUTIONS
        for m, n in SIZES
    ]
    dtypes = [
        Scatter(BIG, BIG, dtype=dtype, priority=2)
        for dtype in ("float16", "bfloat16", "float64", "int32")
    ]
    rows = rows_of("add", "uniform", (128, 512)) + rows_of("add", "half", (128,))
    rows_note = (
        f"1 GiB of rows for {ROWS // MI} Mi rows; bytes of values read, target read and written, "
        "the index left out. torch scatter expands the index."
    )
    return (
        Table("scatter add", "scatter add, float32", "Gupdate/s", ADD, tuple(items), ADD_NOTE),
        Table("scatter add dtypes", "scatter add, dtypes", "Gupdate/s", ADD, tuple(dtypes)),
        Table("scatter add rows", "scatter add of rows", "GB/s", ADD, tuple(rows), rows_note),
    )


def put_tables():
    """Tables of assignments: items, rows, along an axis of a matrix; and of maximum and minimum."""
    put = partial(Scatter, reduce=None)
    items = [put(m, n, priority=1 if m == BIG else 2) for m, n in SIZES]
    items += [put(BIG, BIG, distribution="half", priority=2)]
    rows = rows_of(None, "uniform", (128, 512)) + rows_of(None, "half", ())
    most = [Scatter(BIG, BIG, "max", distribution=each, priority=2) for each in ("uniform", "half")]
    most += [Scatter(BIG, BIG, "min", priority=2)]
    undefined = "The last of the values for one index remains; the peers keep any of them."
    return (
        Table("scatter put", "scatter, float32", "Gupdate/s", PUT, tuple(items),
              f"{NOTE} {undefined}"),
        Table("scatter put rows", "scatter of rows", "GB/s", PUT, tuple(rows),
              f"1 GiB of rows for {ROWS // MI} Mi rows; bytes read and written, the index left "
              f"out. {undefined}"),
        Table("put along axis", "put_along_axis, float32", "GB/s", ALONG,
              along_axes(PutAlongAxis), f"The index is int64 and counted. {undefined}"),
        Table("scatter max", "scatter max and min, float32", "Gupdate/s", MAX, tuple(most), NOTE),
    )  # fmt: skip


def checked_tables():
    """Tables in the default mode, which checks all indices first and waits; and of bincount."""
    added = [
        Scatter(m, 16 * MI, distribution=distribution, priority=1 if m == MI else 2)
        for distribution in ("uniform", "sorted")
        for m in (MI, 16 * MI)
    ]
    counted = [Bincount(16 * MI, bins, weights) for weights in (False, True) for bins in (KI, MI)]
    counted += [Bincount(128 * MI, 64 * KI)]
    note = (
        f"{NOTE} gpukern raise is the default mode, which waits for the stream; gpukern clip only "
        "enqueues its work. Both add in a fixed order."
    )
    bincount_note = (
        "N int64 numbers in the bins, uniform. gpukern counts in mode raise, gpukern any also, but "
        "in any order; gpukern fill only enqueues its work. torch and CuPy read the least and the "
        "largest number first, and wait; torch scatter is scatter_add_ of ones or weights to zeros."
    )
    return (
        Table("scatter raise", "scatter add in mode raise, float32", "Gupdate/s", RAISE,
              tuple(added), note),
        Table("bincount", "bincount", "Gitem/s", BINCOUNT, tuple(counted), bincount_note),
    )  # fmt: skip


def scatter_tables():
    """Tables of device arrays."""
    return add_tables() + put_tables() + checked_tables()


def host_tables():
    """Tables of host arrays on all cores."""
    sizes = ((KI, KI), (64 * KI, 64 * KI), (MI, MI), (16 * MI, 16 * MI), (KI, 16 * MI))
    add = tuple(
        Scatter(m, n, memory=HOST, priority=1 if n in (KI, MI, 16 * MI) else 2) for m, n in sizes
    )
    put = tuple(replace(case, reduce=None) for case in add)
    along = tuple(
        PutAlongAxis(isqrt(n), isqrt(n), axis, memory=HOST, priority=priority if axis else 2)
        for axis in (1, 0)
        for n, priority in HOST_COUNTS.items()
    )
    counted = tuple(
        Bincount(n, KI, weights, memory=HOST, new_result=True, priority=2 if weights else priority)
        for weights in (False, True)
        for n, priority in HOST_COUNTS.items()
    )
    title = "host arrays:"
    return (
        Table("host scatter add", f"{title} scatter add, float32", "Gupdate/s", HOST_ADD, add,
              NOTE),
        Table("host scatter put", f"{title} scatter, float32", "Gupdate/s", HOST_ADD, put, NOTE),
        Table("host put along axis", f"{title} put_along_axis, float32", "GB/s", HOST_ALONG, along,
              "The index is int64 and counted."),
        Table("host bincount", f"{title} bincount, new result", "Gitem/s", HOST_BINCOUNT, counted,
              "N int64 numbers in the bins, uniform."),
    )  # fmt: skip
