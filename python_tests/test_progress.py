# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on host arrays report progress and stop on request."""

import ctypes
import subprocess
import sys
import time

import cuda_driver
import numpy as np
import pytest

import gpukern

PLACES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def large():
    """Inputs and an output of 384 MiB: several parts on the CPU."""
    count = 96 << 20
    return np.broadcast_to(np.float32(3), count), np.empty(count, np.float32)


class StopError(Exception):
    """What a callback raises."""


def reports_of(call):
    """What a call reports to a callback that takes the time to the next report."""
    reports = []
    call(lambda done, total: reports.append((done, total)) or time.sleep(0.1))
    return reports


def require_whole(reports, total):
    assert [each for _, each in reports] == [total] * len(reports)
    done = [each for each, _ in reports]
    assert done == sorted(set(done))
    assert done[-1] == total


@pytest.mark.parametrize("device", PLACES)
def test_saxpy_reports(device, large):
    x, out = large
    reports = reports_of(
        lambda progress: gpukern.saxpy(2, x, x, out=out, device=device, progress=progress)
    )
    require_whole(reports, out.nbytes)
    assert len(reports) > 2
    assert (out == 9).all()


@pytest.mark.parametrize("device", PLACES)
def test_gather_reports(device, large):
    _, out = large
    index = np.broadcast_to(np.int32(-1), out.shape)
    source = np.arange(5, dtype=np.float32)
    total = out.nbytes + (source.nbytes if device == "cuda" else 0)
    reports = reports_of(
        lambda progress: gpukern.gather(source, index, out=out, device=device, progress=progress)
    )
    require_whole(reports, total)
    assert len(reports) > 2
    assert (out == 4).all()


def test_reports_come_ten_times_a_second(large):
    # Without a pause between the parts, of which there are many more.
    x, out = large
    calls = {
        "gather": lambda progress: gpukern.gather(
            x, np.broadcast_to(0, x.shape), out=out, progress=progress
        ),
        "elementwise": lambda progress: gpukern.elementwise("a * 2")(x, out=out, progress=progress),
    }
    for call in calls.values():
        times = []
        call(lambda done, total, times=times: times.append((time.monotonic(), done == total)))
        pauses = np.diff([now for now, ended in times if not ended])
        assert (pauses >= 0.099).all()
        assert [ended for _, ended in times].count(True) == 1


def test_parts_on_the_cpu_are_small(large):
    x, out = large
    add = gpukern.elementwise("a + a")
    for call in (
        lambda progress: gpukern.saxpy(2, x, x, out=out, progress=progress),
        lambda progress: add(np.ones(4_000_000, complex), progress=progress),
    ):
        reports = reports_of(call)
        assert np.diff([0] + [done for done, _ in reports]).max() <= 32 << 20


@pytest.mark.parametrize("source", [np.s_[:, :, 1], np.s_[:, :, ::3]], ids=["items", "rows"])
def test_parts_of_a_gather_by_a_tuple(rng, source):
    x = rng.random((3, 700, 4))[source]
    index = rng.integers(-3, 3, (6_000, 1)), rng.integers(-700, 700, (6_000, 1_000))[:, ::-1]
    found = np.empty((6_000, 1_000, *x.shape[2:]))
    reports = reports_of(lambda progress: gpukern.gather(x, index, out=found, progress=progress))
    require_whole(reports, found.nbytes)
    assert len(reports) > 1
    assert np.array_equal(found, x[index])


def test_a_scatter_by_a_tuple_has_one_total(rng):
    target = np.zeros((1000, 1000))
    index = rng.integers(0, 1000, (2, 4_000_000))
    totals = set()
    gpukern.scatter(
        target, tuple(index), 1.0, progress=lambda done, total: totals.add(total) or False
    )
    assert totals == {target.nbytes}


@pytest.mark.parametrize("device", PLACES)
def test_small_calls_report_once(device):
    x = np.arange(100.0)
    saxpy = reports_of(lambda progress: gpukern.saxpy(2, x, x, device=device, progress=progress))
    assert saxpy == [(800, 800)]
    function = gpukern.elementwise("a + a")
    assert reports_of(lambda progress: function(x, progress=progress)) == [(800, 800)]
    gather = reports_of(
        lambda progress: gpukern.gather(x, [1, 2], mode="wrap", device=device, progress=progress)
    )
    assert gather[-1][0] == gather[-1][1]


