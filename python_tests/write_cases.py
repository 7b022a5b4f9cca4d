# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Generated calls of scatter and put_along_axis, and their check at every place."""

import math
from dataclasses import dataclass

import numpy as np
import oracle
import pytest
import scatter_oracle
from conftest import CASES_PER_EXAMPLE
from hypothesis import strategies as st
from places import Interface, Window
from read_cases import (
    MODES,
    device_can_hold,
    make_valid,
    random_bytes,
    random_indices,
)
from strategies import GATHER_DTYPES, windows

import gpukern

REDUCED_DTYPES = [
    np.dtype(name)
    for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
] + [np.dtype(oracle.bfloat16)]
SWAPPED_DTYPES = [np.dtype(">i4"), np.dtype(">f8"), np.dtype(">c8")]


def zipf(n):
    """The probabilities of n numbers by Zipf's law, the first one's the largest."""
    weights = 1 / np.arange(1, n + 1)
    return weights / weights.sum()


# Of an index of m numbers below n.
DUPLICATES = {
    "all equal": lambda n, m, rng: np.full(m, n // 2),
    "half equal": lambda n, m, rng: np.where(rng.random(m) < 0.5, n // 3, rng.integers(0, n, m)),
    "sorted": lambda n, m, rng: np.sort(rng.integers(0, n, m)),
    "reversed": lambda n, m, rng: np.sort(rng.integers(0, n, m))[::-1],
    "alternating": lambda n, m, rng: np.arange(m) % 2 * (n - 1),
    "one in each block": lambda n, m, rng: np.where(np.arange(m) % 256, rng.integers(0, n, m), 0),
    "skewed": lambda n, m, rng: (rng.random(m) ** 8 * n).astype(int),
    "zipf": lambda n, m, rng: rng.choice(n, m, p=zipf(n)),
}


@dataclass(frozen=True)
class WritePlan:
    """The structure of a call; data and indices are random."""

    target: Window
    index: Window
    values: Window
    memory_of: dict  # of index, values and out: 'target' or their own name
    axis: int | None
    out: Window | None
    reduce: str | None


@st.composite
def kinds(draw):
    """A dtype and a reduction that it has."""
    if draw(st.booleans()):
        return draw(st.sampled_from(GATHER_DTYPES)), None
    dtype = draw(st.sampled_from(REDUCED_DTYPES + SWAPPED_DTYPES))
    return dtype, draw(st.sampled_from(scatter_oracle.reductions_of(dtype)))


@st.composite
def broadcast(draw, shape):
    """A shape that broadcasts to another one."""
    sizes = [draw(st.sampled_from([size, size, 1])) for size in shape]
    return tuple(sizes[draw(st.integers(0, len(sizes))) if draw(st.booleans()) else 0 :])


@st.composite
def write_plans(draw, target, index, index_dtype, updates, axis):
    """A call with arrays of these shapes; `updates` is that of all values."""
    dtype, reduce = draw(kinds())
    out = draw(windows(dtype, target, writable=True)) if draw(st.booleans()) else None
    shared = {
        name: draw(st.sampled_from([name, name, "target"])) for name in ("index", "values", "out")
    }
    return WritePlan(
        draw(windows(dtype, target, writable=True)),
        draw(windows(index_dtype, index)),
        draw(windows(dtype, draw(broadcast(updates)))),
        shared,
        axis,
        out.moved(draw(st.integers(0, 40))) if out else None,
        reduce,
    )


def repeated_indices(rng, dtype, shape, size):
    """As random_indices(); or in bounds, with duplicates of some kind."""
    kind = rng.choice(["", *DUPLICATES])
    if not kind:
        return random_indices(rng, dtype, shape, size)
    end = min(size, int(np.iinfo(dtype).max) + 1)
    return DUPLICATES[kind](end, math.prod(shape), rng).astype(dtype).reshape(shape)


class WriteCase:
    """A plan with data, and what has to come of them."""

    def __init__(self, operation, expected, plan, rng, indices):
        self.operation, self.plan = operation, plan
        self.mode = MODES[rng.integers(4)]
        arrays = (plan.target, plan.index, plan.values, plan.out or plan.target)
        room = max(window.extent for window in arrays) + 8
        self.memories = {
            name: random_bytes(rng, room) for name in ("target", "index", "values", "out")
        }
        target, index, values, _ = self.arrays(self.memories)
        for array in (target, values):
            make_valid(array, rng)
            make_moderate(array, rng)
        shape = plan.target.shape
        size = target.size if plan.axis is None or not shape else shape[plan.axis]
        index[...] = indices(rng, plan.index.dtype, index.shape, size)
        self.error = self.result = None
        try:
            self.result = expected(target, index, values, plan.axis, self.mode, plan.reduce)
        except IndexError as error:
            self.error = str(error)
        self.after = {name: memory.copy() for name, memory in self.memories.items()}
        if self.error is None:
            arrays = self.arrays(self.after)
            written = arrays[0] if plan.out is None else arrays[3]
            if plan.reduce is not None:  # back to the byte order
                self.result = oracle.raw(self.result.astype(written.dtype))
            oracle.write(written, self.result)

    def arrays(self, memories, on=None):
        """target, index, values and out (or None) on the memories."""
        on = on or (lambda memory, window: window.on(memory))
        plan = self.plan
        memory_of = {"target": "target", **plan.memory_of}
        return [
            None if window is None else on(memories[memory_of[name]], window)
            for name, window in zip(
                ("target", "index", "values", "out"),
                (plan.target, plan.index, plan.values, plan.out),
                strict=True,
            )
        ]

    @property
    def options(self):
        return {"axis": self.plan.axis, "mode": self.mode, "reduce": self.plan.reduce}


def make_moderate(array, rng):
    """Half of the floating-point arrays hold numbers whose sums are finite."""
    if array.dtype.kind in "fc" and array.dtype.char not in "gG" and rng.random() < 0.5:
        array[...] = rng.choice([0.1, -1 / 3, 7.7, -0.0, 0.0, 1e-3], array.shape)


def compare(case, memories, written, call):
    """Runs a call; compares its result or error, and every byte of the memories afterwards."""
    if case.error is not None:
        with pytest.raises(gpukern.errors.GpukernIndexError) as caught:
            call()
        assert str(caught.value) == case.error
    else:
        assert call() is written
    for name, memory in memories.items():
        host = memory if isinstance(memory, np.ndarray) else memory.numpy()
        assert np.array_equal(host, case.after[name]), name


def check_windows(case, place, memories, on=None):
    """Any layout and overlap, on the host or on the GPU."""
    target, index, values, out = case.arrays(memories, on)
    compare(
        case,
        memories,
        target if out is None else out,
        lambda: case.operation(target, index, values, out=out, **case.options, **place.options),
    )


def check_device_arrays(case, place):
    """DeviceArrays, which are contiguous."""
    target, index, values, out = [
        None if array is None else place.put(array) for array in case.arrays(case.memories)
    ]
    written = target if out is None else out
    before = oracle.raw(written.numpy())
    compare(case, {}, written, lambda: case.operation(target, index, values, out=out,
                                                      **case.options))  # fmt: skip
    after = before if case.result is None else case.result
    assert oracle.raw(written.numpy()).tolist() == after.tolist()


def check_at_places(
    operation,
    expected,
    plan,
    seed,
    places,
    cases,
    *,
    times=CASES_PER_EXAMPLE,
    indices=random_indices,
):
    """Checks calls with random data, at all places that can hold the arrays."""
    rng = np.random.default_rng(seed)
    arrays = [w for w in (plan.target, plan.index, plan.values, plan.out) if w is not None]
    native = all(window.dtype.isnative for window in arrays)
    for _ in range(times):
        case = WriteCase(operation, expected, plan, rng, indices)
        for place in places:
            if place.on_device and not native:
                continue
            if place.on_device:
                check_device_arrays(case, place)
            else:
                check_windows(case, place, {n: m.copy() for n, m in case.memories.items()})
            cases[operation.__name__, str(place)] += 1
            if place.name == "cuda-array" and all(map(device_can_hold, arrays)):
                memories = {name: place.put(memory) for name, memory in case.memories.items()}
                check_windows(case, place, memories, Interface)
                cases[operation.__name__, "cuda-array, strided"] += 1


def put_at(place, target, index, values, **options):
    """Calls scatter on NumPy arrays moved to a place, and brings the target back."""
    at = place.put(np.array(target))
    result = gpukern.scatter(at, place.put(np.asarray(index)), place.put(np.asarray(values)),
                     **options, **place.options)  # fmt: skip
    assert result is at
    return place.take(result)
