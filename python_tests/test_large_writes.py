# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""More than 2^31 elements of a target, and more than 2^31 values: what the oracles give."""

import numpy as np
import pytest
import scatter_oracle
from large_arrays import (
    MANY,
    THIRD,
    at_large_places,
    far_positions,
    if_requested,
    parts,
    require_memory,
    require_parts,
    tiled,
)

import gpukern

pytestmark = [pytest.mark.alone, if_requested, at_large_places]

#: GiB for 2^31 values: what the host sorts by parts of the target, for chunks on a GPU; and what a
#: GPU sorts.
SORTED_ON_HOST = 68
SORTED_ON_GPU = 56


def require_written(found, initial, positions, values, reduce):
    """A flat array after the write of values: as the oracle says at the positions, and unchanged
    elsewhere, where initial(begin, end) has its elements."""
    touched, which = np.unique(positions, return_inverse=True)
    before = np.array([initial(at, at + 1)[0] for at in touched])
    expected = scatter_oracle.scatter(before, which, values, 0, "raise", reduce)
    raw = found.view(f"u{found.itemsize}")
    assert np.array_equal(raw[touched], expected.view(raw.dtype))
    raw[touched] = before.view(raw.dtype)
    require_parts(raw, lambda begin, end: initial(begin, end).view(raw.dtype))


def periodic(rng, dtype):
    """A function of positions: the elements of an array of small numbers with a prime period, so
    that no copy is needed to see what has changed."""
    block = rng.integers(1, 100, 65_537).astype(dtype)
    repeated = np.tile(block, 300)  # of a part and a period

    def elements(begin, end):
        first = begin % block.size
        return repeated[first : first + end - begin]

    return elements


def filled(elements, shape):
    """An array with the elements of periodic()."""
    count = int(np.prod(shape))
    made = np.empty(count, elements(0, 1).dtype)
    for begin, end in parts(count):
        made[begin:end] = elements(begin, end)
    return made.reshape(shape)


# ---- to more than 2^31 elements ----

TO_MANY = [
    *[("u1", reduce) for reduce in (None, "add", "multiply", "min", "max")],
    *[("f2", reduce) for reduce in ("add", "multiply", "min", "max", "mean")],
]


@pytest.mark.parametrize(("dtype", "reduce"), TO_MANY)
def test_scatter(place, dtype, reduce, rng):
    size = np.dtype(dtype).itemsize
    require_memory(place, 3 * size, 3 * size)
    elements = periodic(rng, dtype)
    target = place.put(filled(elements, MANY))
    index = far_positions(rng, 9000)  # some elements have more values than a block
    values = rng.integers(0, 3, index.size).astype(dtype)
    gpukern.scatter(target, place.put(index), place.put(values), reduce=reduce, **place.options)
    require_written(place.take(target), elements, index % MANY, values, reduce)


@pytest.mark.parametrize("reduce", [None, "add", "max"])
def test_scatter_by_a_tuple(place, reduce, rng):
    require_memory(place, 3, 3)
    elements = periodic(rng, np.uint8)
    target = place.put(filled(elements, (3, THIRD)))
    rows, columns = rng.integers(-3, 3, 9000), rng.integers(-THIRD, THIRD, 9000)
    rows[::7], columns[::7] = -3, -THIRD
    rows[1::7], columns[1::7] = 2, THIRD - 1
    values = rng.integers(0, 256, 9000, np.uint8)
    indices = place.put(rows), place.put(columns)
    gpukern.scatter(target, indices, place.put(values), reduce=reduce, **place.options)
    positions = rows % 3 * THIRD + columns % THIRD
    require_written(place.take(target).reshape(-1), elements, positions, values, reduce)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduce", [None, "add", "max"])
