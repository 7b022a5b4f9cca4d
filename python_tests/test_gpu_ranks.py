# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays on GPUs of several processes, or over several hosts, and tables of a host.

test_gpus_in_software.py runs this file where there is no GPU.
"""

import gc
import sys
import threading
import time
import types
import weakref

import numpy as np
import pytest
from conftest import CASES_PER_TEST
from gpu_tables import (
    GPUS,
    MODES,
    devices_of,
    gpu_parts,
    random_index,
    random_rows,
    random_table,
    require_equal,
    shared,
)
from ranks import die, on_processes, on_ranks, without_errors

import gpukern
from gpukern import distributed
from gpukern.distributed import device_table, handles
from gpukern.distributed.storage import gpu_storage
from gpukern.errors import GpukernCancelledError, PeerLostError

pytestmark = pytest.mark.gpu


def in_a_process(group):
    rng = np.random.default_rng(3)
    table = rng.random((5000, 300))
    array = shared(table, group, devices_of(2, group.rank), [1000 + 500 * group.rank] * 2)
    for seed in range(20):
        mode = MODES[seed % 4]
        index = np.random.default_rng([seed, group.rank]).integers(-5000, 5000, 777)
        require_equal(
            gpukern.gather(array, index, mode=mode), gpukern.gather(table, index, mode=mode)
        )
    array.synchronize()
    gpukern.scatter(array, [4999, 0], 1.0, reduce="add")
    gpukern.scatter(table, [4999, 0] * group.size, 1.0, reduce="add")
    require_equal(gpukern.gather(array, [0, 4999]), table[[0, 4999]])
    array.synchronize()
    if group.rank == 0:  # the memory of an array that is gone stays for the others
        del array
        gc.collect()
        group.all_gather(b"")
    else:
        group.all_gather(b"")
        require_equal(gpukern.gather(array, [0, 1], mode="clip"), table[[0, 1]])


def with_a_rank_that_dies(group):
    array = shared(np.arange(100.0), group)
    if group.rank == 1:
        die()
    began = time.monotonic()
    with pytest.raises(PeerLostError, match="rank 1 of 2 has ended"):
        gpukern.gather(array, [99])
    assert time.monotonic() - began < 10
    require_equal(gpukern.gather(array, [99, 0], mode="clip"), np.array([99.0, 0.0]))


@pytest.mark.thread_unsafe(reason="starts processes")
def test_processes():
    assert on_processes(in_a_process, 2) == ["done"] * 2


@pytest.mark.thread_unsafe(reason="starts processes")
def test_a_process_that_dies():
    assert on_processes(with_a_rank_that_dies, 2) == ["done", "lost"]


def test_a_rank_without_a_thread_is_an_error_of_all(monkeypatch):
    """A rank sends the handles of its memory from a thread."""
    rank, fails = threading.local(), [True]

    class Thread(threading.Thread):
        def start(self):
            if rank.number == 1 and fails:
                raise RuntimeError("can't start new thread")
            super().start()

    def by_files(call, memory, firsts):  # also where there are fabric handles
        own = range(*firsts[call.group.rank : call.group.rank + 2].tolist())
        handles._share_files(call, memory, firsts, own)

    monkeypatch.setattr(device_table, "share", by_files)
    monkeypatch.setattr(handles, "threading", types.SimpleNamespace(Thread=Thread))

    def call(group):
        rank.number = group.rank
        kind = RuntimeError if group.rank == 1 else GpukernCancelledError
        began = time.monotonic()
        with pytest.raises(kind, match="can't start new thread") as raised:
            distributed.empty((100, 3), "f4", group, devices=devices_of(1, group.rank))
        assert time.monotonic() - began < handles.PATIENCE / 2
        group.all_gather(b"")
        fails.clear()
        group.all_gather(b"")
        require_equal(gpukern.gather(shared(np.arange(9.0), group), [8]), np.array([8.0]))
        return str(raised.value)

    texts = without_errors(on_ranks(call, 3))
    assert texts[0] == texts[2] == "empty: rank 1 stopped: RuntimeError: can't start new thread"


def test_parts_on_gpus_exchange_rows(rng, cases):
    for _ in range(max(CASES_PER_TEST // 50, 5)):
        size, rows = int(rng.integers(2, 5)), int(rng.integers(1, 700))
        table, mode = random_table(rng, rows), MODES[rng.integers(4)]
        cuts = np.cumsum([0, *random_rows(rng, rows, size)])
        indices = [random_index(rng, rows, mode) for _ in range(size)]

        def call(group, table=table, mode=mode, cuts=cuts, indices=indices):
            array, device = gpu_parts(table, group, cuts)
            index = indices[group.rank]
            got = gpukern.gather(array, index, mode=mode)
            out = gpukern.empty(got.shape, got.dtype, device)
            there = gpukern.to_device(index, device)
            assert gpukern.gather(array, there, mode=mode, out=out) is out
            np.testing.assert_array_equal(out.numpy(), got.numpy())
            return got

        for index, got in zip(indices, without_errors(on_ranks(call, size)), strict=True):
            require_equal(got, gpukern.gather(table, index, mode=mode))
        cases["distributed gather", "cuda"] += 2 * size


@pytest.mark.parametrize("mode", MODES)
def test_the_result_may_replace_the_index(rng, mode):
    table = rng.integers(0, 100, 3000)

    def call(group):
        array, device = gpu_parts(table, group, [0, 1000, 3000])
        index = np.random.default_rng(group.rank).integers(-3000, 3000, 50_000)
        if mode == "fill":
            index[::7] = 5000
        there = gpukern.to_device(index, device)
        assert gpukern.gather(array, there, mode=mode, out=there) is there
        require_equal(there, gpukern.gather(table, index, mode=mode))
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


def test_rows_that_are_asked_for_often(rng):
    """Each is sent once, except where an index is out of bounds."""
    table = rng.random((3000, 8))
    cuts = [0, 1000, 3000]
    indices = [(rng.random(20_000) ** 8 * 3000).astype(int) for _ in range(2)]

    def call(group):
        array, device = gpu_parts(table, group, cuts)
        array.staging_memory = 1 << 30
        index = indices[group.rank]
        there = gpukern.to_device(index, device)
        rows = array.storage.rows_of("gather", there, 3000, "clip")[1]
        distinct, positions = array.storage.distinct(rows, 3000, array.row_bytes)
        assert positions is not None
        np.testing.assert_array_equal(numpy_of(distinct), np.unique(index))
        found = [gpukern.gather(array, there)]
        index[7] = 3000
        there = gpukern.to_device(index, device)
        found.append(gpukern.gather(array, there, mode="fill", fill_value=-1))
        return [each.numpy() for each in found]

    expected = [table[index] for index in indices]
    for found, wanted in zip(without_errors(on_ranks(call, 2)), expected, strict=True):
        np.testing.assert_array_equal(found[0], wanted)
        wanted[7] = -1
        np.testing.assert_array_equal(found[1], wanted)


def numpy_of(array):
    """The rows are on the host where there is no NVRTC."""
    return array if isinstance(array, np.ndarray) else array.numpy()


def test_a_group_keeps_a_storage_for_the_devices_of_all_ranks():
    def call(group):
        first = gpu_storage(group, 0)
        other = gpu_storage(group, devices_of(1, group.rank)[0])
        assert gpu_storage(group, 0) is first
        assert (other is first) == (GPUS == 1)
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


def test_a_communicator_ends_with_its_group():
    def call(group):
        return weakref.ref(gpu_storage(group, devices_of(1, group.rank)[0]))

    gc.disable()
    try:
        storages = without_errors(on_ranks(call, 2))
        assert [storage() for storage in storages] == [None] * 2
    finally:
        gc.enable()


def test_a_part_without_dimensions_is_refused_on_all_ranks():
    def call(group):
        part = gpukern.to_device(np.ones((3,) * (1 - group.rank), "f4"), 0)
        with pytest.raises(ValueError, match="array must have at least one dimension"):
            distributed.from_local(part, group)
        return distributed.from_local(gpukern.to_device(np.ones(3), 0), group).shape

    assert without_errors(on_ranks(call, 2)) == [(6,)] * 2


def test_scatter_to_parts_on_gpus(rng):
    table = rng.standard_normal((90, 5), np.float32)
    indices = [rng.integers(-90, 90, 70), rng.integers(-90, 90, 33)]
    values = [rng.standard_normal((len(index), 5), np.float32) for index in indices]
    cuts = [0, 20, 90]

    def call(group):
        array, device = gpu_parts(table, group, cuts)
        mine = values[group.rank]
        mine = gpukern.to_device(mine, device) if group.rank else mine
        assert gpukern.scatter(array, indices[group.rank], mine, reduce="add") is array
        gpukern.scatter(array, [3], 7.0)
        twice = gpukern.saxpy(1, array, array)
        with pytest.raises(TypeError, match="out must be an array on cuda"):
            gpukern.gather(array, [0], out=np.empty((1, 5), np.float32))
        with pytest.raises(ValueError, match="out must have shape"):
            gpukern.gather(array, [0], out=gpukern.empty((2, 5), "f4", device))
        with pytest.raises(IndexError, match="index 90 is out of bounds"):
            gpukern.gather(array, [90 * group.rank])
        return twice.local.numpy()

    expected = gpukern.scatter(
        table.copy(), np.concatenate(indices), np.concatenate(values), reduce="add"
    )
    expected[3] = 7
    got = np.concatenate(without_errors(on_ranks(call, 2)))
    np.testing.assert_array_equal(got, 2 * expected)


class Immutable:
    """An array that is like one of JAX."""

    sharding = types.SimpleNamespace(device_set=[0])

    def __init__(self, array, **_):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def is_deleted(self):
        return False

    def __getitem__(self, key):
        return Immutable(self.array[key])

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_scatter_replaces_a_part_that_is_immutable(monkeypatch):
    jax = types.ModuleType("jax")
    jax.core = types.SimpleNamespace(Tracer=type("Tracer", (), {}))
    jax.dlpack = types.ModuleType("jax.dlpack")
    jax.dlpack.from_dlpack = Immutable
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.dlpack", jax.dlpack)
    monkeypatch.setattr(Immutable, "__module__", "jaxlib._jax")

    def call(group):
        part = Immutable(gpukern.to_device(np.zeros(3, "f4"), devices_of(1, group.rank)[0]))
        array = distributed.from_local(part, group)
        for _ in range(2):
            assert gpukern.scatter(array, [0, 5], 1.0, reduce="add") is array
        assert isinstance(array.local, Immutable)
        assert array.local is not part
        assert part.array.numpy().tolist() == [0, 0, 0]
        return gpukern.gather(array, [0, 1, 5]).numpy().tolist()

    assert without_errors(on_ranks(call, 2)) == [[4, 0, 4]] * 2


def test_gpus_read_a_pinned_host_table_in_place(rng):
    values = rng.random((3000, 40))

    def call(group):
        table = distributed.host_table(values.shape, float, group, pinned=True)
        if group.rank == 0:
            table[:] = values
        group.all_gather(b"")
        index = gpukern.to_device(rng.integers(0, 3000, 500), devices_of(1, group.rank)[0])
        assert gpukern.explain(gpukern.gather, table, index).place.startswith("cuda")
        got = gpukern.gather(table, index)
        require_equal(got, values[index.numpy()])
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2
    gc.collect()
