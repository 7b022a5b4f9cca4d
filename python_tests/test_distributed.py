# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays on groups of threads: equal to NumPy on the whole table."""

import sys
import time
import types

import numpy as np
import pytest
from conftest import CASES_PER_TEST
from ranks import on_ranks, without_errors

import gpukern
from gpukern import distributed
from gpukern.distributed import indexing
from gpukern.distributed.routed_gather import _parts, rounds
from gpukern.errors import PeerLostError

DTYPES = ["u1", "f4", ">i8", "c16", "S3", [("a", "i4"), ("b", "f8")], "M8[s]"]


class AllGatherOnly:
    """A group with the three members that any group has."""

    def __init__(self, group):
        self.rank, self.size, self.all_gather = group.rank, group.size, group.all_gather


def parts_of(rng, rows, size):
    cuts = np.sort(rng.integers(0, rows + 1, size - 1))
    return np.concatenate(([0], cuts, [rows])).astype(int)


def random_table(rng, rows):
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    trailing = [(), (3,), (2, 5), (0,)][rng.integers(4)]
    count = rows * int(np.prod(trailing, dtype=int))
    data = rng.integers(1, 127, count * dtype.itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(rows, *trailing)


def random_index(rng, rows, mode):
    dtype = np.dtype(["i1", "u2", "i4", "u4", "i8", "u8"][rng.integers(6)])
    limits = np.iinfo(dtype)
    low, high = (-rows, rows) if mode == "raise" else (-3 * rows - 3, 3 * rows + 3)
    if rng.integers(4) == 0 and rows:  # one row
        low, high = rows - 1, rows
    low, high = max(low, limits.min), min(high, limits.max + 1)
    shape = [(0,), (), (1,), (7,), (50,), (3, 11)][rng.integers(6)]
    return rng.integers(low, max(high, low + 1), shape, dtype=dtype)


def test_gather_is_that_of_the_whole_table(rng, cases):
    for case in range(max(CASES_PER_TEST // 5, 20)):
        size = int(rng.integers(1, 6)) if case % 8 else 10  # many ranks are sorted
        rows = int(rng.integers(1, 60))
        mode = ["raise", "wrap", "clip", "fill"][rng.integers(4)]
        table = random_table(rng, rows)
        cuts = parts_of(rng, rows, size)
        indices = [random_index(rng, rows, mode) for _ in range(size)]
        staging = int([1, 500, 1 << 20][rng.integers(3)])

        def call(group, table=table, cuts=cuts, indices=indices, staging=staging, mode=mode):
            local = table[cuts[group.rank] : cuts[group.rank + 1]]
            shared = distributed.from_local(local, group, staging_memory=staging)
            return gpukern.gather(shared, indices[group.rank], mode=mode)

        wrap = AllGatherOnly if case % 3 == 0 else lambda group: group
        for index, got in zip(indices, without_errors(on_ranks(call, size, wrap)), strict=True):
            expected = gpukern.gather(table, index, mode=mode)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
            assert np.shape(got) == np.shape(expected)
        cases["distributed gather", "cpu"] += size


@pytest.mark.parametrize("rows", [2000, 10_000_000])
def test_equal_rows_are_asked_for_once(rng, rows):
    table = np.repeat(np.arange(rows)[:, np.newaxis], 2 if rows > 2000 else 33, axis=1)
    index = rng.integers(0, 1500, 20000)
    distinct, positions = indexing.distinct_rows(index, rows, 8 * 33)
    assert len(distinct) < 1501
    np.testing.assert_array_equal(distinct[positions], index)
    assert indexing.distinct_rows(rng.permutation(20000), 20000, 512)[1] is None

    def call(group):
        half = rows // 2
        local = table[:half] if group.rank == 0 else table[half:]
        return gpukern.gather(distributed.from_local(local, group), index)

    for got in without_errors(on_ranks(call, 2)):
        np.testing.assert_array_equal(got, table[index])


def test_dtypes_of_any_layout():
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]})

    def call(group):
        local = (np.arange(4) + 4 * group.rank).astype("i4").view(dtype)
        return gpukern.gather(distributed.from_local(local, group), [6, 1])["a"].tolist()

    assert on_ranks(call, 2) == [[6, 1]] * 2


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0), (4, 0, 2)])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
@pytest.mark.parametrize("index", [[], [1], [[9, -9]], 1])
def test_empty_axes(shape, mode, index):
    def call(group):
        table = distributed.empty(shape, "f4", group)
        return gpukern.gather(table, index, mode=mode, fill_value=2.5)

    whole = np.empty(shape, "f4")
    results = on_ranks(call, 2)
    try:
        expected = gpukern.gather(whole, index, mode=mode, fill_value=2.5)
    except IndexError:
        assert all(isinstance(result, IndexError) for result in results)
    else:
        for result in without_errors(results):
            np.testing.assert_array_equal(result, expected)
            assert np.shape(result) == np.shape(expected)