def small_calls(**options):
    """Calls with results of 32 bytes, which have several parts only in chunks on a GPU."""
    x = np.arange(4.0)
    return {
        "scatter": lambda: gpukern.scatter(x, [1, 1], 5.0, reduce="add", **options),
        "put_along_axis": lambda: gpukern.put_along_axis(x, np.array([1]), 5.0, **options),
        "bincount": lambda: gpukern.bincount(np.array([0, 3]), **options),
        "gather_reduce": lambda: gpukern.gather_reduce(x, [1, 2], [0, 1, 1, 1, 2], **options),
        "segment_reduce": lambda: gpukern.segment_reduce(x, [0, 1, 1, 1, 4], **options),
        "elementwise": lambda: gpukern.elementwise("a + 1")(x, out=x.copy(), **options),
        "nonzero": lambda: gpukern.nonzero(x + 1, **options),
        "compress": lambda: gpukern.compress([1, 1, 1, 1], x, **options),
    }


@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("name", small_calls())
def test_small_calls_of_other_operations_report_once(device, name):
    reports = reports_of(lambda progress: small_calls(device=device, progress=progress)[name]())
    assert reports == [(32, 32)]


@pytest.mark.parametrize("name", small_calls())
def test_an_exception_comes_out_of_other_operations(name):
    def stop(_done, _total):
        raise StopError("enough")

    with pytest.raises(StopError, match="enough"):
        small_calls(progress=stop)[name]()
    with pytest.raises(TypeError, match=rf"^{name}: progress must be callable or None, got int"):
        small_calls(progress=1)[name]()


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(small_calls().keys() - {"bincount", "elementwise"}))
def test_other_operations_report_between_chunks(name, large):
    _, out = large
    offsets = np.arange(0, out.size + 1, 4)
    index = np.arange(0, out.size, 4)
    calls = {
        "scatter": lambda **options: gpukern.scatter(out, index, 5.0, **options),
        "put_along_axis": lambda **options: gpukern.put_along_axis(out, index, 5.0, **options),
        "gather_reduce": lambda **options: gpukern.gather_reduce(
            out[:1000], index, offsets[: index.size // 4], mode="wrap", **options
        ),
        "segment_reduce": lambda **options: gpukern.segment_reduce(out, offsets, **options),
        "nonzero": lambda **options: gpukern.nonzero(out[: out.size // 4], **options),
        "compress": lambda **options: gpukern.compress(out, out, **options),
    }
    out[...] = 1
    reports = reports_of(
        lambda progress: calls[name](device="cuda", device_memory=144 << 20, progress=progress)
    )
    require_whole(reports, reports[0][1])
    assert len(reports) > 2


@pytest.mark.parametrize(
    "error", [gpukern.errors.GpukernIndexError, gpukern.errors.GpukernValueError]
)
def test_errors_of_a_callback_stay_as_they_are(error):
    x, raised = np.ones(4), error(1, 2)

    def stop(_done, _total):
        raise raised

    for call in (
        lambda: gpukern.bincount(np.array([0, 3]), progress=stop),
        lambda: gpukern.compress([1, 1], np.ma.ones(2), progress=stop),
        lambda: gpukern.fma(x, x, x, progress=stop),
        lambda: gpukern.axpby(2, x, 3, x, progress=stop),
    ):
        with pytest.raises(error) as caught:
            call()
        assert (caught.value, caught.value.args) == (raised, (1, 2))


def test_nothing_to_do_is_nothing_to_report():
    assert reports_of(lambda progress: gpukern.gather([1.0], [], progress=progress)) == []


@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("after", [1, 2])
def test_an_exception_stops_the_call_and_comes_out(device, after, large):
    x, out = large
    seen = []

    def stop(done, total):
        seen.append(done)
        if len(seen) == after:
            raise StopError("enough")
        time.sleep(0.1)

    with pytest.raises(StopError, match="enough"):
        gpukern.saxpy(2, x, x, out=out, device=device, progress=stop)
    assert len(seen) == after
    seen.clear()
    with pytest.raises(StopError, match="enough"):
        gpukern.gather(x, np.broadcast_to(0, x.shape), out=out, device=device, progress=stop)
    # And all is well.
    assert gpukern.saxpy(1, np.ones(3), np.ones(3), device=device).tolist() == [2, 2, 2]


def test_a_callback_may_call_gpukern():
    inner = []
    x = np.arange(3.0)
    gpukern.saxpy(1, x, x, progress=lambda *_: inner.append(gpukern.gather(x, [2])[0]))
    assert inner == [2]


@pytest.mark.parametrize("call", ["saxpy(1, x, x, out=x", "gather(x, i, out=x"])
def test_a_daemon_thread_may_be_in_a_call_when_python_ends(call):
    # Python ends the thread where it asks for the GIL, below the library.
    code = f"""
import threading, time, numpy as np, gpukern
x, i = np.ones(1000, "f4"), np.zeros(1000, int)
started = threading.Event()
def work():
    while True:
        gpukern.{call}, progress=lambda done, total: started.set())
threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.1)
"""
    for _ in range(5):
        ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True)
        assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("last", [0, 1 << 30])  # good, bad
def test_a_daemon_thread_may_be_in_a_call_when_python_has_ended(last):
    # After Python, the process takes a second to end, sleep(status), in which the calls return.
    code = f"""
import ctypes, sys, threading, time, numpy as np, gpukern
x, i = np.zeros(1 << 20, "f4"), np.zeros(16 << 20, int)
i[-1] = {last}
def work():
    while True:
        try:
            gpukern.gather(x, i)
        except IndexError:
            pass
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
libc = ctypes.CDLL(None)
libc.on_exit(libc.sleep, None)
sys.exit(1)
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True)
    assert ended.returncode == 1, ended.stderr


@pytest.mark.parametrize("progress", [1, "callback", object()])
def test_progress_must_be_callable(progress):
    x = np.arange(3.0)
    with pytest.raises(TypeError, match=r"^saxpy: progress must be callable or None, got "):
        gpukern.saxpy(1, x, x, progress=progress)
    with pytest.raises(TypeError, match=r"^gather: progress must be callable or None, got "):
        gpukern.gather(x, [1], progress=progress)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-5, ValueError), (2**63, ValueError), ("1G", TypeError)]
)
def test_device_memory_must_be_a_number_of_bytes(value, error):
    x = np.arange(3.0)
    with pytest.raises(error, match=r"^saxpy: device_memory must be "):
        gpukern.saxpy(1, x, x, device_memory=value, device="cpu")
    with pytest.raises(error, match=r"^gather: device_memory must be "):
        gpukern.gather(x, [1], device_memory=value, device="cpu")


def free_device_memory():
    """In bytes; 0 without a GPU."""
    if gpukern.device_count() == 0:
        return 0
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    gpukern.synchronize()
    cuda_driver.cuda("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


@pytest.mark.alone
@pytest.mark.parametrize(
    "options", [{}, {"device": "cpu"}, pytest.param({"device": "cuda"}, marks=pytest.mark.gpu)]
)
def test_ctrl_c_stops_long_calls(options, large, stopped_by_ctrl_c):
    x, out = large
    gpukern.saxpy(2, x, x, out=out, **options)  # what is set up once stays
    before = free_device_memory()
    stopped_by_ctrl_c(lambda: gpukern.saxpy(2, x, x, out=out, **options))
    assert free_device_memory() >= before - (16 << 20)
    assert gpukern.saxpy(1, np.ones(3), np.ones(3), **options).tolist() == [2, 2, 2]


@pytest.mark.alone
@pytest.mark.gpu
def test_ctrl_c_stops_a_scatter_between_chunks(large, stopped_by_ctrl_c):
    _, out = large
    index = np.arange(out.size)
    stopped_by_ctrl_c(
        lambda: gpukern.scatter(out, index, 5.0, device="cuda", device_memory=20 << 20)
    )
