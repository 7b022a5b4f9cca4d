# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Many threads at once: each gets its own results and its own errors, and the GIL is free."""

import contextlib
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest

import gpukern
from gpukern import copyto, gather, saxpy, scatter

THREADS = 16
ROUNDS = 30


def on_every_thread(work):
    """Runs work(number) on all threads at the same time; the first failure is raised."""
    barrier = threading.Barrier(THREADS)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def test_gather(place):
    def work(number):
        rng = np.random.default_rng(number)
        for _ in range(ROUNDS):
            source = rng.random(rng.integers(1, 5000))
            index = rng.integers(-source.size, source.size, rng.integers(1, 20000))
            assert np.array_equal(place.gather(source, index), source[index])

    on_every_thread(work)


def test_saxpy(place):
    kind = oracle.SAXPY_TYPES["float64"]

    def work(number):
        rng = np.random.default_rng(number)
        for _ in range(ROUNDS):
            x, y = rng.random((2, 100_000))
            result = place.saxpy(float(number), x, y)
            some = rng.integers(0, x.size, 20)
            expected = oracle.saxpy(kind, np.float64(number), x[some], y[some])
            assert result[some].tobytes() == expected.tobytes()

    on_every_thread(work)


def test_errors_belong_to_their_thread(place):
    def work(number):
        for turn in range(ROUNDS):
            bad = 10 + number * 1000 + turn
            with pytest.raises(IndexError, match=f"^index {bad} is out of bounds"):
                place.gather(np.zeros(10), np.array([0, bad]))

    on_every_thread(work)


def test_one_array_read_by_many(rng):
    source = rng.random(1_000_000)
    index = np.arange(source.size)[::-1].copy()
    for result in on_every_thread(lambda number: gather(source, index)):
        assert np.array_equal(result, source[::-1])


@pytest.mark.alone
def test_the_gil_is_released():
    """Another thread gets to run while one long call works."""
    x = np.zeros(30_000_000)
    out = np.empty_like(x)
    done, beats = threading.Event(), []

    def beat():
        while not done.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.0002)

    other = threading.Thread(target=beat)
    other.start()
    try:
        during = 0
        for _ in range(20):
            start = time.perf_counter()
            saxpy(2.0, x, x, out=out)
            end = time.perf_counter()
            during += sum(start < moment < end for moment in list(beats))
    finally:
        done.set()
        other.join()
    # Without the GIL's release the other thread could beat at the edges of a call only.
    assert during > 40


@pytest.mark.alone
@pytest.mark.parametrize("call", ["gather", "gather fill", "saxpy", "copyto"])
def test_no_thread_frees_an_array_at_work(call):
    """resize(refcheck=False) would free memory that is in use while the GIL is free."""
    x, out = np.ones(10_000_000), np.empty(10_000_000)
    y = np.arange(x.size) if call == "gather" else np.ones(x.size)
    fill, far, rows = np.ones(1000), np.full(10_000, 1), out.reshape(-1, 1000)
    calls = {
        "gather": (lambda: gather(x, y, mode="clip", out=out), (x, y, out)),
        "gather fill": (
            lambda: gather(x[None, :1000], far, mode="fill", fill_value=fill, out=rows),
            (x, far, fill, out),
        ),
        "saxpy": (lambda: saxpy(2.0, x, y, out=out), (x, y, out)),
        "copyto": (lambda: copyto(out, x), (x, out)),
    }
    run, arrays = calls[call]
    pinned = threading.Event()

    def work():
        end = time.monotonic() + 60
        while not pinned.is_set() and time.monotonic() < end:
            run()

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        if all(weakref.getweakrefcount(array) == 1 for array in arrays):
            pinned.set()
        time.sleep(0.0002)
    worker.join()
    assert pinned.is_set()
    assert weakref.getweakrefcount(x) == 0
    held = weakref.ref(x)  # NumPy's rule that the call relies on
    with pytest.raises(ValueError, match="resize"):
        x.resize(10, refcheck=False)
    del held


@contextlib.contextmanager
def changing(index, *contents):
    """Another thread writes contents to the index in turn."""
    done = threading.Event()

    def change():
        while not done.is_set():
            for each in contents:
                np.copyto(index, each)  # without the GIL

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_an_index_that_changes_during_a_call_reaches_no_other_memory(mode):
    # An element that is checked and then read again would be an access to unmapped memory.
    source, target = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    index = np.zeros(1 << 18, np.int64)
    good, bad = index.copy(), index.copy()
    bad[::64] = 1 << 40
    with changing(index, bad, good):
        for _ in range(50):
            with contextlib.suppress(IndexError):
                assert set(np.unique(gather(source, index, mode=mode))) <= {0, 1}
            with contextlib.suppress(IndexError):
                scatter(target, index, 1.0, mode=mode)
    assert set(np.unique(target)) <= {0, 1}


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("reduce", ["add", "mean"])
@pytest.mark.parametrize("threads", [2, 8])
def test_an_index_that_changes_between_two_passes_reaches_no_other_memory(reduce, threads):
    """Sums of few elements: the first pass counts the values of each element."""
    memory, values = np.zeros(64, np.float32), np.ones(1 << 18, np.float32)
    target = memory[16:26]
    index = np.zeros(1 << 18, np.int64)
    some, others = index.copy(), index + 9
    others[::3] = 1 << 40
    gpukern.set_num_threads(threads)
    with changing(index, others, some):
        for mode in ["clip", "fill"] * 50:
            scatter(target, index, values, reduce=reduce, mode=mode)
    assert (memory[:16] == 0).all()
    assert (memory[26:] == 0).all()
