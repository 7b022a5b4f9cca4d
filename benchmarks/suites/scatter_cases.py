# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases that write to a target by an index, or count one."""

from dataclasses import dataclass

from benchmarks.native import ITEMSIZE
from benchmarks.suites.cases import Case, size_text


@dataclass(frozen=True)
class Scatter(Case):
    """``target[index] = values``, or combined with it: n values, or rows, for m of the target."""

    m: int
    n: int
    reduce: str | None = "add"
    dtype: str = "float32"
    row_bytes: int = 0  # 0 for items
    index: str = "int64"
    distribution: str = "uniform"

    in_place = True

    @property
    def width(self):
        """Bytes of an item or a row."""
        return self.row_bytes or ITEMSIZE[self.dtype]

    @property
    def row(self):
        """The shape of an item."""
        return (self.row_bytes // ITEMSIZE[self.dtype],) if self.row_bytes else ()

    @property
    def index_itemsize(self):
        """Bytes of an index."""
        return ITEMSIZE[self.index]

    @property
    def result_bytes(self):
        """Bytes of the target."""
        return self.m * self.width

    @property
    def moved(self):
        """Bytes of values and target that are read and written, if no two indices are equal."""
        return (2 if self.reduce is None else 3) * self.n * self.width

    @property
    def traffic(self):
        """Bytes that must be read and written if each touched line of the target moves once."""
        values = self.n * self.width
        touched = min(self.m, self.n) * self.width
        return self.n * self.index_itemsize + values + (1 if self.reduce is None else 2) * touched

    def most_of_one(self):
        """The expected number of values for the most frequent index."""
        shares = {"half": 0.5, "skewed": self.m ** (-1 / 8)}
        return self.n * max(shares.get(self.distribution, 0), 1 / self.m)

    def work(self, unit):
        """Units of work of one call; a rate of rows excludes the index."""
        return {"GB/s": self.moved * 1e-9, "Gupdate/s": self.n * 1e-9}[unit]

    def copied_bytes(self):
        """Bytes of the copy that bounds a scatter: values to the target."""
        return min(self.m, self.n) * self.width

    def streamed_work(self, unit):
        """The work of a scatter whose whole traffic is streamed like that copy."""
        copied = 2 * self.copied_bytes()
        if unit == "GB/s":
            return copied * 1e-9
        return copied / (self.traffic / self.n) * 1e-9

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "M": size_text(self.m),
            "N": size_text(self.n),
            "reduce": self.reduce or "put",
            "dtype": self.dtype,
            "row bytes": str(self.row_bytes or "-"),
            "distribution": self.distribution,
        }

    def text(self):
        """The label without the memory."""
        row = f" rows of {self.row_bytes} B" if self.row_bytes else ""
        return (
            f"scatter {self.reduce or 'put'} M={size_text(self.m)} N={size_text(self.n)}{row} "
            f"{self.dtype} {self.distribution}"
        )


@dataclass(frozen=True)
class PutAlongAxis(Case):
    """``put_along_axis`` of a float32 matrix with an int64 index of its shape."""

    height: int
    length: int
    axis: int

    dtype = "float32"
    in_place = True

    @property
    def shape(self):
        """The shape of target, index and values."""
        return self.height, self.length

    @property
    def n(self):
        """The number of elements."""
        return self.height * self.length

    @property
    def result_bytes(self):
        """Bytes of the target."""
        return self.n * 4

    @property
    def traffic(self):
        """Bytes that must be read and written."""
        return self.n * 16

    def work(self, unit):
        """Units of work of one call, the index included."""
        return {"GB/s": self.traffic * 1e-9, "Gupdate/s": self.n * 1e-9}[unit]

    def columns(self):
        """The fields that identify this case in a table."""
        shape = f"({size_text(self.height)}, {size_text(self.length)})"
        return {"shape": shape, "axis": "last" if self.axis else "first"}

    def text(self):
        """The label without the memory."""
        extents = " x ".join(map(size_text, self.shape))
        return f"put_along_axis {extents} axis={self.axis}"


@dataclass(frozen=True)
class Bincount(Case):
    """``bincount`` of n int64 numbers, uniform, or the sums of their float64 weights."""

    n: int
    bins: int
    weights: bool = False

    @property
    def dtype(self):
        """The dtype of the result."""
        return "float64" if self.weights else "int64"

    @property
    def result_bytes(self):
        """Bytes of the result."""
        return 8 * self.bins

    @property
    def traffic(self):
        """Bytes that must be read and written."""
        return 8 * (self.n * (1 + self.weights) + self.bins)

    def work(self, unit):
        """Units of work of one call."""
        return {"Gitem/s": self.n * 1e-9}[unit]

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "N": size_text(self.n),
            "bins": size_text(self.bins),
            "weights": "float64" if self.weights else "none",
        }

    def text(self):
        """The label without the memory."""
        weighted = " weighted" if self.weights else ""
        return f"bincount N={size_text(self.n)} bins={size_text(self.bins)}{weighted}"
