# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy on generated calls: every device returns exact results, rounded once.

The number of cases is GPUKERN_TEST_CASES.
"""

import numpy as np
import oracle
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from places import Interface
from read_cases import random_bytes
from strategies import SaxpyPlan, saxpy_plans

import gpukern


class Case:
    """A plan with data, and what has to come of them."""

    def __init__(self, plan: SaxpyPlan, rng):
        self.plan = plan
        kind = plan.kind
        room = max(w.extent for w in (plan.x, plan.y, plan.out or plan.x)) + 8
        self.memories = {name: random_bytes(rng, room) for name in ("x", "y", "own")}
        self.memory_of = {
            "x": "x",
            "y": "x" if plan.y_memory == "x" else "y",
            "out": plan.out_memory,
        }
        if plan.out_memory == "y":
            self.memory_of["out"] = self.memory_of["y"]
        x, y = self.windows(self.memories)[:2]
        x[...] = random_numbers(rng, kind, x.shape)
        y[...] = random_numbers(rng, kind, y.shape)
        self.a = random_numbers(rng, kind, ())
        if rng.random() < 0.3:
            y[...] = nearly_cancelling(rng, kind, self.a, x)
        result = oracle.saxpy(kind, self.a, x, y)
        self.result = result
        self.after = {name: memory.copy() for name, memory in self.memories.items()}
        if plan.out is not None:
            self.windows(self.after)[2][...] = result

    def windows(self, memories, on=None):
        """x, y and out (or None) on the memories."""
        on = on or (lambda memory, window: window.on(memory))
        plan = self.plan
        return [
            None if window is None else on(memories[self.memory_of[name]], window)
            for name, window in (("x", plan.x), ("y", plan.y), ("out", plan.out))
        ]


def random_numbers(rng, kind, shape):
    """Any bits at all, edges of the format, or numbers that are neither large nor small."""
    count = int(np.prod(shape)) * kind.parts
    bits = np.frombuffer(rng.bytes(count * kind.bits_dtype.itemsize), kind.bits_dtype).copy()
    f = kind.format
    if f is not None:
        style = rng.integers(3)
        if style == 1:
            edges = np.array(
                [
                    0,
                    1,
                    f.infinity - 1,
                    f.infinity,
                    f.infinity + 1,
                    f.nan,
                    1 << f.fraction_bits,
                    (1 << f.fraction_bits) - 1,
                ],
                kind.bits_dtype,
            )
            bits = rng.choice(edges, count) | (bits & kind.bits_dtype.type(f.sign))
        elif style == 2:
            one = (f.infinity >> (f.fraction_bits + 1)) << f.fraction_bits
            scale = rng.integers(-3, 4, count) * (1 << f.fraction_bits)
            bits &= kind.bits_dtype.type(f.sign | ((1 << f.fraction_bits) - 1))
            bits |= (one + scale).astype(kind.bits_dtype)
    return bits.view(kind.dtype).reshape(shape)


def nearly_cancelling(rng, kind, a, x):
    """-(a * x), plus or minus a few units in the last place."""
    if kind.format is None:
        return np.zeros(x.shape, kind.dtype)
    product = oracle.saxpy(kind, a, x, np.zeros(x.shape, kind.dtype))
    bits = np.ascontiguousarray(product).reshape(-1).view(kind.bits_dtype)
    near = bits + rng.integers(0, 4, bits.size).astype(kind.bits_dtype)
    return (near ^ kind.bits_dtype.type(kind.format.sign)).view(kind.dtype).reshape(x.shape)


def compare(case, memories, out, call):
    """Runs a call; compares the result and every byte of the memories afterwards."""
    result = call()
    if out is not None:
        assert result is out
    else:
        result = np.asarray(result)
        assert result.dtype == case.plan.kind.dtype
        assert result.shape == case.plan.x.shape
        assert result.tobytes() == case.result.tobytes()
    for name, memory in memories.items():
        host = memory if isinstance(memory, np.ndarray) else memory.numpy()
        assert np.array_equal(host, case.after[name]), name


def check_host(case, place):
    """Host arrays: any layout, out anywhere."""
    memories = {name: memory.copy() for name, memory in case.memories.items()}
    x, y, out = case.windows(memories)
    compare(case, memories, out, lambda: gpukern.saxpy(case.a[()], x, y, out=out, **place.options))


def check_device_arrays(case, place):
    """DeviceArrays: contiguous, a new result."""
    x, y = map(place.put, case.windows(case.memories)[:2])
    compare(case, {}, None, lambda: place.take(gpukern.saxpy(case.a[()], x, y)))


def check_device_windows(case, place):
    """Windows on device memory: layouts and overlaps as on the host."""
    memories = {name: place.put(memory) for name, memory in case.memories.items()}
    x, y, out = case.windows(memories, Interface)

    def call():
        result = gpukern.saxpy(case.a[()], x, y, out=out)
        return result if out is not None else result.numpy()

    compare(case, memories, out, call)


@given(plan=saxpy_plans(), seed=st.integers(0, 2**32 - 1))
def test_saxpy_on_generated_calls(plan, seed, places, cases):
    rng = np.random.default_rng(seed)
    windows = [w for w in (plan.x, plan.y, plan.out) if w is not None]
    for _ in range(CASES_PER_EXAMPLE):
        case = Case(plan, rng)
        for place in places:
            if not place.on_device:
                check_host(case, place)
            else:
                check_device_arrays(case, place)
            cases["saxpy", str(place)] += 1
            if (
                place.name == "cuda-array"
                and plan.kind.dtype.isbuiltin == 1
                and all(w.whole_strides for w in windows)
            ):
                check_device_windows(case, place)
                cases["saxpy", "cuda-array, strided"] += 1
