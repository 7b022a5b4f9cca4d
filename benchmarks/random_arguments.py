# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The random arguments of benchmarks.random_calls: chosen without a GPU, and made on one."""

import dataclasses
import math

import numpy as np

from benchmarks.layouts import broadcast, permuted

FLOATS = *["float32"] * 4, "float64", "float16", "bfloat16"
DTYPES = *FLOATS, "int32", "int64", "uint8", "int16"
REDUCTIONS = "sum", "mean", "max"
SEGMENT_COLUMNS = 1, 1, 2, 3, 4, 8, 16, 17, 64, 100, 256
BAG_COLUMNS = 4, 8, 16, 32, 64, 100, 128, 256
MOST = 2**27  # elements of an array whose size does not follow from that of another one
LAYOUTS = "contiguous", "contiguous", "permuted", "padded", "every second", "off by one element"
INDICES = "uniform", "sorted", "m u^6", "walk"


@dataclasses.dataclass(frozen=True)
class Array:
    """An array of random values; ``true`` is the part of a bool array that is True."""

    dtype: str
    shape: tuple
    layout: str = "contiguous"
    axes: tuple = ()
    true: float | None = None

    def __str__(self):
        true = "" if self.true is None else f" {self.true:.1%} True"
        axes = f" {self.axes}" if self.axes else ""
        return f"{self.dtype}{true} {self.shape} {self.layout}{axes}"

    def values(self, shape):
        """Return values in C order."""
        import torch

        if self.true is not None:
            return torch.rand(shape, device="cuda") < self.true
        dtype = getattr(torch, self.dtype)
        if dtype.is_floating_point:
            return torch.rand(shape, device="cuda").to(dtype)
        return torch.randint(100, shape, device="cuda").to(dtype)

    def make(self):
        """Return the tensor: a part of memory that has a value everywhere."""
        shape, axes = self.shape, self.axes
        if self.layout == "permuted":
            memory = self.values([shape[axis] for axis in axes])
            return permuted(memory, *np.argsort(axes).tolist())
        if self.layout == "off by one element":
            return self.values([math.prod(shape) + 1])[1:].view(shape)
        if self.layout == "contiguous":
            return self.values(shape)
        (axis,) = axes
        if self.layout == "repeated":
            return broadcast(self.values(replaced(shape, axis, 1)), shape)
        memory = self.values(replaced(shape, axis, 2 * shape[axis]))
        if self.layout == "padded":
            return memory.narrow(axis, 0, shape[axis])
        return memory[(slice(None),) * axis + (slice(None, None, 2),)]


@dataclasses.dataclass(frozen=True)
class Index:
    """Indices below ``end``; ``step`` is that of a walk."""

    shape: tuple
    end: int
    kind: str
    step: int

    def __str__(self):
        step = f" by {self.step}" if self.kind == "walk" else ""
        return f"{self.shape} below {self.end} {self.kind}{step}"

    def make(self):
        """Return the tensor."""
        from benchmarks.index_sets import powers, uniform, walk

        n = math.prod(self.shape)
        kinds = {
            "uniform": lambda: uniform(n, self.end),
            "sorted": lambda: uniform(n, self.end).sort().values,
            "m u^6": lambda: powers(n, self.end, 6),
            "walk": lambda: walk(n, self.end, self.step),
        }
        return kinds[self.kind]().long().view(self.shape)


@dataclasses.dataclass(frozen=True)
class Offsets:
    """The offsets of parts of ``n`` items, some of which are empty."""

    n: int
    parts: int

    def __str__(self):
        return f"{self.parts} parts of {self.n}"

    def make(self):
        """Return the tensor."""
        import torch

        offsets = torch.randint(self.n + 1, (self.parts + 1,), device="cuda")
        offsets[0], offsets[-1] = 0, self.n
        return offsets.sort().values


