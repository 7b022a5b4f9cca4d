# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""More than 2^31 elements in what reads by an index, and in reductions: NumPy's results."""

import numpy as np
import pytest
from large_arrays import (
    FAR,
    MANY,
    THIRD,
    at_large_places,
    far_bounds,
    far_positions,
    if_requested,
    require_equal,
    require_memory,
    require_parts,
    tiled,
)

import gpukern

pytestmark = [pytest.mark.alone, if_requested, at_large_places]

UFUNCS = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def test_take_along_axis_by_many(place, rng):
    require_memory(place, 6, 5)
    source = rng.integers(0, 256, (3, 256), np.uint8)
    index = tiled(rng, (3, THIRD))
    found = place.take(
        gpukern.take_along_axis(place.put(source), place.put(index), 1, **place.options)
    )
    assert found.shape == index.shape
    for row in range(3):
        require_parts(found[row], lambda begin, end, row=row: source[row][index[row, begin:end]])


@pytest.mark.parametrize("axis", [0, 1])
def test_take_along_axis_from_many(place, axis, rng):
    require_memory(place, 3, 3)
    shape = (THIRD, 3) if axis == 0 else (3, THIRD)
    source = tiled(rng, shape)
    index = rng.integers(-THIRD, THIRD, (5000, 3) if axis == 0 else (3, 5000))
    index[0, 0], index[-1, -1] = -THIRD, THIRD - 1
    found = place.take(
        gpukern.take_along_axis(place.put(source), place.put(index), axis, **place.options)
    )
    assert np.array_equal(found, np.take_along_axis(source, index, axis))


def test_gather_by_a_tuple_of_many(place, rng):
    require_memory(place, 21 if place.name == "cuda" else 4, 24)
    source = rng.integers(0, 256, (200, 60_000), np.uint8)
    rows, columns = rng.integers(-200, 200, 32_770), rng.integers(-60_000, 60_000, 65_537)
    assert rows.size * columns.size > 1 << 31
    indices = place.put(rows[:, None]), place.put(columns)
    found = place.take(gpukern.gather(place.put(source), indices, **place.options))
    assert found.shape == (rows.size, columns.size)
    require_parts(found, lambda begin, end: source[rows[begin:end, None], columns], step=256)


def test_gather_by_a_tuple_from_many(place, rng):
    require_memory(place, 3, 3)
    source = tiled(rng, (3, THIRD))
    rows, columns = rng.integers(-3, 3, 100_000), rng.integers(-THIRD, THIRD, 100_000)
    rows[:2], columns[:2] = (-3, 2), (-THIRD, THIRD - 1)
    indices = place.put(rows), place.put(columns)
    found = place.take(gpukern.gather(place.put(source), indices, **place.options))
    assert np.array_equal(found, source[rows, columns])


@pytest.mark.parametrize("reduce", UFUNCS)
def test_gather_reduce_of_many(place, reduce, rng):
    require_memory(place, 7, 4)
    source = rng.integers(0, 256, 256, np.uint8)
    index, offsets = tiled(rng, MANY), far_bounds(rng, 5000)
    found = place.take(
        gpukern.gather_reduce(
            *map(place.put, (source, index, offsets)), reduce=reduce, **place.options
        )
    )
    items = np.frombuffer(index.tobytes().translate(source.tobytes()), np.uint8)
    expected = UFUNCS[reduce].reduceat(items, offsets[:-1], dtype=np.uint8)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("reduce", UFUNCS)
def test_gather_reduce_from_many(place, reduce, rng):
    require_memory(place, 3, 3)
    source = tiled(rng, (THIRD, 3))
    index = rng.integers(-THIRD, THIRD, 300_000)
    index[[0, 1, -1]] = -THIRD, THIRD - 1, THIRD - 1
    offsets = np.unique(np.concatenate([[0, index.size], rng.integers(0, index.size, 900)]))
    found = place.take(
        gpukern.gather_reduce(
            *map(place.put, (source, index, offsets)), reduce=reduce, **place.options
        )
    )
    expected = UFUNCS[reduce].reduceat(source[index], offsets[:-1], axis=0, dtype=np.uint8)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("reduce", UFUNCS)
def test_segment_reduce_of_many(place, reduce, rng):
    require_memory(place, 3, 3)
    x, offsets = tiled(rng, MANY), far_bounds(rng, 5000)
    found = place.take(
        gpukern.segment_reduce(place.put(x), place.put(offsets), reduce=reduce, **place.options)
    )
    expected = UFUNCS[reduce].reduceat(x, offsets[:-1], dtype=np.uint8)
    assert np.array_equal(found, expected)


def test_a_long_segment_has_the_sum_of_its_blocks(place, rng):
    """Of float32, in which the sum from left to right would stop to grow at 2^24."""
    require_memory(place, 10, 10)
    offsets = np.array([0, 1 << 31, MANY])
    ones = np.ones(MANY, np.float32)
    found = place.take(gpukern.segment_reduce(place.put(ones), place.put(offsets), **place.options))
    assert found.tolist() == [1 << 31, MANY - (1 << 31)]


@pytest.mark.parametrize("has_index", [True, False])
def test_many_bags(place, has_index, rng):
    """Empty, but for some of one item, which end where the offsets grow."""
    require_memory(place, 22 if place.name == "cuda" else 7, 6)
    ends = np.unique(np.concatenate([far_positions(rng, 200) % MANY, FAR % MANY]))
    offsets = np.zeros(MANY + 1, np.uint8)
    offsets[ends + 1] = 1
    np.cumsum(offsets, dtype=np.uint8, out=offsets)
    x = rng.integers(1, 256, ends.size, np.uint8)
    index = rng.permutation(ends.size)
    there = place.put(offsets)
    if has_index:
        found = gpukern.gather_reduce(place.put(x), place.put(index), there, **place.options)
    else:
        found = gpukern.segment_reduce(place.put(x), there, **place.options)
    expected = np.zeros(MANY, np.uint8)
    expected[ends] = x[index] if has_index else x
    require_equal(place.take(found), expected)
