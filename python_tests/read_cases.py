# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Generated calls of gather and take_along_axis, and their check at every place; random data."""

import numpy as np
import oracle
import pytest
from conftest import CASES_PER_EXAMPLE
from places import Interface
from strategies import GatherPlan

import gpukern

MODES = ("raise", "wrap", "clip", "fill")


class Case:
    """A plan with data: memories, a mode, and what has to come of them."""

    operation = staticmethod(gpukern.gather)
    oracle = staticmethod(oracle.gather)

    def __init__(self, plan: GatherPlan, rng):
        self.plan = plan
        self.mode = MODES[rng.integers(4)]
        # Room for out, also if it shares the memory of source or index.
        room = max(w.extent for w in (plan.source, plan.index, plan.out or plan.source)) + 8
        self.memories = {name: random_bytes(rng, room) for name in ("source", "index", "own")}
        source = plan.source.on(self.memories["source"])
        make_valid(source, rng)
        size = source.size
        if plan.axis is not None:
            size = plan.source.shape[plan.axis] if plan.source.shape else 1
        index = plan.index.on(self.memories["index"])
        index[...] = random_indices(rng, plan.index.dtype, index.shape, size)
        self.fill = None
        if plan.fill_shape is not None:
            count = int(np.prod(plan.fill_shape)) * plan.source.dtype.itemsize
            self.fill = random_bytes(rng, count).view(plan.source.dtype).reshape(plan.fill_shape)
            make_valid(self.fill, rng)
        self.expect()

    def expect(self):
        source = self.plan.source.on(self.memories["source"])
        index = self.plan.index.on(self.memories["index"])
        self.error = self.result = None
        try:
            self.result = self.oracle(source, index, self.plan.axis, self.mode, self.fill)
        except IndexError as error:
            self.error = str(error)
        self.after = {name: memory.copy() for name, memory in self.memories.items()}
        if self.plan.out is not None and self.error is None:
            oracle.write(self.plan.out.on(self.after[self.plan.out_memory]), self.result)

    @property
    def options(self):
        fill = {} if self.fill is None else {"fill_value": self.fill}
        return {"axis": self.plan.axis, "mode": self.mode, **fill}


def random_bytes(rng, count):
    return np.frombuffer(rng.bytes(count), np.uint8).copy()


def make_valid(array, rng):
    """Where NumPy's scalars do not keep every byte: bool, long double and str."""
    if array.dtype.char in "gG":
        array[...] = rng.standard_normal(array.shape)
    elif array.dtype.kind == "b":
        array[...] = rng.random(array.shape) < 0.5
    elif array.dtype.kind == "U":
        letters = rng.integers(1, 0x3000, (*array.shape, array.dtype.itemsize // 4))
        texts = ["".join(map(chr, row)) for row in letters.reshape(-1, letters.shape[-1])]
        array[...] = np.array(texts, array.dtype).reshape(array.shape)


def random_indices(rng, dtype, shape, size):
    """Mostly in bounds, so that mode 'raise' succeeds as well; limits of the dtype among them."""
    limits = np.iinfo(dtype)
    reach = [0, 0, 1, 2 * size + 3][rng.integers(4)]
    low, high = max(limits.min, -size - reach), min(limits.max, size + reach - 1)
    index = rng.integers(low, max(low, high), shape, np.int64, endpoint=True).astype(dtype)
    if index.size and rng.random() < 0.1:
        index.reshape(-1)[rng.integers(index.size)] = [limits.min, limits.max][rng.integers(2)]
    return index


def check_host(case, place):
    """Host arrays: any layout, out anywhere."""
    memories = {name: memory.copy() for name, memory in case.memories.items()}
    plan = case.plan
    source, index = plan.source.on(memories["source"]), plan.index.on(memories["index"])
    out = None if plan.out is None else plan.out.on(memories[plan.out_memory])
    compare(
        case,
        memories,
        out,
        lambda: case.operation(source, index, out=out, **case.options, **place.options),
    )


def check_device_arrays(case, place):
    """DeviceArrays: contiguous, a new result."""
    source = place.put(case.plan.source.on(case.memories["source"]))
    index = place.put(case.plan.index.on(case.memories["index"]))
    compare(case, {}, None, lambda: place.take(case.operation(source, index, **case.options)))


def check_device_windows(case, place):
    """Windows on device memory: layouts and overlaps as on the host."""
    plan = case.plan
    memories = {name: place.put(memory) for name, memory in case.memories.items()}
    source = Interface(memories["source"], plan.source)
    index = Interface(memories["index"], plan.index)
    out = None if plan.out is None else Interface(memories[plan.out_memory], plan.out)

    def call():
        result = case.operation(source, index, out=out, **case.options)
        return result if out is not None else result.numpy()

    compare(case, memories, out, call)


def compare(case, memories, out, call):
    """Runs a call; compares its result or error, and every byte of the memories afterwards."""
    if case.error is not None:
        with pytest.raises(gpukern.errors.GpukernIndexError) as caught:
            call()
        assert str(caught.value) == case.error
    elif out is not None:
        assert call() is out
    else:
        compare_result(case, call())
    for name, memory in memories.items():
        host = memory if isinstance(memory, np.ndarray) else memory.numpy()
        assert np.array_equal(host, case.after[name]), name


def compare_result(case, result):
    """Compares a new result bit for bit, as far as NumPy's scalars hold all bits."""
    dtype = case.plan.source.dtype
    assert result.dtype.type is dtype.type
    assert result.shape == case.result.shape
    if dtype.fields is None:  # A scalar does not hold a string's final zeros.
        result = np.asarray(result, dtype)
    assert result.dtype == dtype
    assert result.flags.c_contiguous
    if dtype.char in "gG":  # A scalar does not hold the padding.
        assert np.array_equal(result, case.result.view(dtype))
    else:
        assert result.tobytes() == case.result.tobytes()


def device_can_hold(window):
    """Whether __cuda_array_interface__ can describe it: native numbers, whole strides."""
    return window.whole_strides and window.dtype.isnative and window.dtype.isbuiltin == 1


def check_at_places(case_type, plan, rng, places, cases):
    """Checks calls with random data, at all places that can hold the arrays."""
    name = case_type.operation.__name__
    for _ in range(CASES_PER_EXAMPLE):
        case = case_type(plan, rng)
        for place in places:
            if not place.on_device:
                check_host(case, place)
            elif plan.index.dtype.isnative:
                check_device_arrays(case, place)
            else:
                continue
            cases[name, str(place)] += 1
            windows = [w for w in (plan.source, plan.index, plan.out) if w is not None]
            if place.name == "cuda-array" and all(map(device_can_hold, windows)):
                check_device_windows(case, place)
                cases[name, "cuda-array, strided"] += 1