class Choices:
    """The random choices of one call."""

    def __init__(self, seed, number):
        self.rng = np.random.default_rng((seed, number))
        self.elements = int(2 ** self.rng.uniform(16, 25))

    def one_of(self, values):
        """Return one of some values."""
        return values[int(self.rng.integers(len(values)))]

    def size(self, low, high, times=1):
        """Return a size of `times` 2^low to 2^high."""
        return max(1, int(times * 2 ** self.rng.uniform(low, high)))

    def shape(self, least=1):
        """Return a shape with about as many elements as drawn, and at least that many axes."""
        axes = max(least, int(self.rng.integers(1, 5)))
        parts = np.diff([0, *np.sort(self.rng.random(axes - 1)), 1])
        sizes = [max(1, round(self.elements**part)) for part in parts[1:]]
        return (max(1, self.elements // math.prod(sizes)), *sizes)

    def array(self, dtype, shape, repeats=False):
        """Return an array in some layout; `repeats`: which may repeat its elements."""
        axis = int(self.rng.integers(len(shape)))
        if repeats and len(shape) > 1 and self.rng.random() < 0.3:
            return Array(dtype, shape, "repeated", (axis,))
        layout = self.one_of(LAYOUTS)
        if layout in ("padded", "every second"):
            return Array(dtype, shape, layout, (axis,))
        if layout == "permuted" and len(shape) > 1:
            return Array(dtype, shape, layout, tuple(self.rng.permutation(len(shape)).tolist()))
        return Array(dtype, shape, "contiguous" if layout == "permuted" else layout)

    def mask(self, shape):
        """Return an array of bool."""
        array = self.array("bool", shape)
        return dataclasses.replace(array, true=float(2 ** -self.rng.uniform(0, 8)))

    def index(self, shape, end):
        """Return indices."""
        return Index(shape, end, self.one_of(INDICES), int(self.rng.integers(1, 50)))


def replaced(shape, axis, size):
    """Return a shape with another size of an axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def choose_elementwise(*inputs, dtypes=FLOATS):
    """Return the function that chooses inputs and an output of one shape."""

    def choose(choices):
        dtype, shape = choices.one_of(dtypes), choices.shape()
        chosen = {name: choices.array(dtype, shape, repeats=True) for name in inputs}
        return chosen | {"out": choices.array(dtype, shape)}

    return choose


def choose_along(array, other):
    """Return the function that chooses an array, and another one with an index for each element."""

    def choose(choices):
        dtype, shape = choices.one_of(DTYPES), choices.shape(2)
        axis = int(choices.rng.integers(len(shape)))
        lines = replaced(shape, axis, choices.size(-3, 1, shape[axis]))
        return {
            array: choices.array(dtype, shape),
            "index": choices.index(lines, shape[axis]),
            "axis": axis,
            other: Array(dtype, lines),
        }

    return choose


def choose_gather(choices):
    """Choose a gather along an axis."""
    dtype, shape = choices.one_of(DTYPES), choices.shape(2)
    axis = int(choices.rng.integers(len(shape)))
    n = choices.size(-2, 2, shape[axis])
    return {
        "x": choices.array(dtype, shape),
        "index": choices.index((n,), shape[axis]),
        "axis": axis,
        "out": choices.array(dtype, replaced(shape, axis, n)),
    }


def choose_gather_tuple(choices):
    """Choose a gather by a tuple of indices."""
    shape = choices.shape(2)
    count = int(choices.rng.integers(2, len(shape) + 1))
    n = max(1, min(choices.size(14, 23), MOST // 2 // math.prod(shape[count:])))
    indices = {f"index{k}": choices.index((n,), shape[k]) for k in range(count)}
    return {"x": choices.array(choices.one_of(DTYPES), shape), **indices}


def choose_scatter(choices):
    """Choose values to add along an axis."""
    dtype, shape = choices.one_of(FLOATS), choices.shape()
    axis = int(choices.rng.integers(len(shape)))
    m = min(choices.size(-4, 4, shape[axis]), MOST * shape[axis] // math.prod(shape))
    return {
        "target": choices.array(dtype, replaced(shape, axis, m)),
        "index": choices.index((shape[axis],), m),
        "values": choices.array(dtype, shape),
        "axis": axis,
    }


def choose_bincount(choices):
    """Choose numbers to count."""
    bins = choices.size(3, 22)
    return {"index": choices.index((choices.elements,), bins), "bins": bins}


def choose_compress(choices):
    """Choose a mask and an array of its shape."""
    shape = choices.shape()
    return {"mask": choices.mask(shape), "x": choices.array(choices.one_of(DTYPES), shape)}


def choose_nonzero(choices):
    """Choose a mask."""
    return {"mask": choices.mask(choices.shape())}


def choose_count(choices):
    """Choose an array."""
    return {"x": choices.array(choices.one_of(DTYPES), choices.shape())}


def choose_segments(choices):
    """Choose segments of rows."""
    columns = choices.one_of(SEGMENT_COLUMNS)
    n = choices.elements // columns
    return {
        "x": Array(choices.one_of(FLOATS), (n, columns)),
        "offsets": Offsets(n, choices.size(-10, 0, n)),
        "reduce": choices.one_of(REDUCTIONS),
    }


def choose_bags(choices):
    """Choose bags of rows."""
    columns = choices.one_of(BAG_COLUMNS)
    n, m = choices.elements // columns, min(choices.size(8, 21), MOST // columns)
    return {
        "x": Array(choices.one_of(FLOATS), (m, columns)),
        "index": choices.index((n,), m),
        "offsets": Offsets(n, choices.size(-7, 0, n)),
        "reduce": choices.one_of(REDUCTIONS),
    }
