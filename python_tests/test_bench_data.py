# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmark's indices, computed on the host by its native library where that is built."""

import numpy as np
import pytest

from benchmarks.native import DISTRIBUTIONS, BenchError, Native, find_library

LIBRARY = find_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libgpukern_bench.so is not built")


@pytest.fixture(scope="module")
def native():
    return Native(LIBRARY)


def indices(native, distribution, count, n, seed=3):
    from ctypes import c_int64

    number = DISTRIBUTIONS.index(distribution)
    arguments = [c_int64(each) for each in (count, n, seed)]
    at = native.bench.bench_index_at
    return np.array([at(number, c_int64(i), *arguments) for i in range(count)], np.int64)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000, 2**20, 2**33, 3 * 2**40 + 1])
def test_indices_are_inside(native, distribution, n):
    found = indices(native, distribution, 500, n)
    assert found.min() >= 0
    assert found.max() < n


def test_uniform_indices_reach_everything(native):
    found = np.bincount(indices(native, "uniform", 20_000, 100), minlength=100)
    assert found.min() > 100
    assert found.max() < 300


def test_sorted_indices_ascend(native):
    found = indices(native, "sorted", 1000, 2**33)
    assert (np.diff(found) >= 0).all()
    assert found[0] < 2**33 // 1000


def test_blocked_indices_run(native):
    steps = np.diff(indices(native, "blocked", 640, 2**20).reshape(10, 64))
    assert (steps == 1).all()


def test_zipf_follows_its_law(native):
    count, n = 40_000, 1000
    found = np.bincount(indices(native, "zipf", count, n), minlength=n)
    # The weight of rank k is the integral of x^-1.05 from k + 1 to k + 2.
    edges = np.arange(1, n + 2, dtype=np.float64) ** -0.05
    expected = count * np.diff(edges) / (edges[-1] - edges[0])
    assert np.abs(found[:20] - expected[:20]).max() < 6 * np.sqrt(expected[0])


def test_skewed_indices_are_an_eighth_power(native):
    count, n = 20_000, 1000
    found = np.bincount(indices(native, "skewed", count, n), minlength=n)
    expected = count * np.diff(np.linspace(0, 1, n + 1) ** 0.125)
    assert np.abs(found[:20] - expected[:20]).max() < 6 * np.sqrt(expected[0])


def test_half_of_the_indices_are_one(native):
    found = np.bincount(indices(native, "half", 20_000, 100), minlength=100)
    assert abs(int(found[33]) - 10_100) < 500
    assert np.delete(found, 33).min() > 50
    assert np.delete(found, 33).max() < 160


@pytest.mark.parametrize("n", [1, 7, 64, 1000, 1024])
def test_scattering_is_a_permutation(native, n):
    plain = indices(native, "zipf", 20_000, n)
    scattered = indices(native, "scattered zipf", 20_000, n)
    pairs = set(zip(plain.tolist(), scattered.tolist(), strict=True))
    assert len(pairs) == len(np.unique(plain)) == len(np.unique(scattered))


def test_an_error_of_the_library_has_words(native):
    with pytest.raises(BenchError, match=r"has 1, 2, 4, 8 or 16 bytes"):
        native.enqueue("gather_unchecked", 3, 4, 0, 0, 0, 1)
