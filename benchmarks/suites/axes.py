# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases and tables of take_along_axis, and of gather and scatter by a tuple of two indices.

All indices are int64. The flat index, into the flattened source or into its rows, has the same
result: a kernel without checks uses it, unless the case has none.
"""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from benchmarks.suites.cases import (
    HOST,
    HOST_COUNTS,
    KI,
    MI,
    Case,
    Table,
    along_axes,
    size_text,
)

READ = ("gpukern", "torch", "cupy", "jax", "unchecked", "memcpy")
ADD = ("gpukern", "gpukern any", "plain", "torch", "cupy", "jax", "memcpy")
HOST_READ = ("gpukern", "numpy", "torch", "numba")
SIDE = 8 * KI
HOST_SIDE = 4 * KI
NOTE = "Bytes of indices and items read and of the result."


@dataclass(frozen=True)
class Indexed(Case):
    """The base: items of a float32 array of two axes, or rows of one of three."""

    height: int
    length: int

    dtype = "float32"
    index_itemsize = 8
    row = ()
    has_flat = True

    @property
    def width(self):
        """Bytes of an item."""
        return 4 * (self.row[0] if self.row else 1)

    @property
    def m(self):
        """The number of items of the source."""
        return self.height * self.length

    @property
    def shape(self):
        """The shape of the source."""
        return self.height, self.length, *self.row

    @property
    def source_bytes(self):
        """Bytes of the source."""
        return self.m * self.width

    @property
    def result_bytes(self):
        """Bytes of the result."""
        return self.n * self.width

    def work(self, unit):
        """Units of work of one call, the indices included."""
        return {"GB/s": self.traffic * 1e-9, "Gupdate/s": self.n * 1e-9}[unit]


@dataclass(frozen=True)
class TakeAlongAxis(Indexed):
    """``take_along_axis`` of a matrix, with ``taken`` indices along the axis for each line of it.

    Zero indices stand for as many as the axis is long.
    """

    axis: int
    taken: int = 0

    index_count = 1

    @property
    def has_flat(self):
        """Whether there is a flat index; otherwise a kernel reads along the axis."""
        return self.taken > 0

    @property
    def index_shape(self):
        """The shape of index and result."""
        taken = self.taken or self.shape[self.axis]
        return (taken, self.length) if self.axis == 0 else (self.height, taken)

    @property
    def n(self):
        """The number of elements taken."""
        return self.index_shape[0] * self.index_shape[1]

    @property
    def traffic(self):
        """Bytes that must be read and written."""
        return self.n * 16

    def draw(self, rng):
        """Return the index, alone in a tuple, and the flat one; uniform."""
        index = rng.integers(0, self.shape[self.axis], self.index_shape)
        rows, columns = np.indices(self.index_shape, sparse=True)
        flat = index * self.length + columns if self.axis == 0 else rows * self.length + index
        return (index,), flat

    def columns(self):
        """The fields that identify this case in a table."""
        source, index = (
            f"({', '.join(map(size_text, shape))})" for shape in (self.shape, self.index_shape)
        )
        return {"source": source, "index": index, "axis": "last" if self.axis else "first"}

    def text(self):
        """The label without the memory."""
        source, index = (" x ".join(map(size_text, s)) for s in (self.shape, self.index_shape))
        return f"take_along_axis {source} axis={self.axis} index {index}"


@dataclass(frozen=True)
class Pairs(Indexed):
    """The base: n pairs of indices into a matrix of elements, or of rows of some length."""

    n: int
    row_length: int = 1

    index_count = 2

    @property
    def row(self):
        """The shape of an item: one element has none."""
        return () if self.row_length == 1 else (self.row_length,)

    @property
    def index_shape(self):
        """The shape of either index."""
        return (self.n,)

    def draw(self, rng):
        """Return the two indices and the flat one; uniform."""
        first, second = (rng.integers(0, length, self.n) for length in self.shape[:2])
        return (first, second), first * self.length + second

    def columns(self):
        """The fields that identify this case in a table."""
        source = f"({', '.join(map(size_text, self.shape))})"
        return {"source": source, "N": size_text(self.n)}

    def text(self):
        """The label without the memory."""
        return f"{' x '.join(map(size_text, self.shape))} N={size_text(self.n)} pairs"


@dataclass(frozen=True)
class GatherPairs(Pairs):
    """``source[i, j]``."""

    @property
    def traffic(self):
        """Bytes that must be read and written if no item is read twice."""
        return self.n * (16 + 2 * self.width)

    def text(self):
        """The label without the memory."""
        return f"gather {super().text()}"


@dataclass(frozen=True)
class AddPairs(Pairs):
    """``target[i, j] += values``, also for equal pairs."""

    reduce = "add"
    in_place = True

    @property
    def result_bytes(self):
        """Bytes of the target."""
        return self.source_bytes

    @property
    def traffic(self):
        """Bytes that must be read and written if each touched element moves once."""
        return self.n * (16 + self.width) + 2 * min(self.m, self.n) * self.width

    def text(self):
        """The label without the memory."""
        return f"scatter add {super().text()}"


def axes_tables():
    """Tables of device arrays."""
    along = (*along_axes(TakeAlongAxis), TakeAlongAxis(SIDE, SIDE, 1, taken=64, priority=2))
    pairs = (GatherPairs(SIDE, SIDE, 16 * MI), GatherPairs(KI, KI, 4 * MI, 64))
    add_note = "N values, two int64 indices. gpukern and torch add in a fixed order."
    return (
        Table("take along axis", "take_along_axis, float32, uniform", "GB/s", READ, along, NOTE),
        Table("tuple gather", "gather by two indices, float32, uniform", "GB/s", READ, pairs, NOTE),
        Table("tuple add", "scatter add by two indices, float32, uniform", "Gupdate/s", ADD,
              (AddPairs(SIDE, SIDE, 16 * MI),), add_note),
    )  # fmt: skip


def host_tables():
    """Tables of host arrays on all cores."""
    options = {"memory": HOST, "new_result": True}
    along = [
        TakeAlongAxis(isqrt(n), isqrt(n), axis, priority=priority if axis else 2, **options)
        for axis in (1, 0)
        for n, priority in HOST_COUNTS.items()
    ]
    pairs = [
        GatherPairs(HOST_SIDE, HOST_SIDE, n, priority=priority, **options)
        for n, priority in HOST_COUNTS.items()
    ]
    title = "host arrays: {}, float32, uniform, new result"
    return (
        Table("host take along axis", title.format("take_along_axis"), "GB/s", HOST_READ,
              tuple(along), NOTE),
        Table("host tuple gather", title.format("gather by two indices"), "GB/s", HOST_READ,
              tuple(pairs), NOTE),
    )  # fmt: skip
