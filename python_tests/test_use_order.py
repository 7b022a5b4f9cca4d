# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Uses of device memory that overlap: others begin before the work of a call is enqueued.

test_gpus_in_software.py runs this file where there is no GPU.
"""

import threading
import weakref
from functools import partial

import cuda_driver
import numpy as np
import pytest
from gpu_tables import GPUS, shared

import gpukern

pytestmark = pytest.mark.gpu

ROWS = 1000
ALL = np.arange(ROWS)


class SoftwareStream:
    """A stream of a GPU in software, which runs work as late as it may."""

    def __init__(self, number):
        self.handle = number

    def __cuda_stream__(self):
        return 0, self.handle

    def delay(self, microseconds):
        pass


class During:
    """An index that makes other calls while it is read, as another thread might."""

    def __init__(self, index, call):
        self.index = index
        self.call = call

    def __array__(self, dtype=None, copy=None):
        self.call()
        return self.index


@pytest.fixture
def streams():
    try:
        cuda_driver.driver()
    except OSError:
        return [SoftwareStream(0x1000 * (1 + i)) for i in range(3)]
    return [cuda_driver.Stream() for _ in range(3)]


def read(array, stream=None):
    device = array.device.removeprefix("cuda:")
    index = gpukern.to_device(ALL, int(device), stream=stream)
    return gpukern.gather(array, index, mode="clip", stream=stream).numpy(stream=stream)


@pytest.mark.skipif(GPUS < 2, reason="needs two GPUs")
def test_a_gpu_waits_for_a_use_that_was_in_flight_at_its_last(streams):
    table = shared(np.zeros((ROWS, 64), np.float32), None, [0, 1])
    streams[0].delay(100_000)
    during = During(ALL, lambda: read(table.on(1)))
    gpukern.scatter(table.on(0), during, 1.0, mode="clip", stream=streams[0])
    assert (read(table.on(1)) == 1).all()


def test_a_reader_waits_for_a_write_that_was_in_flight_at_its_last(streams):
    array = gpukern.to_device(np.zeros((ROWS, 64), np.float32))
    streams[0].delay(100_000)
    during = During(ALL, lambda: read(array, streams[1]))
    gpukern.scatter(array, during, 1.0, mode="clip", stream=streams[0])
    assert (read(array, streams[1]) == 1).all()


def test_a_write_is_known_after_another_one_has_overtaken_it(streams):
    array = gpukern.to_device(np.zeros((ROWS, 64), np.float32))
    streams[0].delay(100_000)
    overtake = partial(gpukern.scatter, array, ALL[500:], 1.0, mode="clip", stream=streams[1])
    gpukern.scatter(array, During(ALL[:500], overtake), 1.0, mode="clip", stream=streams[0])
    assert (read(array, streams[2]) == 1).all()


def test_a_read_is_known_after_a_write_has_overtaken_it(streams):
    array = gpukern.to_device(np.zeros((ROWS, 64), np.float32))
    out = gpukern.empty((500, 64), np.float32)
    streams[0].delay(100_000)
    overtake = partial(gpukern.scatter, array, ALL[500:], 1.0, mode="clip", stream=streams[1])
    gpukern.gather(array, During(ALL[:500], overtake), mode="clip", out=out, stream=streams[0])
    gpukern.scatter(array, ALL, 2.0, mode="clip", stream=streams[1])
    gpukern.synchronize(stream=streams[1])
    assert (out.numpy() == 0).all()


def test_a_write_is_known_after_the_host_has_waited_for_a_later_use(streams):
    array = gpukern.to_device(np.zeros((ROWS, 64), np.float32), stream=streams[0])
    streams[0].delay(100_000)
    gpukern.scatter(array, During(ALL, array.numpy), 1.0, mode="clip", stream=streams[0])
    assert (read(array, streams[1]) == 1).all()


def test_the_last_reference_to_a_stream_runs_code(streams):
    """An array gives up its owner's stream when another one writes; not while it is locked."""
    x = gpukern.to_device(np.ones(ROWS, "f4"))
    alive, read = weakref.ref(x), []

    class Owned:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return self.stream.__cuda_stream__()

        def __del__(self):
            array = alive()
            if array is not None:
                read.append(array.numpy())

    def write():
        for stream in streams[:2]:
            gpukern.saxpy(1, x, x, out=x, stream=Owned(stream))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(read) == 1
    assert x.numpy()[0] == 4
