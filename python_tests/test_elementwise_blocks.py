# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise calls on host arrays report progress, stop on request and support dry runs."""

import threading
import time

import numpy as np
import pytest

import gpukern
from gpukern import elementwise, explain
from gpukern._elementwise import blocking, cpu_executor

GPU = bool(gpukern.info()["devices"])
SHAPES = [(30, 40), (2, 3, 50), (7,), (), (0, 3), (1, 100), (100, 1)]


class StopError(Exception):
    """What a callback raises."""


@pytest.mark.parametrize("size", [1, 30, 1000, 10**9])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks_cover_each_element_once(shape, size):
    seen = np.zeros(shape, int)
    for part in blocking.blocks(shape, size):
        seen[part] += 1
        assert seen[part].size <= max(size, 1)
    assert (seen == 1).all()


def reports_of(call):
    """What a call reports to a callback that takes the time to the next report."""
    reports = []
    call(lambda done, total: reports.append((done, total)) or time.sleep(0.1))
    return reports


@pytest.mark.parametrize("dtype", [None, "f8", "f4"])
def test_it_reports(monkeypatch, rng, dtype):
    monkeypatch.setattr(cpu_executor, "REPORT_BYTES", 500_000)
    f = elementwise("a * 2 + b")
    a = rng.normal(size=(3, 100_000))
    out = None if dtype is None else np.empty(a.shape, dtype)
    size = a.size * np.dtype(dtype).itemsize
    reports = reports_of(lambda progress: f(a, a[0], out=out, device="cpu", progress=progress))
    assert [total for _, total in reports] == [size] * len(reports)
    assert len(reports) > 2
    done = [each for each, _ in reports]
    assert done == sorted(set(done))
    assert done[-1] == size
    np.testing.assert_array_equal(f(a, a[0], progress=lambda *_: None), a * 2 + a[0])


def test_small_calls_report_once():
    x = np.arange(10.0)
    f = elementwise("a + 1")
    assert reports_of(lambda progress: f(x, progress=progress)) == [(80, 80)]
    assert reports_of(lambda progress: f(x[:0], progress=progress)) == []


@pytest.mark.parametrize("size", [100, 12_000_000])
@pytest.mark.parametrize("given_out", [False, True])
def test_a_callback_cannot_resize_arrays(size, given_out):
    a = np.ones(size, "f4")
    out = np.empty(size, "f4") if given_out else None
    refused = []

    def resize(done, total):
        for each in (a, out)[: 1 + given_out]:
            with pytest.raises(ValueError, match="cannot resize"):
                each.resize(1, refcheck=False)
            refused.append(each)

    result = elementwise("x * 2 + y")(a, a, out=out, progress=resize)
    assert (result == 3).all()
    assert refused
    a.resize(1, refcheck=False)  # nothing holds it after the call


@pytest.mark.parametrize("progress", [1, "callback", object()])
def test_progress_must_be_callable(progress):
    with pytest.raises(TypeError, match=r"^elementwise: progress must be callable or None, got "):
        elementwise("a + 1")(np.arange(3.0), progress=progress)


@pytest.mark.parametrize("size", [10, 400_000])
def test_an_overflow_error_of_a_callback_comes_out(size):
    raised = OverflowError("mine")

    def stop(done, total):
        raise raised

    with pytest.raises(OverflowError) as caught:
        elementwise("a + 1")(np.ones(size), progress=stop)
    assert caught.value is raised


def test_an_exception_stops_the_call_and_comes_out(monkeypatch):
    monkeypatch.setattr(cpu_executor, "REPORT_BYTES", 500_000)
    seen = []

    def stop(done, total):
        seen.append(done)
        raise StopError("enough")

    x, out = np.ones(400_000), np.zeros(400_000)
    with pytest.raises(StopError, match="enough"):
        elementwise("a + 1")(x, out=out, progress=stop)
    assert len(seen) == 1
    assert (out[: seen[0] // 8] == 2).all()
    assert (out[seen[0] // 8 :] == 0).all()


@pytest.mark.alone
def test_ctrl_c_stops_all_threads(monkeypatch, stopped_by_ctrl_c):
    monkeypatch.setattr(cpu_executor, "get_num_threads", lambda: 4)
    x = np.ones(1 << 22)
    f = elementwise("sin(a) + cos(a)")
    running = threading.active_count()
    stopped_by_ctrl_c(lambda: f(x, out=x))
    until = time.monotonic() + 10
    while threading.active_count() > running and time.monotonic() < until:
        time.sleep(0.001)  # one that has computed its last block may not have ended yet
    assert threading.active_count() == running


def test_the_argument_device_memory():
    f = elementwise("a + 1")
    x = np.zeros(3)
    assert f(x, device="cpu", device_memory=1000).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="device_memory must be a number of bytes, got 0"):
        f(x, device="cpu", device_memory=0)
    with pytest.raises(
        gpukern.errors.GpukernTypeError, match="device_memory must be an int, got str"
    ):
        f(x, device="cpu", device_memory="1G")


@pytest.mark.parametrize("limit", [0, -1, "4G", 1.5, 10**30])
def test_device_memory_is_checked_alike(limit):
    x = np.zeros(3)
    for call in (
        lambda: elementwise("a + 1")(x, device_memory=limit),
        lambda: gpukern.saxpy(1.0, x, x, device_memory=limit),
        lambda: gpukern.gather(x, [0], device_memory=limit),
        lambda: gpukern.gather(x, np.array([0]), device_memory=limit),
    ):
        with pytest.raises(
            (gpukern.errors.GpukernTypeError, gpukern.errors.GpukernValueError), match="_memory"
        ):
            call()


def test_explain_on_the_cpu(monkeypatch):
    monkeypatch.delenv("GPUKERN_DEVICE", raising=False)
    f = elementwise("a * 2 + b", name="f")
    x = np.zeros((1000, 100), "f4")
    plan = explain(f, x, 3)
    assert (plan.op, plan.place, plan.path, plan.threads) == ("f", "cpu", "contiguous", 1)
    assert plan.why == "host arrays are computed on the CPU"
    assert (plan.bytes_read, plan.bytes_written) == (x.nbytes, x.nbytes)
    out = np.full(x.shape, 7.0)
    plan = explain(f, x.T, x.T, out=out.T, device="cpu")
    assert (plan.why, plan.path) == ("device= selects it", "strided")
    assert plan.bytes_written == out.nbytes
    assert (out == 7).all()
    assert explain(f, x[:0], 1).path == "nothing to do"
    monkeypatch.setenv("GPUKERN_DEVICE", "cpu")
    assert explain(f, x, x[0]).why == "GPUKERN_DEVICE selects it"
    with pytest.raises(ValueError, match="do not broadcast"):
        explain(f, x, np.zeros(3))
    if not GPU:
        monkeypatch.setenv("GPUKERN_DEVICE", "cuda")
        assert explain(f, x, x).why.startswith("GPUKERN_DEVICE is cuda, but there is no GPU: ")
        with pytest.raises(gpukern.errors.GpukernDeviceError):
            explain(f, x, x, device="cuda")
