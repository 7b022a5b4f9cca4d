# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays that are larger than the memory of the GPU on which they are computed.

Only if GPUKERN_TEST_LARGE=1 is set, and where the host has more memory than the GPU. All tests
use one array of rows, which each of them fills.
"""

import numpy as np
import pytest
from large_arrays import (
    GIB,
    Reports,
    gpu_bytes,
    if_requested,
    on_threads,
    require_host_memory,
)

import gpukern

pytestmark = [pytest.mark.alone, pytest.mark.gpu, if_requested]

ROW = 1 << 20
ROWS_AT_ONCE = 16


def number_of_rows():
    return gpu_bytes() // ROW * 21 // 20 + 1


def require_chunks(plan, place="cuda:0"):
    assert plan.place == place
    if place != "cpu":
        assert plan.chunks > 20
        assert plan.bytes_allocated <= GIB


def fill(memory, rows):
    """Gives each row a number, or all of them one."""
    rows = np.broadcast_to(np.uint8(rows), len(memory))

    def assign(begin, end):
        memory[begin:end] = rows[begin:end, None]
        return True

    on_threads(assign, len(memory), ROWS_AT_ONCE)


def has_rows(memory, rows):
    """Whether all elements of a row are its number."""
    words = memory.view(np.uint64)
    numbers = rows.astype(np.uint64) * np.uint64(0x0101010101010101)
    return on_threads(
        lambda begin, end: bool((words[begin:end] == numbers[begin:end, None]).all()),
        len(memory),
        ROWS_AT_ONCE,
    )


def has_only(memory, positions, values):
    """Whether a flat array of zeros has these values, and no others; changes it."""
    if not np.array_equal(memory[positions], values):
        return False
    memory[positions] = 0
    words = memory.view(np.uint64)
    return on_threads(lambda begin, end: not words[begin:end].any(), len(words), ROW)


def added(positions, values):
    """The distinct positions, and the sums of their values."""
    distinct, which = np.unique(positions, return_inverse=True)
    sums = np.zeros(distinct.size, values.dtype)
    np.add.at(sums, which, values)
    return distinct, sums


def test_bincount(rng):
    """Of more bins than the GPU has bytes, before the array that the other tests share."""
    size = number_of_rows() * ROW
    require_host_memory(size)
    index, weights = rng.integers(0, size, 100_000), rng.integers(1, 256, 100_000, np.uint8)
    index[:2], reports = (0, size - 1), Reports()
    options = {"size": size, "device": "cuda"}
    found = gpukern.bincount(index, weights, progress=reports, **options)
    reports.require_all_of(found.nbytes)
    assert found.nbytes > gpu_bytes()
    assert has_only(found, *added(index, weights))


@pytest.fixture(scope="module")
def memory():
    rows = number_of_rows()
    require_host_memory(rows * ROW + 8 * GIB)
    return np.empty((rows, ROW), np.uint8)


def test_scatter_of_rows(memory, rng):
    """Of all of them once, and then of some of them several times."""
    rows, options = len(memory), {"device": "cuda"}
    fill(memory, 1)
    index, values = rng.permutation(rows), rng.integers(0, 256, rows, np.uint8)
    require_chunks(gpukern.explain(gpukern.scatter, memory, index, values[:, None], **options))
    reports, expected = Reports(), np.empty(rows, np.uint8)
    expected[index] = values
    gpukern.scatter(memory, index, values[:, None], progress=reports, **options)
    reports.require_all_of(memory.nbytes)
    assert has_rows(memory, expected)
    index, reports = rng.integers(-rows, rows, rows), Reports()
    gpukern.scatter(memory, index, values[:, None], reduce="add", progress=reports, **options)
    reports.require_all_of(memory.nbytes)
    np.add.at(expected, index, values)
    assert has_rows(memory, expected)


@pytest.mark.parametrize("by", ["tuple", "put_along_axis", "flat"])
def test_scatter_of_elements(memory, by, rng):
    rows = len(memory)
    columns = rng.integers(0, ROW, (rows, 3))
    values = rng.integers(1, 256, columns.shape, np.uint8)
    positions = np.arange(rows)[:, None] * ROW + columns
    fill(memory, 0)
    reports = Reports()
    options = {"reduce": "add", "device": "cuda", "progress": reports}
    if by == "tuple":
        gpukern.scatter(memory, (np.arange(rows)[:, None], columns), values, **options)
    elif by == "flat":
        gpukern.scatter(memory, positions, values, axis=None, **options)
    else:
        gpukern.put_along_axis(memory, columns, values, 1, **options)
    reports.require_all_of(memory.nbytes)
    assert has_only(memory.reshape(-1), *added(positions.reshape(-1), values.reshape(-1)))


def bounds(rng, count, number):
    return np.unique(np.concatenate([[0, count], rng.integers(0, count, number)]))


def test_segment_reduce(memory, rng):
    rows, reports = len(memory), Reports()
    numbers, offsets = rng.integers(0, 256, rows, np.uint8), bounds(rng, rows, 500)
    fill(memory, numbers)
    require_chunks(gpukern.explain(gpukern.segment_reduce, memory, offsets, device="cuda"))
    found = gpukern.segment_reduce(memory, offsets, device="cuda", progress=reports)
    reports.require_all_of(found.nbytes)
    assert has_rows(found, np.add.reduceat(numbers, offsets[:-1], dtype=np.uint8))


def test_gather_reduce(memory, rng):
    rows, reports = len(memory), Reports()
    numbers = rng.integers(0, 256, rows, np.uint8)
    index, offsets = rng.integers(-rows, rows, 50_000), bounds(rng, 50_000, 500)
    fill(memory, numbers)
    options = {"reduce": "max", "device": "cuda"}
    require_chunks(gpukern.explain(gpukern.gather_reduce, memory, index, offsets, **options))
    found = gpukern.gather_reduce(memory, index, offsets, progress=reports, **options)
    reports.require_all_of(found.nbytes, memory.nbytes)
    assert has_rows(found, np.maximum.reduceat(numbers[index], offsets[:-1]))


def test_compress_of_rows(memory, rng):
    rows, reports = len(memory), Reports()
    numbers, mask = rng.integers(0, 256, rows, np.uint8), rng.random(rows) < 0.05
    fill(memory, numbers)
    options = {"axis": 0, "device": "cuda"}
    require_chunks(gpukern.explain(gpukern.compress, mask, memory, size=100, **options))
    found = gpukern.compress(mask, memory, progress=reports, **options)
    reports.require_all_of(found.nbytes)
    assert has_rows(found, numbers[mask])


def test_selections_by_a_mask_of_its_size(memory, rng):
    """compress and nonzero in chunks; the CPU counts for count_nonzero, which has none."""
    flat, options = memory.reshape(-1), {"device": "cuda"}
    positions = np.unique(rng.integers(0, flat.size, 200_000))
    values = rng.integers(1, 256, positions.size, np.uint8)
    fill(memory, 0)
    flat[positions] = values
    require_chunks(gpukern.explain(gpukern.count_nonzero, memory, **options), "cpu")
    assert gpukern.count_nonzero(memory, **options) == positions.size
    reports = Reports()
    found = gpukern.nonzero(memory, progress=reports, **options)
    reports.require_all_of(sum(coordinates.nbytes for coordinates in found))
    assert np.array_equal(found[0] * ROW + found[1], positions)
    reports = Reports()
    assert np.array_equal(gpukern.compress(memory, memory, progress=reports, **options), values)
    reports.require_all_of(values.nbytes)


def test_take_along_axis(memory, rng):
    """The CPU gathers from a pageable source that does not fit."""
    rows, options = len(memory), {"device": "cuda"}
    numbers = rng.integers(0, 256, rows, np.uint8)
    fill(memory, numbers)
    index = rng.integers(-ROW, ROW, (rows, 500), np.int32)
    memory[np.arange(rows), index[:, 0]] = 7
    require_chunks(gpukern.explain(gpukern.take_along_axis, memory, index, 1, **options), "cpu")
    found = gpukern.take_along_axis(memory, index, 1, **options)
    assert np.array_equal(found, np.take_along_axis(memory, index.astype(np.intp), 1))
