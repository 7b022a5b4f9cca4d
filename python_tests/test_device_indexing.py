# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The indices of distributed arrays on a GPU: equal to what NumPy computes on the host."""

import numpy as np
import pytest
from conftest import CASES_PER_TEST

import gpukern
from gpukern.distributed import device_indexing, indexing


def host(array):
    return array if isinstance(array, np.ndarray) else array.numpy()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu])])
def test_rows_and_buckets(rng, mode, device):
    def on_device(array):
        return gpukern.to_device(array, 0) if device == "cuda" else array

    def empty(shape, dtype):
        return gpukern.empty(shape, dtype, 0) if device == "cuda" else np.empty(shape, dtype)

    for _ in range(max(CASES_PER_TEST // 20, 10)):
        length = int(rng.integers(1, 100))
        reach = length if mode == "raise" else 3 * length
        dtype = np.dtype(["i1", "i2", "i4", "u4", "i8"][rng.integers(5)])
        low = max(-reach, np.iinfo(dtype).min)
        high = min(reach, np.iinfo(dtype).max)
        index = rng.integers(low, high, (3, int(rng.integers(0, 50))), dtype=dtype)
        expected = indexing.rows_of(index, length, mode, 0)
        rows = device_indexing.rows_of(
            on_device(index), empty((index.size,), np.int64), length, mode
        )
        np.testing.assert_array_equal(host(rows), expected)
        np.testing.assert_array_equal(
            host(device_indexing.missing(rows)), np.flatnonzero(expected < 0)
        )
        cuts = np.sort(rng.integers(0, length + 1, int(rng.integers(0, 4))))
        starts = np.array([0, *cuts, length])
        got = device_indexing.bucketed(rows, starts, empty)
        wanted = indexing.bucketed(expected, starts)
        np.testing.assert_array_equal(host(got.order), wanted.order)
        assert got.rows.dtype == wanted.rows.dtype
        np.testing.assert_array_equal(host(got.rows), wanted.rows)
        np.testing.assert_array_equal(got.counts, wanted.counts)


def test_a_bad_index_has_no_row():
    rows = device_indexing.rows_of(np.array([5, -6, 6, -7]), np.empty(4, np.int64), 6, "raise")
    assert rows.tolist() == [5, 0, -1, -1]
    assert device_indexing.any_missing(rows)
    assert not device_indexing.any_missing(rows[:2])