def test_put_along_axis(place, axis, reduce, rng):
    require_memory(place, 3, 3)
    elements = periodic(rng, np.uint8)
    shape, sizes = ((THIRD, 3), (5000, 3)) if axis == 0 else ((3, THIRD), (3, 5000))
    target = place.put(filled(elements, shape))
    index, values = rng.integers(-THIRD, THIRD, sizes), rng.integers(0, 256, sizes, np.uint8)
    index.reshape(-1)[::5] = np.resize([-THIRD, THIRD - 1, 7], index.size // 5)
    gpukern.put_along_axis(
        target, place.put(index), place.put(values), axis, reduce=reduce, **place.options
    )
    other = np.arange(3) if axis == 0 else np.arange(3)[:, None]
    along = index % THIRD
    positions = along * 3 + other if axis == 0 else other * THIRD + along
    require_written(
        place.take(target).reshape(-1), elements, positions.reshape(-1), values.reshape(-1), reduce
    )


def test_bincount(place, rng):
    """More than 2^31 bins."""
    require_memory(place, 3, 3)
    index = far_positions(rng, 9000) % MANY
    weights = rng.integers(0, 256, index.size, np.uint8)
    found = gpukern.bincount(place.put(index), place.put(weights), size=MANY, **place.options)
    require_written(
        place.take(found), lambda begin, end: np.zeros(end - begin, np.uint8), index, weights, "add"
    )


# ---- of more than 2^31 values ----


def pairs(index, values):
    """How often each value comes with each index; both are bytes."""
    counts = np.zeros(1 << 16, np.int64)
    for begin, end in parts(index.size):
        both = index[begin:end].astype(np.uint16) << 8 | values[begin:end]
        counts += np.bincount(both, minlength=1 << 16)
    return counts.reshape(256, 256)


def reduced(target, counts, reduce):
    """Each byte of the target, combined with values that come as often as `counts` says."""
    found = []
    for before, of in zip(target.tolist(), counts, strict=True):
        seen = [before, *np.flatnonzero(of).tolist()]
        if reduce == "multiply":
            total = before
            for value in seen[1:]:
                total = total * pow(value, int(of[value]), 256) % 256
        else:
            sums = before + int(of @ np.arange(256))
            total = {"add": sums % 256, "min": min(seen), "max": max(seen)}[reduce]
        found.append(total)
    return np.array(found, np.uint8)


def host_memory(place, others):
    """GiB: a GPU needs an index that is sorted by parts of the target."""
    return SORTED_ON_HOST + others if place.name == "cuda" else others


@pytest.mark.parametrize("reduce", [None, "add", "multiply", "min", "max"])
def test_scatter_of_many(place, reduce, rng):
    """By far fewer different indices, two of which name elements with few values."""
    require_memory(place, host_memory(place, 6), SORTED_ON_GPU)
    index = tiled(rng, MANY, high=254)
    index[[0, (1 << 31) + 7]], index[[(1 << 31) - 1, 1 << 31]] = 254, 255
    values = tiled(rng, MANY)
    if reduce in ("min", "max"):  # only a few values are the extreme
        values &= 127
        values += 50
        values[[5, (1 << 31) + 5]] = 1, 250
    target = rng.integers(40, 200, 256, np.uint8) | 1
    there = place.put(target.copy())
    gpukern.scatter(there, place.put(index), place.put(values), reduce=reduce, **place.options)
    if reduce is None:
        expected = values[last_positions(index)]
    else:
        expected = reduced(target, pairs(index, values), reduce)
    assert np.array_equal(place.take(there), expected)


def last_positions(index):
    """Of each byte; the most are near the end."""
    last = np.full(256, -1)
    for begin, end in reversed(list(parts(index.size, 1 << 16))):
        found, back = np.unique(index[begin:end][::-1], return_index=True)
        at = end - 1 - back
        missing = last[found] < 0
        last[found[missing]] = at[missing]
        if (last >= 0).all():
            break
    return last


@pytest.mark.parametrize("reduce", ["add", "mean"])
def test_scatter_of_many_floats(place, reduce, rng):
    """The order of which matters; here all sums are exact."""
    require_memory(place, host_memory(place, 3), SORTED_ON_GPU)
    index = tiled(rng, MANY)
    counts = sum(np.bincount(index[begin:end], minlength=256) for begin, end in parts(MANY))
    assert counts.max() < 1 << 24
    target = np.full(256, 3, np.float32)
    there = place.put(target)
    gpukern.scatter(there, place.put(index), 1.0, reduce=reduce, **place.options)
    expected = (3 + counts).astype(np.float32)
    if reduce == "mean":
        expected /= (1 + counts).astype(np.float32)
    assert np.array_equal(place.take(there), expected)


def test_scatter_of_many_by_a_tuple(place, rng):
    require_memory(place, host_memory(place, 17), 20)
    rows, columns = rng.integers(0, 256, 32_770), rng.integers(-100, 100, 65_537)
    indices = place.put(rows[:, None]), place.put(columns)
    there = place.put(np.zeros((256, 100), np.int64))
    gpukern.scatter(there, indices, 1, reduce="add", **place.options)
    expected = np.outer(np.bincount(rows, minlength=256), np.bincount(columns % 100, minlength=100))
    assert np.array_equal(place.take(there), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_put_along_axis_of_many(place, axis, rng):
    """A permutation of each row, or rows of which later ones replace earlier ones."""
    count = MANY // 256 + 1
    require_memory(place, host_memory(place, 7), SORTED_ON_GPU)
    if axis == 1:
        block = rng.permuted(np.tile(np.arange(256, dtype=np.uint8), (1009, 1)), axis=1)
        index = np.resize(block, (count, 256))
        target = np.zeros((count, 256), np.uint8)
    else:
        index = tiled(rng, (count, 256))
        target = np.zeros((256, 256), np.uint8)
    values = tiled(rng, (count, 256))
    there = place.put(target)
    gpukern.put_along_axis(there, place.put(index), place.put(values), axis, **place.options)
    found = place.take(there)
    if axis == 1:
        for begin, end in parts(count, 1 << 16):
            given = np.take_along_axis(found[begin:end], index[begin:end].astype(np.intp), 1)
            assert np.array_equal(given, values[begin:end])
        return
    for column in range(256):
        at = last_positions(index[:, column])
        assert np.array_equal(found[:, column], values[at, column])


@pytest.mark.parametrize("order", ["fixed", "any"])
def test_bincount_of_many(place, order, rng):
    require_memory(place, host_memory(place, 3), SORTED_ON_GPU)
    index = tiled(rng, MANY)
    found = gpukern.bincount(place.put(index), size=256, order=order, **place.options)
    counts = sum(np.bincount(index[begin:end], minlength=256) for begin, end in parts(MANY))
    assert np.array_equal(place.take(found), counts)
