# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays in GPU memory: equal to NumPy on the whole table.

Parts are put on the GPUs of this machine in turn, so that one is enough.
test_gpus_in_software.py runs this file where there is none.
"""

import gc
import itertools
import pickle

import numpy as np
import pytest
from conftest import CASES_PER_TEST
from gpu_tables import (
    GPUS,
    MODES,
    devices_of,
    random_index,
    random_rows,
    random_table,
    require_equal,
    shared,
)
from ranks import on_ranks, without_errors

import gpukern
from gpukern import distributed
from gpukern.errors import GpukernDeviceError

pytestmark = pytest.mark.gpu


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


def test_gather_of_ranks(rng, cases):
    for _ in range(max(CASES_PER_TEST // 50, 5)):
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


def test_scatter_by_an_index_on_another_gpu_of_the_rank():
    def call(group):
        array = shared(np.zeros(9), group, devices_of(2, group.rank))
        there = array.devices[-1]
        index, values = (gpukern.to_device(np.array(each), there) for each in ([8, 0], [1.0, 2.0]))
        gpukern.scatter(array, index, 1.0, reduce="add")
        gpukern.scatter(array, index, values, reduce="add")
        return gpukern.gather(array, index).numpy().tolist()

    assert without_errors(on_ranks(call, 2)) == [[4.0, 6.0]] * 2


@pytest.mark.parametrize("write", [gpukern.scatter, gpukern.put_along_axis])
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("progress", 5, "progress must be callable or None, got int"),
        ("unique", 5, "unique must be a bool, got int"),
        ("device_memory", -5, "device_memory must be"),
    ],
)
def test_wrong_options_of_writes(write, option, value, words):
    array = shared(np.zeros(9), None, devices_of(2))
    with pytest.raises((TypeError, ValueError), match=f"{write.__name__}: {words}"):
        write(array, [0], 1.0, axis=0, **{option: value})
    require_equal(array.on(), np.zeros(9))
    assert write(array, [0], 1.0, axis=0, unique=True, device_memory=1 << 30) is array


def test_saxpy(rng):
    x, y = rng.random((2, 100, 33))

    def call(group):
        devices, rows = devices_of(2, group.rank), [10, 40]
        xs, ys = (shared(each, group, devices, rows) for each in (x, y))
        assert gpukern.saxpy(2, xs, ys, out=ys) is ys
        new = gpukern.saxpy(3, xs, ys)
        other = distributed.empty((100, 33), float, group, devices=devices, rows=[40, 10])
        with pytest.raises(ValueError, match="saxpy: y must have the layout of x"):
            gpukern.saxpy(1, xs, other)
        return new.local.numpy()

    got = np.concatenate(without_errors(on_ranks(call, 2)))
    np.testing.assert_array_equal(got, gpukern.saxpy(3, x, gpukern.saxpy(2, x, y)))


@pytest.mark.parametrize("option", ["device", "stream"])
def test_saxpy_on_one_device_or_stream_is_refused(option):
    array, out = (shared(np.full(6, each), None, devices_of(2)) for each in (1.0, 5.0))
    for place in (out, None):
        with pytest.raises(ValueError, match="saxpy: a DeviceTable takes neither device nor strea"):
            gpukern.saxpy(1, array, array, out=place, **{option: 0})
    require_equal(out.on(), np.full(6, 5.0))


@pytest.mark.parametrize("rounding", ["stochastic", "bogus"])
def test_saxpy_rounds_to_nearest(rounding):
    array, out = (shared(np.full(6, each), None, devices_of(2)) for each in (1.0, 5.0))
    for place in (out, None):
        with pytest.raises(ValueError, match=f"saxpy: rounding .*must be 'nearest'.* '{rounding}"):
            gpukern.saxpy(1, array, array, out=place, rounding=rounding)
    require_equal(out.on(), np.full(6, 5.0))
    require_equal(gpukern.saxpy(1, array, array, rounding="nearest").on(), np.full(6, 2.0))


def test_explain():
    array = shared(np.zeros((30, 4)), None, devices_of(2))
    for device in set(array.devices):
        index = gpukern.to_device(np.arange(3), device)
        assert gpukern.explain(gpukern.gather, array, index).place == f"cuda:{device}"
        explained = gpukern.explain(gpukern.gather, array, [0, 2], device=device)
        assert explained.place == f"cuda:{device}"
        explained = gpukern.explain(gpukern.scatter, array, [0, 2], 1.0, device=f"cuda:{device}")
        assert explained.place == f"cuda:{device}"


def test_tuples_of_indices_on_each_gpu_of_the_rank():
    table = np.arange(120.0).reshape(30, 4)
    array = shared(table, None, devices_of(3))
    for device in set(array.devices):
        i, j = (gpukern.to_device(np.array(each), device) for each in ([29, 0], [3, 1]))
        for index in ((i, j), (i, 2), (2, j)):
            found = gpukern.gather(array, index)
            host = tuple(each if isinstance(each, int) else each.numpy() for each in index)
            require_equal(found, table[host])
            assert found.device == f"cuda:{device}"
            assert gpukern.explain(gpukern.gather, array, index).place == f"cuda:{device}"
            assert gpukern.explain(gpukern.scatter, array, index, 1).place == f"cuda:{device}"
            gpukern.scatter(array, index, 1.0, reduce="add")
            table[host] += 1


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


def test_gather_from_no_rows():
    def call(group):
        array = shared(np.empty((0, 3)), group)
        with pytest.raises(IndexError, match="index 0 is out of bounds"):
            gpukern.gather(array, [0])
        return gpukern.gather(array, np.empty((2, 0), int)).shape

    assert without_errors(on_ranks(call, 2)) == [(2, 0, 3)] * 2


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
        ({"devices": [0, None]}, TypeError, "devices must be CUDA devices, got None"),
        ({"devices": {0, 1}}, TypeError, "devices must be CUDA devices, got {0, 1}"),
        ({"rows": [3]}, ValueError, r"a number for each of 2 devices, got \[3\]"),
        ({"rows": 3}, ValueError, "a number for each of 2 devices, got 3"),
        ({"rows": [3.0, 3.0]}, TypeError, "empty: rows must be an integer, got 3.0"),
        ({"rows": [3, 4]}, ValueError, r"must be 6 in all and not negative, got \[3, 4\]"),
        ({"rows": [3, 2]}, ValueError, "must be 6 in all and not negative, got 5"),
        ({"rows": [2**62] * 2, "shape": 0}, ValueError, "must be 0 in all"),
        ({"rows": [2**80, 0]}, ValueError, "must be 6 in all"),
        ({"rows": [-1, 7]}, ValueError, "must be 6 in all and not negative"),
        ({"shape": 2**50}, MemoryError, "no addresses|out of memory"),
        ({"shape": (2**40, 2**40)}, MemoryError, "bytes"),
        ({"shape": 2**64}, MemoryError, r"empty: the array takes 2\*\*63 bytes or more"),
        ({"shape": (0, 2**40, 2**40)}, MemoryError, "bytes"),
        ({"shape": 2**63 - 1, "dtype": "u1"}, MemoryError, "bytes"),
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


def test_calls_that_differ_between_ranks():
    def call(group):
        with pytest.raises(ValueError, match="the calls of the ranks differ"):
            distributed.empty((6, 2 + group.rank), "f8", group, devices=0)
        array = shared(np.arange(6.0), group)
        if group.rank == 0:
            gpukern.gather(array, [0], mode="clip")
        with pytest.raises(ValueError, match="differ: synchronize, but gather on rank 1"):
            gpukern.gather(array, [0]) if group.rank == 1 else array.synchronize()
        with pytest.raises(ValueError, match="scatter: axis of a DistributedArray must be 0"):
            gpukern.scatter(array, [0], 1.0, axis=1)
        with pytest.raises(TypeError, match="index must be of an integer dtype"):
            gpukern.scatter(array, [0.5], 1.0)
        if GPUS > 1:
            with pytest.raises(ValueError, match="device must be one of this rank"):
                array.on(1)
        assert array.staging_memory == 0
        with pytest.raises(TypeError, match="put_along_axis: a DistributedArray is not supported"):
            gpukern.put_along_axis(array, [0], 1.0, axis=0)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(array)
        with pytest.raises(TypeError, match=r"pass its \.local"):
            np.asarray(array)
        require_equal(gpukern.gather(array, [5, 0]), np.array([5.0, 0.0]))
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"device": 99}, GpukernDeviceError, "cuda:99"),
        ({"device": "cpu"}, ValueError, r"device must be one of this rank, \(0,\), got 'cpu'"),
        ({"device": 0.5}, TypeError, "device must be one of this rank.*, got 0.5"),
        ({"mode": "clip "}, ValueError, "mode must be .*, got 'clip '"),
        ({"mode": None}, ValueError, "mode must be .*, got None"),
        ({"axis": 7}, ValueError, "axis"),
    ],
)
def test_a_wrong_argument_of_a_gather_of_one_rank_raises_on_all(arguments, error, words):
    def call(group):
        array = shared(np.arange(6.0), group)
        with pytest.raises(error, match=words):
            gpukern.gather(array, [0], **(arguments if group.rank == 1 else {}))
        require_equal(gpukern.gather(array, [5, 0]), np.array([5.0, 0.0]))
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


def test_saxpy_of_layouts_that_differ_on_one_rank():
    def call(group):
        array = shared(np.arange(6.0), group)
        other = shared(np.arange(6.0), group, devices_of(1, (group.rank + 1) // 2))
        wrong = [np.ones(3)] if GPUS == 1 else [np.ones(3), other]
        for each in wrong:
            with pytest.raises((ValueError, TypeError), match="saxpy: y must"):
                gpukern.saxpy(1, array, each if group.rank == 1 else array)
        if GPUS > 1:
            with pytest.raises(ValueError, match="saxpy: out must have the layout of x"):
                gpukern.saxpy(1, array, array, out=other)
        got = gpukern.saxpy(1, array, array).local.numpy()
        assert (got == 2.0 * np.arange(3 * group.rank, 3 * group.rank + 3)).all()
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2
