# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of producers that know no stream: kept until the work on them has run, and no longer."""

import gc
import weakref

import cuda_driver
import numpy as np
import pytest

import gpukern

pytestmark = pytest.mark.gpu

COUNT = 4096
CALLS = {
    "saxpy": lambda array, index, stream: gpukern.saxpy(1, array, array, stream=stream),
    "gather": lambda array, index, stream: gpukern.gather(array, index, mode="clip", stream=stream),
    "to_device": lambda array, index, stream: gpukern.to_device(array, stream=stream),
}

ONES = np.ones(COUNT, np.float32)


class Memory:
    """What a producer holds as long as one of its exports lives."""

    def __init__(self, array=ONES):
        self.array = gpukern.to_device(array)


class ByInterface:
    """An exporter whose memory is there as long as the object, on no stream."""

    def __init__(self, memory):
        self.memory = memory
        interface = memory.array.__cuda_array_interface__
        self.__cuda_array_interface__ = {**interface, "stream": None}


@pytest.mark.parametrize("call", CALLS)
def test_interfaces_are_kept_until_the_work_is_done(call):
    stream = cuda_driver.Stream()
    index = gpukern.to_device(np.zeros(COUNT, np.int32))
    # The first launch of a kernel loads its code, which may wait for all streams.
    CALLS[call](ByInterface(Memory()), index, stream)
    stream.synchronize()
    memory = Memory()
    alive = weakref.ref(memory)
    source = ByInterface(memory)
    del memory
    stream.delay(300_000)
    CALLS[call](source, index, stream)
    del source
    gpukern.empty(1, np.float32)
    assert alive() is not None
    stream.synchronize()
    gpukern.empty(1, np.float32)
    assert alive() is None


def scatter_temporaries(target, stream, **options):
    """Writes numbers in reverse by arrays that nobody else refers to; returns references to the
    memory of the index and of the values."""
    index = Memory(np.arange(COUNT, dtype=np.int32)[::-1].copy())
    values = Memory(np.arange(COUNT, dtype=np.float32))
    gpukern.scatter(
        target, ByInterface(index), ByInterface(values), mode="clip", stream=stream, **options
    )
    return weakref.ref(index), weakref.ref(values)


@pytest.mark.parametrize(
    "options", [{}, {"reduce": "add"}, {"reduce": "max", "unique": True}], ids=str
)
def test_index_and_values_of_a_scatter_are_kept_until_the_work_is_done(options):
    stream = cuda_driver.Stream()
    target = gpukern.to_device(np.zeros(COUNT, np.float32))
    scatter_temporaries(target, stream, **options)  # loads the kernels, as above
    stream.synchronize()
    target = gpukern.to_device(np.zeros(COUNT, np.float32))
    stream.delay(300_000)
    alive = scatter_temporaries(target, stream, **options)
    gpukern.empty(1, np.float32)
    assert all(memory() is not None for memory in alive)
    # The next owners of that memory would write to it.
    others = [gpukern.to_device(np.full(COUNT, 7, dtype)) for dtype in ("i4", "f4", "i4", "f4")]
    stream.synchronize()
    gpukern.empty(1, np.float32)
    assert all(memory() is None for memory in alive)
    assert np.array_equal(target.numpy(), np.arange(COUNT, dtype=np.float32)[::-1])
    assert all((other.numpy() == 7).all() for other in others)


def test_calls_do_not_wait_and_order_is_kept():
    slow, fast = cuda_driver.Stream(), cuda_driver.Stream()
    out = gpukern.empty(COUNT, np.float32)
    alive = []
    slow.delay(300_000)
    for stream in (slow, fast, slow, fast):
        memory = Memory()
        alive.append(weakref.ref(memory))
        gpukern.saxpy(1, ByInterface(memory), ByInterface(memory), out=out, stream=stream)
        del memory
    gc.collect()
    assert all(one() is not None for one in alive)
    slow.synchronize()
    fast.synchronize()
    gpukern.empty(1, np.float32)
    assert all(one() is None for one in alive)


def test_calls_with_out_release_as_well():
    stream = cuda_driver.Stream()
    memory = Memory()
    alive = weakref.ref(memory)
    out = gpukern.empty(COUNT, np.float32)
    gpukern.saxpy(1, ByInterface(memory), memory.array, out=out, stream=stream)
    del memory
    stream.synchronize()
    x = np.ones(3, np.float32)
    gpukern.saxpy(1, x, x)
    assert alive() is None


def test_the_collector_frees_an_array_before_its_stream():
    """Both are in a cycle, as in the frames of a traceback; the stream has a finalizer."""
    for _ in range(20):
        stream = cuda_driver.Stream()
        array = gpukern.to_device(np.ones(COUNT, np.float32), stream=stream)
        gpukern.saxpy(1, array, array, out=array, stream=stream)
        cycle = [stream, array]
        cycle.append(cycle)
        del stream, array, cycle
        gc.collect()
    assert (gpukern.to_device(np.arange(COUNT)).numpy() == np.arange(COUNT)).all()


def test_jax_arrays_are_kept():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    stream = cuda_driver.Stream()
    out = gpukern.empty(COUNT, np.float32)
    for number in range(50):
        x = jax.numpy.full(COUNT, number, np.float32)
        x.block_until_ready()
        stream.delay(2000)
        gpukern.saxpy(1, x, x, out=out, stream=stream)
        del x
        # The next owner of that memory in JAX writes to it.
        others = [jax.numpy.full(COUNT, -1, np.float32) for _ in range(8)]
        jax.block_until_ready(others)
        assert np.array_equal(out.numpy(), np.full(COUNT, 2 * number, np.float32))
