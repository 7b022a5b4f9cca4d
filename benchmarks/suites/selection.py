# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases and tables of compress, nonzero and count_nonzero: what a mask of dtype bool selects."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.native import ITEMSIZE
from benchmarks.suites.cases import HOST, HOST_COUNTS, MI, Case, Table, size_text

COMPRESS = ("gpukern", "gpukern counted", "torch", "cupy", "jax", "memcpy")
NONZERO = ("gpukern", "gpukern counted", "torch", "cupy", "memcpy")
COUNT = ("gpukern", "torch", "cupy", "memcpy")
HOST_COMPRESS = ("gpukern", "numpy", "numpy x[mask]", "torch", "numba")
HOST_NONZERO = ("gpukern", "numpy", "torch", "numba")
SECTOR = 32  # bytes, the least that a GPU reads
COUNTED = "The size of the result is given, but `counted` counts it first, as torch and CuPy do."
NOTE = (
    "N items; bytes of the mask and of the items read, and of the result. Of elements, the sectors "
    "of 32 bytes with a selected one are read; of rows, those that the mask selects."
)
NONZERO_NOTE = "N elements; bytes of the mask and of the int64 result."


@lru_cache(maxsize=1)
def mask_of(n, percent):
    """Return a mask that selects about this percentage of n items."""
    return np.random.default_rng(n).integers(0, 100, n, np.uint8) < percent


@lru_cache(maxsize=1)
def sectors_of(n, percent, items):
    """Return how many sectors of some items each have one that the mask selects."""
    return int(
        np.count_nonzero(np.logical_or.reduceat(mask_of(n, percent), np.arange(0, n, items)))
    )


@dataclass(frozen=True)
class Masked(Case):
    """The base: a 1-D mask of n elements, of which about a percentage is True."""

    n: int
    percent: int

    @property
    def mask(self):
        """The mask, of dtype bool."""
        return mask_of(self.n, self.percent)

    @property
    def selected(self):
        """The number of True elements."""
        return int(np.count_nonzero(self.mask))

    def work(self, unit):
        """Units of work of one call."""
        return {"GB/s": self.traffic * 1e-9}[unit]

    def columns(self):
        """The fields that identify this case in a table."""
        return {"N": size_text(self.n), "selected": f"{self.percent}%"}


@dataclass(frozen=True)
class Nonzero(Masked):
    """``nonzero`` of the mask."""

    @property
    def result_bytes(self):
        """Bytes of the result."""
        return 8 * self.selected

    @property
    def traffic(self):
        """Bytes read and written."""
        return self.n + self.result_bytes

    def text(self):
        """The label without the memory."""
        return f"nonzero N={size_text(self.n)} {self.percent}% selected"


@dataclass(frozen=True)
class CountNonzero(Masked):
    """``count_nonzero`` of the mask, a number on the host."""

    result_bytes = 8

    @property
    def traffic(self):
        """Bytes read."""
        return self.n

    def text(self):
        """The label without the memory."""
        return f"count_nonzero N={size_text(self.n)} {self.percent}% selected"


@dataclass(frozen=True)
class Compress(Masked):
    """``compress`` of n items, elements or rows, along axis 0."""

    dtype: str = "float32"
    row_length: int = 1

    @property
    def row(self):
        """The shape of an item: one element has none."""
        return () if self.row_length == 1 else (self.row_length,)

    @property
    def width(self):
        """Bytes of an item."""
        return self.row_length * ITEMSIZE[self.dtype]

    @property
    def result_bytes(self):
        """Bytes of the result."""
        return self.selected * self.width

    @property
    def read_bytes(self):
        """Bytes of the items that must be read."""
        if self.row:
            return self.result_bytes
        return SECTOR * sectors_of(self.n, self.percent, SECTOR // self.width)

    @property
    def traffic(self):
        """Bytes that must be read and written."""
        return self.n + self.read_bytes + self.result_bytes

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "N": size_text(self.n),
            "dtype": self.dtype,
            "columns": str(self.row_length),
            "selected": f"{self.percent}%",
        }

    def text(self):
        """The label without the memory."""
        return (
            f"compress N={size_text(self.n)} x {self.row_length} {self.dtype} {self.percent}% "
            "selected"
        )


def compress_tables():
    """Tables of compress of device arrays: shares of float32, dtypes, rows."""
    shares = [Compress(256 * MI, percent, priority=1 if percent == 50 else 2)
              for percent in (1, 10, 50, 90, 99)]  # fmt: skip
    shares += [Compress(n, 50) for n in (MI, 16 * MI)]
    others = [
        Compress(64 * MI, 50, dtype, priority=2) for dtype in ("float16", "float64", "complex128")
    ]
    others += [Compress(4 * MI, 50, row_length=length, priority=2) for length in (3, 64, 256)]
    return (
        Table("compress", "compress of float32", "GB/s", COMPRESS, tuple(shares),
              f"{NOTE} {COUNTED}"),
        Table("compress dtypes", "compress, dtypes and rows", "GB/s", COMPRESS, tuple(others),
              f"{NOTE} {COUNTED}"),
    )  # fmt: skip


def selection_tables():
    """Tables of device arrays."""
    nonzero = (Nonzero(64 * MI, 50), Nonzero(64 * MI, 1))
    count = (CountNonzero(64 * MI, 50), CountNonzero(64 * MI, 1, priority=2))
    count_note = "N elements; bytes of the mask. The count is on the host, also that of the peers."
    return (
        *compress_tables(),
        Table("nonzero", "nonzero of bool", "GB/s", NONZERO, nonzero, f"{NONZERO_NOTE} {COUNTED}"),
        Table("count nonzero", "count_nonzero of bool", "GB/s", COUNT, count, count_note),
    )


def host_tables():
    """Tables of host arrays on all cores."""
    options = {"memory": HOST, "new_result": True}
    compress, nonzero = (
        tuple(make(n, 50, priority=priority, **options) for n, priority in HOST_COUNTS.items())
        for make in (Compress, Nonzero)
    )
    title = "host arrays: {}, new result"
    return (
        Table("host compress", title.format("compress of float32"), "GB/s", HOST_COMPRESS,
              compress, NOTE),
        Table("host nonzero", title.format("nonzero of bool"), "GB/s", HOST_NONZERO, nonzero,
              NONZERO_NOTE),
    )  # fmt: skip
