# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""More than 2^31 elements in masks, and in what they select: NumPy's results."""

import numpy as np
import pytest
from large_arrays import (
    MANY,
    THIRD,
    at_large_places,
    far_positions,
    if_requested,
    require_equal,
    require_memory,
    require_parts,
    tiled,
)

import gpukern

pytestmark = [pytest.mark.alone, if_requested, at_large_places]


def sparse_mask(rng):
    """A million nonzero elements, and those at far positions."""
    mask = np.zeros(3 * THIRD, np.uint8)
    mask[rng.integers(0, mask.size, 1 << 20)] = 1
    mask[far_positions(rng, 99)] = 128
    mask[[0, -1]] = 255
    return mask


def dense_mask(rng, count):
    """True, but for a few thousand elements: more than 2^31 are true."""
    mask = np.ones(count, bool)
    mask[rng.integers(0, count, 5000)] = False
    mask[[0, 1 << 28, count - 2]] = False
    return mask


def test_count_nonzero(place, rng):
    require_memory(place, 5, 5)
    for mask in (tiled(rng, MANY, high=3), dense_mask(rng, MANY)):
        found = gpukern.count_nonzero(place.put(mask), **place.options)
        assert found == np.count_nonzero(mask)
        del mask


def test_count_nonzero_of_halves(place, rng):
    """NaN, subnormals and zeros of both signs; the count does not fit in 31 bits."""
    require_memory(place, 7, 6)
    bits = tiled(rng, MANY + (1 << 18), np.uint16, high=1 << 16)
    bits[[0, 1 << 31, -1]] = 0x8000, 0, 0x8000
    found = gpukern.count_nonzero(place.put(bits.view(np.float16)), **place.options)
    zeros = sum(np.count_nonzero(bits == zero) for zero in (0, 0x8000))
    assert found == bits.size - zeros
    assert found > 1 << 31


@pytest.mark.parametrize("shape", [(3 * THIRD,), (3, THIRD), (THIRD, 3)], ids=str)
def test_nonzero_of_a_sparse_mask(place, shape, rng):
    require_memory(place, 3, 4)
    mask = sparse_mask(rng)
    positions = np.flatnonzero(mask)
    found = gpukern.nonzero(place.put(mask.reshape(shape)), **place.options)
    expected = np.unravel_index(positions, shape)
    assert len(found) == len(expected)
    for coordinates, wanted in zip(found, expected, strict=True):
        assert np.array_equal(place.take(coordinates), wanted)


def test_nonzero_of_many(place):
    """More than 2^31 coordinates, of 16 GiB."""
    require_memory(place, 19, 20)
    mask = np.ones(MANY + 2, np.uint8)
    mask[[0, 1 << 31]] = 0
    (found,) = gpukern.nonzero(place.put(mask), **place.options)
    assert found.shape == (MANY,)

    def expected(begin, end):
        coordinates = np.arange(begin + 1, end + 1)
        return coordinates + (coordinates >= 1 << 31)

    for begin in range(0, MANY, 1 << 28):
        part = place.take(found[begin : begin + (1 << 28)])
        require_parts(part, lambda low, high, begin=begin: expected(begin + low, begin + high))


@pytest.mark.parametrize("of_its_shape", [True, False])
def test_compress_to_many(place, of_its_shape, rng):
    require_memory(place, 9, 8)
    x, mask = tiled(rng, (3, THIRD + 4096)), dense_mask(rng, 3 * (THIRD + 4096))
    given = mask.reshape(x.shape) if of_its_shape else mask
    found = place.take(gpukern.compress(place.put(given), place.put(x), **place.options))
    assert found.size > 1 << 31
    require_equal(found, x.reshape(-1)[mask])


@pytest.mark.parametrize("axis", [0, 1])
def test_compress_along_an_axis_to_many(place, axis, rng):
    require_memory(place, 9, 12)
    length = THIRD + 4096
    x, mask = tiled(rng, (length, 3) if axis == 0 else (3, length)), dense_mask(rng, length)
    found = place.take(gpukern.compress(place.put(mask), place.put(x), axis=axis, **place.options))
    assert found.size > 1 << 31
    of_elements = np.repeat(mask, 3) if axis == 0 else np.tile(mask, 3)
    require_equal(found, x.reshape(-1)[of_elements].reshape(found.shape))


def test_compress_of_a_sparse_mask(place, rng):
    require_memory(place, 5, 6)
    mask = sparse_mask(rng)
    x = tiled(rng, mask.size)
    found = place.take(gpukern.compress(place.put(mask), place.put(x), **place.options))
    assert np.array_equal(found, x[np.flatnonzero(mask)])


def test_compress_fills_many(place, rng):
    require_memory(place, 3, 3)
    x, mask = rng.integers(0, 256, 1000, np.uint8), rng.random(1000) < 0.5
    found = place.take(
        gpukern.compress(place.put(mask), place.put(x), size=MANY, fill_value=7, **place.options)
    )
    selected = x[mask]
    assert np.array_equal(found[: selected.size], selected)
    require_parts(found[selected.size :], lambda begin, end: np.full(end - begin, 7, np.uint8))
