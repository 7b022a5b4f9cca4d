# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of cases on host arrays, computed by the CPU or through a GPU."""

from dataclasses import replace
from functools import partial

from benchmarks.suites import axes, bags, scatter, selection
from benchmarks.suites.cases import GI, HOST, KI, MI, Gather, Saxpy, Table

HostSaxpy, HostGather = partial(Saxpy, memory=HOST), partial(Gather, memory=HOST)

SAXPY = ("gpukern", "numpy", "numpy out", "torch", "numba", "memcpy")
GATHER = (
    "gpukern", "gpukern clip", "numpy", "numpy raise", "numpy x[i]", "torch", "numba", "memcpy",
)  # fmt: skip
SAXPY_CUDA = ("gpukern cuda", "gpukern cpu", "plain copies", "cupy", "torch cuda", "staging")
SAXPY_PINNED = ("gpukern pinned", "gpukern cpu", "plain pinned", "torch pinned", "pcie")
GATHER_CUDA = ("gpukern cuda", "gpukern cpu", "plain copies", "cupy", "torch cuda", "staging")
GATHER_PINNED = ("gpukern pinned", "gpukern cpu", "plain pinned", "torch pinned", "pcie")
HYBRID = ("gpukern hybrid", "torch, then copy", "pcie in")
LINK = ("pcie in", "pcie out", "pcie both", "memcpy one way")

SIZES = (1, 32, 1000, 16 * KI, 256 * KI, MI, 4 * MI, 16 * MI, 128 * MI)
QUICK = (1, 1000, MI, 16 * MI, 128 * MI)
GATHER_QUICK = QUICK[:-1]  # NumPy takes seconds for 128Mi
DISTRIBUTIONS = (
    ("uniform", "int32"),
    *((name, "int64") for name in ("sorted", "blocked", "zipf", "equal")),
)

POOL_BYTES = 512 * MI  # of the source of rows, the size of the largest source of items
ROWS_BYTES = 64 * MI  # of the gathered rows
SMALL_TABLE, LARGE_TABLE = 4 * GI, 32 * GI  # page-locked; the large one if memory allows


def new_results(cases):
    """The same cases without ``out=``."""
    return tuple(replace(case, new_result=True) for case in cases)


def saxpy_tables():
    """Tables of saxpy on all cores."""
    cases = tuple(HostSaxpy("float32", n, priority=1 if n in QUICK else 2) for n in SIZES)
    title = "host arrays: saxpy, float32"
    return (
        Table("host saxpy", f"{title}, out=", "GB/s", SAXPY, cases),
        Table("host saxpy new", f"{title}, new result", "GB/s", SAXPY, new_results(cases)),
    )


def gather_tables():
    """Tables of gather on all cores: over the count, the source, the distributions, and rows."""
    big = 128 * MI
    cases = tuple(
        HostGather(m, n, index="int64", priority=1 if m == big and n in GATHER_QUICK else 2)
        for m in (MI, big)
        for n in SIZES
    )
    distributions = tuple(
        HostGather(big, 16 * MI, index=index, distribution=distribution, priority=2)
        for distribution, index in DISTRIBUTIONS
    )
    rows = tuple(
        HostGather(POOL_BYTES // width, ROWS_BYTES // width, width, "int64", rows=True,
                   priority=1 if width in (64, 256) else 2)
        for width in (16, 32, 64, 128, 256, 1024, 4096)
    )  # fmt: skip
    title = "host arrays: gather, float32"
    note = "M items in the source, N gathered."
    rows_note = "64 MiB of rows out of 512 MiB; bytes read and written, the index left out."
    return (
        Table("host gather", f"{title}, out=", "Gitem/s", GATHER, cases, note),
        Table("host gather new", f"{title}, new result", "Gitem/s", GATHER, new_results(cases),
              note),
        Table("host gather distributions", f"{title}, distributions of the index", "Gitem/s",
              GATHER, distributions),
        Table("host rows", "host arrays: gather of rows, uniform", "GB/s", GATHER, rows,
              rows_note),
    )  # fmt: skip


def cuda_tables():
    """Tables of host arrays that are computed on the GPU."""
    big = 128 * MI
    saxpy = tuple(
        HostSaxpy("float32", n, priority=1 if n >= 16 * MI else 2)
        for n in (MI, 4 * MI, 16 * MI, big)
    )
    gather = tuple(
        HostGather(big, n, index="int32", priority=1 if n == MI else 2)
        for n in (64 * KI, MI, 16 * MI, big)
    )
    shapes = ((SMALL_TABLE, 256 * MI, 1), (LARGE_TABLE, GI, 1), (LARGE_TABLE, 256 * MI, 2))
    hybrid = tuple(
        HostGather(table // width, out // width, width, "int64", rows=True, priority=priority)
        for table, out, priority in shapes
        for width in (256, 1024)
    )
    link = (HostSaxpy("float32", 64 * MI),)
    pageable, pinned = "host arrays through the GPU", "page-locked arrays through the GPU"
    return (
        Table("host saxpy cuda", f"{pageable}: saxpy, float32", "GB/s", SAXPY_CUDA, saxpy),
        Table("host saxpy pinned", f"{pinned}: saxpy, float32", "GB/s", SAXPY_PINNED, saxpy),
        Table("host gather cuda", f"{pageable}: gather, float32", "Gitem/s", GATHER_CUDA, gather),
        Table("host gather pinned", f"{pinned}: gather, float32", "Gitem/s", GATHER_PINNED,
              gather),
        Table("host hybrid rows", "rows of a page-locked source to the GPU", "GB/s", HYBRID, hybrid,
              "M rows in the source, N gathered; index and result are on the GPU; bytes of rows."),
        Table("host link", "PCIe and memory, one way: bytes copied", "GB/s", LINK, link),
    )  # fmt: skip


def host_tables(gpu):
    """All tables for host arrays; without a GPU, those that do not need one."""
    tables = saxpy_tables() + gather_tables()
    for suite in (axes, scatter, bags, selection):
        tables += suite.host_tables()
    return tables + cuda_tables() if gpu else tables