def test_a_group_of_torch(monkeypatch):
    torch = types.ModuleType("torch")
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.get_rank = lambda group: group.rank
    torch.distributed.get_world_size = lambda group: group.size
    torch.distributed.get_backend = lambda group: "gloo"
    torch.uint8 = np.uint8

    class Tensor:
        def __init__(self, array):
            self.array = array

        def cpu(self):
            return self

        def numpy(self):
            return self.array

    torch.frombuffer = lambda data, dtype: Tensor(np.frombuffer(data, dtype))
    torch.empty = lambda size, dtype: Tensor(np.empty(size, dtype))

    class Work:
        def is_completed(self):
            return True

        def wait(self):
            pass

    def all_gather(received, sent, group, async_op):
        assert async_op
        data = sent.array.tobytes()
        if b"interrupt" in data:
            raise KeyboardInterrupt
        for tensor, reply in zip(received, group.all_gather(data), strict=True):
            assert len(reply) == len(data)
            tensor.array[:] = np.frombuffer(reply, np.uint8)
        return Work()

    torch.distributed.all_gather = all_gather

    def call(group):
        table = distributed.from_local(np.arange(3) + 3 * group.rank, group)
        got = gpukern.gather(table, [5, -6]).tolist()
        for length in (3000, 6000):  # through the connections and through torch
            lengths = [len(data) for data in group.all_gather(bytes(length * group.rank))]
            assert lengths == [0, length]
        with pytest.raises(KeyboardInterrupt):
            group.all_gather(b"interrupt" * 1000)
        with pytest.raises(PeerLostError, match=f"rank {group.rank} of 2 stopped in a call: Keyb"):
            gpukern.gather(table, [0])
        return got

    with monkeypatch.context() as context:
        context.setitem(sys.modules, "torch", torch)
        context.setitem(sys.modules, "torch.distributed", torch.distributed)
        groups = without_errors(on_ranks(distributed.from_torch, 2))
    assert on_ranks(call, 2, lambda group: groups[group.rank]) == [[5, 0]] * 2


def test_out_may_overlap_the_table():
    def call(group):
        local = np.arange(4) + 4 * group.rank
        table = distributed.from_local(local, group)
        assert gpukern.gather(table, np.arange(8)[::-2], out=local) is local
        return local.tolist()

    assert on_ranks(call, 2) == [[7, 5, 3, 1]] * 2


def test_out_may_overlap_the_index():
    def call(group):
        local = 2 * (np.arange(8) + 8 * group.rank) % 16
        table = distributed.from_local(local, group, staging_memory=200)
        memory = np.append(np.arange(16)[::-1], 0)
        expected = gpukern.gather(table, memory[:-1].copy())
        return np.array_equal(gpukern.gather(table, memory[:-1], out=memory[1:]), expected)

    assert on_ranks(call, 2) == [True] * 2


def test_the_fields_between_those_of_out_and_of_the_table_are_kept():
    def call(group):
        records = np.zeros((2, 4), [("a", "i4"), ("b", "i4"), ("c", "i4")])
        records["b"] = [[7], [8]]
        out, local = records[["a", "c"]]
        table = distributed.from_local(local[:2], group)
        gpukern.scatter(table, [3 * group.rank], np.ones(1, out.dtype))
        for index in (range(4), [3, 0, 0, 1], [0] * 4):
            assert gpukern.gather(table, np.array(index), out=out) is out
            assert out["c"].tolist() == [index[i] in (0, 3) for i in range(4)]
        return records["b"].tolist()

    assert on_ranks(call, 2) == [[[7] * 4, [8] * 4]] * 2


def test_indices_of_another_byte_order_wrap():
    def call(group):
        table = distributed.from_local(np.arange(10) + 10 * group.rank, group)
        index = np.array([2**64 - 1], ">u8")
        return gpukern.gather(table, index, mode="wrap").tolist()

    assert on_ranks(call, 2) == [[(2**64 - 1) % 20]] * 2


