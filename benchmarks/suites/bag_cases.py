# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases that reduce segments of an array, or bags of its rows, and the lengths of these."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.native import ITEMSIZE
from benchmarks.suites.cases import KI, Case, size_text

LONGEST = 64 * KI  # of the bags whose lengths follow Zipf's law


@lru_cache(maxsize=1)  # they may be as large as the index
def offsets_of(lengths, n):
    """Return the int64 offsets of bags, none of them empty, of n items in all.

    ``lengths`` is a number, which the last bag may fall short of; ``all`` for one bag; ``half`` for
    one bag of half of the items among bags of 10; ``1 to 20``, uniform; or ``zipf``, where a bag
    has k items or more with a probability of about 1 / k.
    """
    rng = np.random.default_rng(n)
    if lengths == "all":
        starts = [0]
    elif lengths == "half":
        quarter = n // 4
        parts = (np.arange(0, quarter, 10), [quarter], np.arange(quarter + n // 2, n, 10))
        starts = np.concatenate(parts)
    elif lengths.isdigit():
        starts = np.arange(0, n, int(lengths))
    else:
        uniform = lengths == "1 to 20"
        share = LONGEST / (LONGEST + 1)
        drawn = rng.integers(1, 21, n) if uniform else 1 / (1 - rng.random(n) * share)
        ends = np.cumsum(drawn.astype(np.int64))
        starts = np.concatenate(([0], ends[: np.searchsorted(ends, n)]))
    return np.append(starts, n).astype(np.int64)


@dataclass(frozen=True)
class Reduction(Case):
    """The base of both: n rows of ``row_length`` elements in bags."""

    n: int
    lengths: str
    row_length: int

    @property
    def row_bytes(self):
        """Bytes of a row."""
        return self.row_length * ITEMSIZE[self.dtype]

    @property
    def offsets(self):
        """The offsets of the bags."""
        return offsets_of(self.lengths, self.n)

    @property
    def bags(self):
        """The number of bags."""
        return self.offsets.size - 1

    @property
    def one_long(self):
        """Whether one bag has most of the items."""
        return self.lengths in ("half", "all")

    @property
    def result_bytes(self):
        """Bytes of the result."""
        return self.bags * self.row_bytes

    @property
    def moved(self):
        """Bytes of rows read and results written, if no row is read twice."""
        return self.n * self.row_bytes + self.result_bytes

    @property
    def traffic(self):
        """The same, and the offsets."""
        return self.moved + self.offsets.nbytes

    def work(self, unit):
        """Units of work of one call."""
        return {"GB/s": self.moved * 1e-9}[unit]


@dataclass(frozen=True)
class Segments(Reduction):
    """``segment_reduce``: sums of segments of contiguous rows of float32."""

    dtype = "float32"
    reduce = "sum"
    weights = False

    @property
    def m(self):
        """The rows of the source."""
        return self.n

    @property
    def row(self):
        """The shape of a row: one column is a vector."""
        return () if self.row_length == 1 else (self.row_length,)

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "N": size_text(self.n),
            "columns": str(self.row_length),
            "items a segment": self.lengths,
        }

    def text(self):
        """The label without the memory."""
        return f"segment sum N={size_text(self.n)} x {self.row_length} of {self.lengths}"


@dataclass(frozen=True)
class Bags(Reduction):
    """``gather_reduce``: bags of n items that an int64 index takes from a table of m rows."""

    m: int
    reduce: str = "sum"
    dtype: str = "float32"
    weights: bool = False
    distribution: str = "uniform"

    @property
    def row(self):
        """The shape of a row."""
        return (self.row_length,)

    @property
    def traffic(self):
        """Bytes moved, the offsets, the index and the weights."""
        return super().traffic + self.n * (8 + self.weights * ITEMSIZE[self.dtype])

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "M": size_text(self.m),
            "N": size_text(self.n),
            "columns": str(self.row_length),
            "items a bag": self.lengths,
            "distribution": self.distribution,
            "reduce": f"weighted {self.reduce}" if self.weights else self.reduce,
            "dtype": self.dtype,
            **self.result_column(),
        }

    def text(self):
        """The label without the memory."""
        weighted = "weighted " if self.weights else ""
        return (
            f"bag {weighted}{self.reduce} M={size_text(self.m)} N={size_text(self.n)} x "
            f"{self.row_length} of {self.lengths} {self.dtype} {self.distribution}"
        )
