# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays in GPU memory: equal to NumPy on the whole table.

Parts are put on the GPUs of this machine in turn, so that one is enough. Where there is none, the
file runs itself once more on several GPUs in software.
"""

import gc
import itertools
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import CASES_PER_TEST, WITHOUT_GPU
from ranks import die, on_processes, on_ranks, without_errors

import gpukern
from gpukern import distributed
from gpukern.errors import GpukernDeviceError, PeerLostError

GPUS = gpukern.info()["cuda"]["device_count"]
FAKE = os.environ.get("GPUKERN_TEST_FAKE_GPU", "")
on_gpus = pytest.mark.gpu

DTYPES = ["u1", "f4", "i8", "c16", "S3", [("a", "i4"), ("b", "f8")], "M8[s]"]
MODES = ["raise", "wrap", "clip", "fill"]


def devices_of(count, first=0):
    """Devices of this machine in turn."""
    return [(first + i) % GPUS for i in range(count)]


def random_rows(rng, rows, count):
    """The numbers of rows of parts: uneven, some of them 0, or all on one part."""
    if rng.integers(5) == 0:
        return [rows if part == rows % count else 0 for part in range(count)]
    cuts = np.sort(rng.integers(0, rows + 1, count - 1))
    return np.diff([0, *cuts, rows]).tolist()


def random_table(rng, rows):
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    trailing = [(), (3,), (2, 5), (0,), (1000,), (9000,)][rng.integers(6)]
    count = rows * int(np.prod(trailing, dtype=int))
    data = rng.integers(1, 127, count * dtype.itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(rows, *trailing)


def random_index(rng, rows, mode):
    dtype = np.dtype(["i4", "i8", "u1", "u8"][rng.integers(4)])
    limits = np.iinfo(dtype)
    low, high = (-rows, rows) if mode == "raise" else (-3 * rows - 3, 3 * rows + 3)
    low, high = max(low, limits.min), min(high, limits.max + 1)
    shape = [(0,), (), (1,), (50,), (3, 11), (900,)][rng.integers(6)]
    return rng.integers(low, max(high, low + 1), shape, dtype=dtype)


def filled(array, table):
    """Write the rows of this rank, and wait for the others."""
    rows = array.row_range
    gpukern.copyto(array.local, table[rows.start : rows.stop])
    array.synchronize()
    return array


def shared(table, group=None, devices=(0,), rows=None):
    """A table as a distributed array."""
    made = distributed.empty(table.shape, table.dtype, group, devices=devices, rows=rows)
    return filled(made, table)


def require_equal(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.numpy(), expected)


@on_gpus
def test_gather_is_that_of_the_whole_table(rng, cases):
    for _ in range(max(CASES_PER_TEST // 10, 20)):
        count, rows = int(rng.integers(1, 9)), int(rng.integers(1, 700))
        table = random_table(rng, rows)
        array = shared(table, None, devices_of(count), random_rows(rng, rows, count))
        for device in set(array.devices):
            mode = MODES[rng.integers(4)]
            index = random_index(rng, rows, mode)
            expected = gpukern.gather(table, index, mode=mode)
            require_equal(gpukern.gather(array, index, mode=mode, device=device), expected)
            there = gpukern.to_device(index, device)
            out = gpukern.empty(expected.shape, table.dtype, device)
            assert gpukern.gather(array, there, mode=mode, out=out) is out
            require_equal(out, expected)
            cases["distributed gather", "cuda"] += 2


@on_gpus
def test_gather_of_ranks(rng, cases):
    for case in range(max(CASES_PER_TEST // 50, 5)):
        size, rows = int(rng.integers(2, 5)), int(rng.integers(1, 700))
        table, mode = random_table(rng, rows), MODES[rng.integers(4)]
        counts = [int(rng.integers(1, 4)) for _ in range(size)]
        parts = random_rows(rng, rows, sum(counts))
        firsts = np.cumsum([0, *counts])
        indices = [random_index(rng, rows, mode) for _ in range(size)]

        def call(group, table=table, mode=mode, parts=parts, firsts=firsts, indices=indices):
            begin, end = firsts[group.rank : group.rank + 2]
            devices = devices_of(end - begin, begin)
            array = shared(table, group, devices, parts[begin:end])
            assert [len(part) for part in array.parts] == parts[begin:end]
            result = gpukern.gather(array, indices[group.rank], mode=mode)
            array.synchronize()
            return result

        for index, got in zip(indices, without_errors(on_ranks(call, size)), strict=True):
            require_equal(got, gpukern.gather(table, index, mode=mode))
        cases["distributed gather", "cuda"] += size
        assert case >= 0


@on_gpus
def test_all_functions_of_indices(rng):
    table = rng.random((60, 7))
    array = shared(table, None, devices_of(3))
    index = rng.integers(0, 7, (60, 2))
    require_equal(
        gpukern.take_along_axis(array, index, axis=1), np.take_along_axis(table, index, 1)
    )
    require_equal(gpukern.take(array, [3, 4], axis=1), table[:, [3, 4]])
    require_equal(gpukern.gather(array, ([1, 2], [3, 4])), table[[1, 2], [3, 4]])
    require_equal(gpukern.gather(array, 5), table[5])
    assert gpukern.scatter(array, [5, 5, 59], 2.0, reduce="add") is array
    np.add.at(table, [5, 5, 59], 2.0)
    gpukern.put_along_axis(array, index[:, :1], -1.0, axis=1)
    np.put_along_axis(table, index[:, :1], -1.0, axis=1)
    for device in set(array.devices):
        require_equal(array.on(device), table)


@on_gpus
@pytest.mark.parametrize("reduce", [None, "add", "max"])
def test_scatter_is_that_of_all_ranks_in_order(rng, reduce):
    for _ in range(3):
        size, rows = int(rng.integers(2, 5)), int(rng.integers(1, 300))
        table = rng.standard_normal((rows, 5), np.float32)
        indices = [rng.integers(-rows, rows, int(rng.integers(0, 200))) for _ in range(size)]
        values = [rng.standard_normal((len(index), 5), np.float32) for index in indices]

        def call(group, table=table, indices=indices, values=values):
            array = shared(table, group, devices_of(2, group.rank))
            mine = gpukern.to_device(values[group.rank], array.devices[0])
            assert gpukern.scatter(array, indices[group.rank], mine, reduce=reduce) is array
            return array.local.numpy()

        expected = gpukern.scatter(
            table.copy(), np.concatenate(indices), np.concatenate(values), reduce=reduce
        )
        got = np.concatenate(without_errors(on_ranks(call, size)))
        np.testing.assert_array_equal(got, expected)


@on_gpus
def test_saxpy(rng):
    x, y = rng.random((2, 100, 33))

    def call(group):
        devices, rows = devices_of(2, group.rank), [10, 40]
        xs, ys = (shared(each, group, devices, rows) for each in (x, y))
        assert gpukern.saxpy(2, xs, ys, out=ys) is ys
        new = gpukern.saxpy(3, xs, ys)
        other = distributed.empty((100, 33), float, group, devices=devices, rows=[40, 10])
        with pytest.raises(ValueError, match="must have one layout"):
            gpukern.saxpy(1, xs, other)
        return new.local.numpy()

    got = np.concatenate(without_errors(on_ranks(call, 2)))
    np.testing.assert_array_equal(got, gpukern.saxpy(3, x, gpukern.saxpy(2, x, y)))


@on_gpus
def test_explain():
    array = shared(np.zeros((30, 4)), None, devices_of(2))
    for device in set(array.devices):
        index = gpukern.to_device(np.arange(3), device)
        assert gpukern.explain(gpukern.gather, array, index).place == f"cuda:{device}"


@on_gpus
def test_a_bad_index_raises_on_all_ranks_and_the_next_call_works():
    table = np.arange(90.0).reshape(30, 3)

    def call(group):
        array = shared(table, group, devices_of(1, group.rank))
        out = gpukern.empty((2, 3), float, array.devices[0])
        gpukern.copyto(out, np.ones((2, 3)))
        texts = set()
        for i in range(1000 if group.size < 3 else 50):
            index = [0, 30 + i if i % group.size == group.rank else 29]
            with pytest.raises(IndexError) as caught:
                gpukern.gather(array, index, out=out)
            text = (
                f"index {30 + i} is out of bounds for axis 0 with size 30 (rank {i % group.size})"
            )
            assert str(caught.value) == text
            texts.add(text)
        assert (out.numpy() == 1).all()
        require_equal(gpukern.gather(array, [29, -30], out=out), table[[29, 0]])
        return texts

    for size in (2, 3):
        first, *others = without_errors(on_ranks(call, size))
        assert all(each == first for each in others)


@on_gpus
def test_work_on_one_device_is_seen_by_the_others(rng):
    array = shared(np.zeros((4000, 64)), None, devices_of(3))
    index = np.arange(4000)
    there = {device: gpukern.to_device(index, device) for device in set(array.devices)}
    value = 0.0
    for _, device in itertools.product(range(20), sorted(there)):
        value += 1
        gpukern.scatter(array, there[device], 1.0, reduce="add")
        other = (device + 1) % GPUS
        if other in there:
            got = gpukern.gather(array, there[other], mode="clip")
            assert (got.numpy() == value).all()


@on_gpus
def test_arrays_keep_the_memory(rng):
    table = rng.random((50, 1000))
    views = []
    for _ in range(20):
        array = shared(table, None, devices_of(3))
        views.append([*array.parts, array.local, array.on()])
        del array
    order = rng.permutation(len(views))
    for i in order:
        for part in rng.permutation(5):
            expected = np.split(table, [17, 34])[part] if part < 3 else table
            require_equal(views[i][part], expected)
            views[i][part] = None
        gc.collect()


@on_gpus
def test_local_goes_to_other_libraries_by_dlpack(rng):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    table = rng.random((50, 4))
    array = shared(table, None, devices_of(2))
    for part in array.parts:
        tensor = torch.from_dlpack(part)
        assert tensor.device.index == part.__dlpack_device__()[1]
        tensor += 1
    torch.cuda.synchronize()
    index = torch.tensor([0, 49, 26], device="cuda:0")
    require_equal(gpukern.gather(array, index), table[[0, 49, 26]] + 1)
    out = torch.empty(3, 4, dtype=torch.float64, device="cuda:0")
    assert gpukern.gather(array, index, out=out) is out
    np.testing.assert_array_equal(out.cpu().numpy(), table[[0, 49, 26]] + 1)


@on_gpus
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shape": ()}, ValueError, "one dimension or more"),
        ({"shape": -1}, ValueError, "must not be negative"),
        ({"dtype": object}, TypeError, "object"),
        ({"dtype": "U40000"}, TypeError, "itemsize"),
        ({"devices": ()}, ValueError, "devices must not be empty"),
        ({"devices": 99}, GpukernDeviceError, "cuda:99"),
        ({"devices": "cpu"}, ValueError, "must be CUDA devices, got 'cpu'"),
        ({"devices": [0, None]}, TypeError, "None"),
        ({"rows": [3]}, ValueError, "a number for each of 2 devices, got 1"),
        ({"rows": [3, 4]}, ValueError, "must be 6 in all and not negative, got 7"),
        ({"rows": [-1, 7]}, ValueError, "must be 6 in all and not negative"),
        ({"shape": 2**50}, MemoryError, "no addresses|out of memory"),
        ({"shape": (2**40, 2**40)}, MemoryError, "bytes"),
    ],
)
def test_wrong_arguments(arguments, error, words):
    for size in (1, 2):

        def call(group):
            given = {"shape": (6,), "dtype": "f8", "devices": [0, 0], **arguments}
            if "rows" in given and group.size > 1:
                return True
            with pytest.raises(error, match=words):
                distributed.empty(given.pop("shape"), given.pop("dtype"), group, **given)
            array = shared(np.arange(6.0), group)
            require_equal(gpukern.gather(array, [5, 0]), np.array([5.0, 0.0]))
            return True

        assert without_errors(on_ranks(call, size)) == [True] * size


@on_gpus
def test_calls_that_differ_between_ranks():
    def call(group):
        with pytest.raises(ValueError, match="the calls of the ranks differ"):
            distributed.empty((6, 2 + group.rank), "f8", group, devices=0)
        array = shared(np.arange(6.0), group)
        with pytest.raises(ValueError, match="scatter: axis of a DistributedArray must be 0"):
            gpukern.scatter(array, [0], 1.0, axis=1)
        with pytest.raises(TypeError, match="index must be of an integer dtype"):
            gpukern.scatter(array, [0.5], 1.0)
        if GPUS > 1:
            with pytest.raises(ValueError, match="device must be one of this rank"):
                array.on(1)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(array)
        with pytest.raises(TypeError, match=r"pass its \.local"):
            np.asarray(array)
        require_equal(gpukern.gather(array, [5, 0]), np.array([5.0, 0.0]))
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


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


def gpu_parts(table, group, cuts):
    """The part of each rank, on a GPU."""
    device = devices_of(1, group.rank)[0]
    local = gpukern.to_device(table[cuts[group.rank] : cuts[group.rank + 1]], device)
    return distributed.from_local(local, group, staging_memory=100_000), device


@on_gpus
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


@on_gpus
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


@on_gpus
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


@on_gpus
@pytest.mark.thread_unsafe(reason="starts processes")
def test_processes():
    assert on_processes(in_a_process, 2) == ["done"] * 2


@on_gpus
@pytest.mark.thread_unsafe(reason="starts processes")
def test_a_process_that_dies():
    assert on_processes(with_a_rank_that_dies, 2) == ["done", "lost"]


@pytest.mark.skipif(not WITHOUT_GPU, reason="there is a GPU")
@pytest.mark.skipif(not FAKE, reason="GPUKERN_TEST_FAKE_GPU names no library")
@pytest.mark.thread_unsafe(reason="starts processes")
def test_on_gpus_in_software():
    environment = {
        **os.environ,
        "LD_PRELOAD": FAKE,
        "GPUKERN_FAKE_GPUS": "3",
        "GPUKERN_NCCL": "",
        "GPUKERN_TEST_CASES": "300",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", __file__],
        env=environment,
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