def test_shapes_of_empty():
    def call(group):
        with pytest.raises(ValueError, match="calls of the ranks differ"):
            distributed.empty(100 if group.rank == 0 else 10, "f8", group)
        for shape in [(), (-1,), (2, -1)]:
            with pytest.raises(ValueError, match="shape must"):
                distributed.empty(shape, "f8", group)
        assert distributed.empty(np.int64(5), "f8", group).shape == (5,)
        return distributed.empty([5, 2], "f8", group).local.shape

    assert on_ranks(call, 2) == [(3, 2), (2, 2)]


def test_progress_reports_and_stops():
    def call(group):
        table = distributed.from_local(np.arange(100.0), group, staging_memory=400)
        reports = []
        index = np.arange(50 + 50 * group.rank)
        gpukern.gather(table, index, progress=lambda *report: reports.append(report))
        assert reports[-1] == (8 * len(index),) * 2

        def stop(done, total):
            raise KeyError(done)

        error = KeyError if group.rank == 0 else gpukern.errors.GpukernCancelledError
        with pytest.raises(error, match=None if group.rank == 0 else "rank 0 stopped: KeyError"):
            gpukern.gather(table, index, progress=stop if group.rank == 0 else None)
        return gpukern.gather(table, [101]).tolist()

    assert on_ranks(call, 2) == [[1.0]] * 2


def test_a_part_of_a_gather_has_a_row_at_least():
    def call(group):
        table = distributed.from_local(np.zeros((4, 64)), group, staging_memory=1)
        return _parts(table, np.zeros(5000, np.int64))

    assert on_ranks(call, 1) == [5000]


@pytest.mark.parametrize("reduce", [None, "add", "mean", "max"])
def test_scatter_is_that_of_the_whole_table(rng, reduce):
    for _ in range(max(CASES_PER_TEST // 50, 5)):
        size, rows = int(rng.integers(1, 5)), int(rng.integers(1, 30))
        mode = ["raise", "wrap", "clip", "fill"][rng.integers(4)]
        table = rng.standard_normal((rows, 3)).astype(np.float32)
        cuts = parts_of(rng, rows, size)
        indices = [random_index(rng, rows, mode).astype(np.int64).ravel() for _ in range(size)]
        values = [rng.standard_normal((len(index), 3)).astype(np.float32) for index in indices]

        def call(group, table=table, cuts=cuts, indices=indices, values=values, mode=mode):
            local = table[cuts[group.rank] : cuts[group.rank + 1]].copy()
            shared = distributed.from_local(local, group)
            index, value = indices[group.rank], values[group.rank]
            assert gpukern.scatter(shared, index, value, mode=mode, reduce=reduce) is shared
            return local

        got = np.concatenate(without_errors(on_ranks(call, size)))
        args = np.concatenate(indices), np.concatenate(values)
        expected = gpukern.scatter(table.copy(), *args, mode=mode, reduce=reduce)
        assert got.tobytes() == expected.tobytes()


def test_saxpy_of_one_layout():
    def call(group):
        x = distributed.empty((5, 2), np.float32, group)
        x.local[...] = group.rank
        made = gpukern.saxpy(2, x, x)
        assert made.row_range == x.row_range
        assert (made.local == 3 * group.rank).all()
        with pytest.raises(ValueError, match="saxpy: y must have the layout of x"):
            gpukern.saxpy(2, x, distributed.from_local(np.zeros((1 + group.rank, 2), "f4"), group))
        with pytest.raises(TypeError, match="saxpy: y must be a DistributedArray, as x is, got"):
            gpukern.saxpy(2, x, np.zeros((5, 2), "f4"))
        return made.shape, x.row_range

    shapes = without_errors(on_ranks(call, 3))
    assert shapes == [((5, 2), range(2)), ((5, 2), range(2, 4)), ((5, 2), range(4, 5))]


def test_other_threads_may_use_a_group():
    groups = distributed.threads(2)

    def call(group):
        time.sleep(0.3 * group.rank)  # longer than between two looks
        table = distributed.from_local(np.arange(2) + 2 * group.rank, groups[group.rank])
        return gpukern.gather(table, [2]).tolist()

    for _ in range(2):
        assert on_ranks(call, 2) == [[2]] * 2


@pytest.mark.parametrize("by_row", [False, True])
def test_no_rank_sends_or_receives_more_in_a_round_than_its_memory(by_row):
    asked = np.zeros((8, 8), np.int64)
    asked[0, 1:] = 100
    matrix = asked if by_row else asked.T
    total = np.zeros_like(matrix)
    for done, now in rounds(matrix, 100):
        np.testing.assert_array_equal(done, total)
        assert max(now.sum(axis=0).max(), now.sum(axis=1).max()) <= 100
        total += now
    np.testing.assert_array_equal(total, matrix)
