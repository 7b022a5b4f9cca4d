# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""explain(): where a call would run, and why, without running it."""

import copy
import pickle

import numpy as np
import pytest

import gpukern
from gpukern import explain, gather, saxpy

GPU = bool(gpukern.info()["devices"])


@pytest.fixture
def x():
    return np.arange(2**20, dtype=np.float32)


@pytest.fixture(autouse=True)
def no_default(monkeypatch):
    monkeypatch.delenv("GPUKERN_DEVICE", raising=False)


def test_host_arrays_are_computed_on_the_cpu(x):
    plan = explain(saxpy, 2.0, x, x)
    assert (plan.op, plan.place, plan.path) == ("saxpy", "cpu", "contiguous")
    assert plan.why == "host arrays are computed on the CPU"
    assert 1 <= plan.threads <= max(gpukern.info()["cpu_count"], 64)
    assert (plan.bytes_read, plan.bytes_written) == (8 * 2**20, 4 * 2**20)
    assert (plan.chunks, plan.bytes_to_device, plan.bytes_from_device) == (0, 0, 0)
    assert str(plan).startswith("saxpy on cpu: host arrays are computed on the CPU; ")
    assert str(plan).endswith("; reads 8 MiB, writes 4 MiB")
    assert repr(plan) == f"<gpukern.Explanation: {plan}>"


def test_few_elements_take_one_thread(x):
    plan = explain(gather, x, [3, 4])
    assert plan.threads == 1
    assert "; 1 thread, items; " in str(plan)
    assert plan.bytes_read == 16 + 8
    # The indices twice: mode 'raise' looks at them before it touches what the caller gave.
    assert explain(gather, x, [3, 4], out=x[:2].copy()).bytes_read == 2 * 16 + 8


def test_nothing_is_written(x):
    before = x.copy()
    for out in (np.zeros_like(x), x[::-1], np.zeros(x.shape, ">f4")):
        kept = out.copy()
        assert explain(saxpy, 2.0, x, x, out=out).op == "saxpy"
        np.testing.assert_array_equal(out, kept)
    out = np.zeros(3, np.float32)
    assert explain(gather, x, [1, 2, 3], out=out).path == "items"
    assert not out.any()
    np.testing.assert_array_equal(x, before)


def test_bad_indices_are_not_looked_at_and_bad_arguments_are(x):
    assert explain(gather, x, [2**30]).place == "cpu"
    with pytest.raises(gpukern.errors.GpukernTypeError, match="index must be of an integer dtype"):
        explain(gather, x, [1.5])
    with pytest.raises(
        gpukern.errors.GpukernValueError, match="y must broadcast with the shape of x"
    ):
        explain(saxpy, 2, x, x[:5])


def test_paths(x):
    table = x.reshape(-1, 64)
    assert explain(gather, table, [1]).path == "rows"
    assert explain(gather, x, np.zeros(0, int)).path == "nothing to do"
    assert explain(saxpy, 2, x[::2], x[::2]).path == "strided"


def test_the_device_argument_and_the_environment_decide(x, monkeypatch):
    assert explain(saxpy, 2, x, x, device="cpu").why == "device= selects it"
    monkeypatch.setenv("GPUKERN_DEVICE", "cpu")
    assert explain(saxpy, 2, x, x).why == "GPUKERN_DEVICE selects it"
    monkeypatch.setenv("GPUKERN_DEVICE", "cuda")
    plan = explain(saxpy, 2, x, x)
    if GPU:
        assert (plan.place, plan.why) == ("cuda:0", "GPUKERN_DEVICE selects it")
    else:
        assert plan.place == "cpu"
        assert plan.why.startswith("GPUKERN_DEVICE is cuda, but there is no GPU: ")
        with pytest.raises(gpukern.errors.GpukernDeviceError):
            explain(saxpy, 2, x, x, device="cuda")


@pytest.mark.skipif(not GPU, reason="no GPU")
def test_through_a_gpu_and_on_it(x):
    plan = explain(saxpy, 2, x, x, device="cuda")
    assert (plan.place, plan.why) == ("cuda:0", "device= selects it")
    assert plan.threads >= 1  # those that fill the staging
    assert (plan.bytes_to_device, plan.bytes_from_device) == (8 * 2**20, 4 * 2**20)
    assert plan.chunks >= 1
    assert " to the GPU, 4 MiB back, in " in str(plan)
    on_gpu = gpukern.to_device(x)
    plan = explain(gather, on_gpu, np.arange(1000), stream=0)
    assert (plan.place, plan.why) == ("cuda:0", "the arrays are on this device")
    assert plan.bytes_to_device == 8000
    np.testing.assert_array_equal(on_gpu.numpy(), x)


def test_an_explanation_is_copied_and_pickled(x):
    plan = explain(saxpy, 2.0, x, x)
    for made in (copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
        assert repr(made) == repr(plan)
        assert made.bytes_read == 8 * 2**20


def test_bytes_of_many_broadcast_elements_do_not_overflow():
    x = np.broadcast_to(np.float32(1), 2**60)
    plan = explain(gpukern.elementwise("a + b + c"), x, x, x, device="cpu")
    assert 2**62 == plan.bytes_written < plan.bytes_read < 2**63
    plan = explain(gpukern.elementwise("a + 0.5", dtype="f8"), x, device="cpu")
    assert 2**62 == plan.bytes_read < plan.bytes_written < 2**63


class Unhashable:
    __hash__ = None

    def __call__(self, *args):
        return None


@pytest.mark.parametrize("op", [len, 3, [], "gather", gpukern.to_device, Unhashable()])
def test_other_operations_are_refused(op, x):
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"op must be gpukern\.gather or"):
        explain(op, x, [1])


def test_arrays_that_take_several_calls_are_refused(x):
    for source in (np.array([None, 1]), np.ma.masked_array([1, 2], [True, False])):
        with pytest.raises(gpukern.errors.GpukernTypeError, match="is several calls"):
            explain(gather, source, [0])
        with pytest.raises(gpukern.errors.GpukernTypeError, match="is several calls"):
            explain(gpukern.take, indices=[0], a=source)


def test_other_arguments_may_be_masked_where_the_call_takes_them():
    index = np.ma.masked_array([0, 1], [True, False])
    assert explain(gather, np.arange(3), index).place == "cpu"
    with pytest.raises(gpukern.errors.GpukernTypeError, match="saxpy: x must not be a masked"):
        explain(saxpy, 2, index, index)


def test_a_subclass_of_ndarray_is_explained_too():
    class Marked(np.ndarray):
        pass

    assert explain(gather, np.arange(5).view(Marked), [1]).place == "cpu"


@pytest.mark.gpu
def test_a_gpu_combines_few_indices_where_it_reads_items():
    x = gpukern.to_device(np.zeros((3, 4, 5, 6), "f4"), device="cuda")
    i = gpukern.to_device(np.zeros(100, np.int64), device="cuda")
    matrix = gpukern.to_device(np.zeros((7, 9), "f4"), device="cuda")
    combined = explain(gather, matrix, (i, i), mode="clip")
    assert (combined.path, combined.bytes_allocated) == ("strided", 0)
    rows = explain(gather, x, (i, i), mode="clip")
    many = explain(gather, x, (i, i, i, i), mode="clip")
    assert rows.bytes_allocated == many.bytes_allocated == 800
