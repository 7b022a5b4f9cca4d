# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Repeated reductions give the same bits: on any number of threads, and on a GPU those of the CPU.

A release repeats each call 1,000 times.
"""

import numpy as np
import pytest
import scatter_oracle
from conftest import CASES_PER_TEST
from places import Place
from write_cases import DUPLICATES

import gpukern
from gpukern import bincount, gather_reduce, scatter, segment_reduce

pytestmark = [
    pytest.mark.thread_unsafe(reason="sets a number of the process"),
    pytest.mark.usefixtures("restored_threads"),
]

REPEATS = max(CASES_PER_TEST // 100, 3)
THREADS = (1, 2, None)  # None: all
CPU = Place("cpu")
DTYPES = ["f2", "f4", "f8"]
REDUCTIONS = [name for name in scatter_oracle.REDUCTIONS if name is not None]
ELEMENTS, UPDATES = 3000, 70_001  # more than a GPU combines without sorting

ONE = "one element"
DISTRIBUTIONS = [*DUPLICATES, ONE]


def numbers(rng, shape, dtype):
    """Around one, of both signs: no product of them is 0 or infinite, and the order matters."""
    return (rng.choice([-1, 1], shape) * rng.uniform(0.99, 1.01, shape)).astype(dtype)


def random_index(rng, distribution):
    """An index with duplicates, and the number of elements that it refers to."""
    if distribution == ONE:
        return np.zeros(UPDATES, int), 1
    return np.ascontiguousarray(DUPLICATES[distribution](ELEMENTS, UPDATES, rng)), ELEMENTS


def offsets_of(index, size):
    """Bags whose lengths are the numbers of occurrences in an index."""
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))])


def require_same_bits(place, call, *arrays):
    """Repeats a call at a place; the bits are those of a thread of the CPU. The call may write to
    the first array."""
    gpukern.set_num_threads(1)
    expected = call(arrays[0].copy(), *arrays[1:], **CPU.options)
    others = [place.put(array) for array in arrays[1:]]
    for turn in range(REPEATS):
        gpukern.set_num_threads(THREADS[turn % len(THREADS)])
        found = place.take(call(place.put(arrays[0].copy()), *others, **place.options))
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), f"call {turn}"
    return expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_scatter(place, rng, distribution, reduce, dtype):
    index, size = random_index(rng, distribution)

    def call(target, index, values, **options):
        assert scatter(target, index, values, reduce=reduce, **options) is target
        return target

    arrays = numbers(rng, size, dtype), index, numbers(rng, UPDATES, dtype)
    result = require_same_bits(place, call, *arrays)
    assert np.isfinite(result).all()


@pytest.mark.parametrize("distribution", ["skewed", "half equal"])
def test_scatter_of_many(place, rng, distribution):
    """A GPU sorts them by slice of the target."""
    size, updates = 1 << 20, (1 << 23) + 77
    index = np.ascontiguousarray(DUPLICATES[distribution](size, updates, rng))

    def call(target, index, values, **options):
        return scatter(target, index, values, reduce="add", **options)

    require_same_bits(place, call, numbers(rng, size, "f4"), index, numbers(rng, updates, "f4"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_scatter_of_rows(place, rng, distribution, dtype):
    index, size = random_index(rng, distribution)

    def call(target, index, values, **options):
        return scatter(target, index, values, reduce="add", **options)

    arrays = numbers(rng, (size, 3), dtype), index, numbers(rng, (UPDATES, 3), dtype)
    require_same_bits(place, call, *arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_bincount(place, rng, distribution, dtype):
    index, size = random_index(rng, distribution)

    def call(index, weights, **options):
        return bincount(index, weights, size=size, **options)

    result = require_same_bits(place, call, index, numbers(rng, UPDATES, dtype))
    assert result.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_gather_reduce(place, rng, distribution, weighted, dtype):
    """Both the items and the lengths of their bags have duplicates of a kind."""
    index, size = random_index(rng, distribution)
    source = numbers(rng, (size, 2), dtype) / 2  # of which float16 holds the largest sum
    arrays = [source, index, offsets_of(index, size)]
    if weighted:
        arrays.append(numbers(rng, UPDATES, dtype))
    for reduce in ["sum"] if weighted else ["sum", "mean", "min", "max"]:

        def call(source, index, offsets, weights=None, reduce=reduce, **options):
            return gather_reduce(source, index, offsets, reduce=reduce, weights=weights, **options)

        result = require_same_bits(place, call, *arrays)
        assert result.any()
        assert np.isfinite(result).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_segment_reduce(place, rng, distribution, dtype):
    arrays = numbers(rng, UPDATES, dtype), offsets_of(*random_index(rng, distribution))
    for reduce in ["sum", "mean", "min", "max"]:

        def call(x, offsets, reduce=reduce, **options):
            return segment_reduce(x, offsets, reduce, **options)

        assert require_same_bits(place, call, *arrays).any()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("reduce", ["add", "multiply", "mean"])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_another_order_has_other_bits(rng, distribution, reduce, dtype):
    """So the tests above would see a wrong order: in one of 8 columns, by any chance."""
    index, size = random_index(rng, distribution)
    target, values = numbers(rng, (size, 8), dtype), numbers(rng, (UPDATES, 8), dtype)
    forward = scatter(target.copy(), index, values, reduce=reduce)
    backward = scatter(target.copy(), index[::-1], values[::-1], reduce=reduce)
    assert np.allclose(forward, backward, rtol=1e-2, atol=1e-2)
    assert not np.array_equal(forward, backward)
