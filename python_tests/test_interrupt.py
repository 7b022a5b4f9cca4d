# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The time from Ctrl-C to KeyboardInterrupt in a long call of each operation on host arrays."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import gpukern

# A release runs more signals in each call.
SIGNALS = int(os.environ.get("GPUKERN_TEST_SIGNALS", "2"))
COUNT = 1 << 25
LATENCY = 0.1  # in seconds

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def long_calls():
    """Calls that take longer than the latency, unless many cores work."""
    rng = np.random.default_rng(7)
    x = np.ones(COUNT, np.float32)
    index = rng.integers(0, COUNT, COUNT, np.int32)
    return calls(x, index, np.empty_like(x), index % 2 == 0)


def calls(x, index, out, mask):
    """A long call of each operation; where it is short, of much work for each element."""
    rows, offsets = x.reshape(-1, 64), np.arange(0, COUNT + 1, 16)
    few = np.array([0, COUNT // 3, COUNT])
    wide = np.broadcast_to(x, (8, COUNT))
    pairs = np.broadcast_to(mask, (8, COUNT))
    target = np.zeros(COUNT, np.float32)
    pair = index >> 6, index & 63
    places = pair[0][: COUNT // 8]
    ones = index * 0
    units = np.broadcast_to(np.int64(1), (COUNT, 8))
    keys, counts = index & 1023, np.zeros((1024, 8), np.int64)
    into = np.empty((8, COUNT), np.float32)
    return {
        "gather": lambda: gpukern.gather(x, index, out=out),
        "gather wrap": lambda: gpukern.gather(x, index, mode="wrap", out=out),
        "gather rows": lambda: gpukern.gather(rows, places),
        "gather of two indices": lambda: gpukern.gather(rows, pair),
        "gather of two indices wrap": lambda: gpukern.gather(rows, pair, mode="wrap", out=out),
        "take_along_axis": lambda: gpukern.take_along_axis(x, index, axis=0, out=out),
        "scatter": lambda: gpukern.scatter(target, index, x),
        "scatter add": lambda: gpukern.scatter(target, index, x, reduce="add"),
        "scatter mean": lambda: gpukern.scatter(target, index, x, reduce="mean"),
        "scatter to few": lambda: gpukern.scatter(counts, keys, units),
        "scatter to few add": lambda: gpukern.scatter(counts, keys, units, reduce="add"),
        "scatter to one": lambda: gpukern.scatter(target, ones, x, reduce="add"),
        "put_along_axis": lambda: gpukern.put_along_axis(target, index, x, axis=0),
        "bincount": lambda: gpukern.bincount(index),
        "gather_reduce": lambda: gpukern.gather_reduce(x, index, offsets),
        "gather_reduce of long bags": lambda: gpukern.gather_reduce(x, index, few),
        "segment_reduce": lambda: gpukern.segment_reduce(wide, [0, 1, 2, 8], axis=0),
        "segment_reduce strided": lambda: gpukern.segment_reduce(x[::-2], offsets // 2),
        "nonzero": lambda: gpukern.nonzero(pairs),
        "count_nonzero": lambda: gpukern.count_nonzero(np.broadcast_to(x, (64, COUNT))),
        "compress": lambda: gpukern.compress(mask, x),
        "saxpy": lambda: gpukern.saxpy(2, wide, wide, out=into),
        "saxpy_many": lambda: gpukern.saxpy_many(2, [wide] * 2, [wide] * 2, out=[into] * 2),
        "axpby": lambda: gpukern.axpby(2, wide, 3, wide, out=into),
        "fma": lambda: gpukern.fma(wide, x, wide, out=into),
        "copyto": lambda: gpukern.copyto(into, wide),
        "elementwise": lambda: gpukern.elementwise("sin(a) * cos(a)")(x, out=out),
    }


NAMES = sorted(calls(*[np.broadcast_to(np.bool_(), COUNT)] * 4))


def latency(call):
    """Repeat a call until a signal stops it; return the seconds that this took."""
    sent = []

    def interrupt():
        time.sleep(np.random.default_rng().uniform(0.05, 0.4))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        while time.monotonic() < 30 + (sent[0] if sent else time.monotonic()):
            call()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            thread.join()
    raise AssertionError("no KeyboardInterrupt")


@contextlib.contextmanager
def alarms(seconds):
    """Send a signal again and again; collect when its handler ran: where a call asks, and once
    after the call."""
    ran = []
    before = signal.signal(signal.SIGALRM, lambda *_: ran.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield ran
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("name", NAMES)
def test_long_calls_ask_again_and_again(name, long_calls):
    gpukern.set_num_threads(1)
    with alarms(LATENCY / 5) as ran:
        start = time.monotonic()
        long_calls[name]()
        end = time.monotonic()
    asked = [when for when in ran if when < end]
    if end - start > 3 * LATENCY:
        # In each half, so that the time from one to the next is not the whole call.
        assert len([when for when in asked if when < (start + end) / 2]) > 1, name
        assert len([when for when in asked if when >= (start + end) / 2]) > 1, name


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("threads", [1, None])
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_stops_every_long_call(name, threads, long_calls):
    call = long_calls[name]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gpukern.set_num_threads(threads)
    try:
        took = sorted(latency(call) for _ in range(SIGNALS))
    finally:
        signal.signal(signal.SIGINT, before)
    print(f"{name}: {took}")
    # Other processes may have the cores for a while.
    assert took[0] < 3 * LATENCY
