# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DeviceArrays on several streams: order, lifetime, CUDA graphs."""

import ctypes
import gc
import threading

import cuda_driver
import numpy as np
import pytest
from libraries import opened

import gpukern
from gpukern import distributed

pytestmark = pytest.mark.gpu

COUNT = 4096
FORMS = {"object": lambda stream: stream, "int": lambda stream: stream.handle}


@pytest.fixture(params=FORMS)
def form(request):
    """How a stream is given: as an object, or as a handle that may be gone after the call."""
    return FORMS[request.param]


@pytest.fixture
def streams():
    return [cuda_driver.Stream() for _ in range(3)]


@pytest.fixture
def reverse():
    """An index that reverses an array."""
    return gpukern.to_device(np.arange(COUNT, dtype=np.int32)[::-1])


def test_calls_on_three_streams_are_put_in_order(streams, form, reverse):
    producer, middle, consumer = streams
    one = gpukern.to_device(np.ones(COUNT, np.float32))
    zero = gpukern.to_device(np.zeros(COUNT, np.float32))
    x = gpukern.to_device(np.zeros(COUNT, np.float32))
    y = gpukern.to_device(np.zeros(COUNT, np.float32))
    total = gpukern.to_device(np.zeros(COUNT, np.float32))
    rounds = 1000
    for _ in range(rounds):
        producer.delay(50)
        gpukern.saxpy(1, x, one, out=x, stream=form(producer))
        gpukern.gather(x, reverse, mode="clip", out=y, stream=form(middle))
        gpukern.saxpy(1, y, total, out=total, stream=form(consumer))
        gpukern.saxpy(0, zero, zero, out=y, stream=form(consumer))
    assert np.array_equal(total.numpy(), np.full(COUNT, rounds * (rounds + 1) / 2, np.float32))


def test_readers_do_not_wait_for_each_other(streams, reverse):
    slow, fast, _ = streams
    x = gpukern.to_device(np.arange(COUNT, dtype=np.float32))
    one, two = (gpukern.to_device(np.zeros(COUNT, np.float32)) for _ in range(2))
    slow.delay(500_000)
    gpukern.gather(x, reverse, mode="clip", out=one, stream=slow)
    gpukern.gather(x, reverse, mode="clip", out=two, stream=fast)
    fast.synchronize()
    # The slow stream is still at it.
    assert cuda_driver.driver().cuStreamQuery(ctypes.c_void_p(slow.handle)) != 0
    gpukern.saxpy(1, x, x, out=x)  # a writer waits for both
    assert np.array_equal(one.numpy(), np.arange(COUNT, dtype=np.float32)[::-1])


@pytest.mark.skipif(gpukern.info()["cuda"]["device_count"] < 2, reason="needs two GPUs")
def test_readers_of_a_table_on_two_gpus_do_not_wait_for_each_other(streams):
    slow = streams[0]
    table = distributed.empty((1000,), np.float32, devices=[0, 1])
    gpukern.copyto(table.local, np.arange(1000, dtype=np.float32))
    indices = [gpukern.to_device(np.arange(1000)[::-1].copy(), device) for device in (0, 1)]
    for index in indices:  # the first readers wait for the writer
        gpukern.gather(table, index, mode="clip")
    slow.delay(500_000)
    late = gpukern.gather(table, indices[0], mode="clip", stream=slow)
    found = gpukern.gather(table, indices[1], mode="clip").numpy()
    assert found.tolist() == list(range(999, -1, -1))
    # The slow stream is still at it.
    assert cuda_driver.driver().cuStreamQuery(ctypes.c_void_p(slow.handle)) != 0
    gpukern.scatter(table, indices[1], 7.0)  # a writer waits for both
    assert late.numpy().tolist() == found.tolist()


def test_memory_is_not_freed_before_its_last_use(streams, form, reverse):
    out = gpukern.empty(COUNT, np.float32)
    for number in range(200):
        source = gpukern.to_device(np.full(COUNT, number, np.float32))
        for stream in streams[:2]:
            stream.delay(200)
            gpukern.gather(source, reverse, mode="wrap", out=out, stream=form(stream))
        del source
        # The next owner of that memory writes to it on another stream.
        others = [gpukern.to_device(np.full(COUNT, -1, np.float32)) for _ in range(3)]
        assert np.array_equal(out.numpy(), np.full(COUNT, number, np.float32))
        del others


@pytest.mark.parametrize("reduce", [None, "add"])
def test_memory_of_a_scatter_is_not_freed_before_its_last_use(streams, form, reduce):
    for number in range(1, 100):
        target = gpukern.to_device(np.zeros(COUNT, np.float32))
        index = gpukern.to_device(np.arange(COUNT, dtype=np.int32)[::-1])
        values = gpukern.to_device(np.arange(number, number + COUNT, dtype=np.float32))
        streams[0].delay(200)
        gpukern.scatter(target, index, values, mode="wrap", reduce=reduce, stream=form(streams[0]))
        del index, values
        # The next owners of that memory write to it on another stream.
        others = [gpukern.to_device(np.full(COUNT, -1, dtype)) for dtype in ("i4", "f4", "f4")]
        expected = np.arange(number, number + COUNT, dtype=np.float32)[::-1]
        assert np.array_equal(target.numpy(), expected)
        del others


def test_host_arrays_of_a_scatter_may_change_after_the_call(streams, form):
    pageable = np.empty(COUNT, np.int32), np.empty(COUNT, np.float32)
    pinned = tuple(gpukern.pinned_empty(array.shape, array.dtype) for array in pageable)
    for number in range(1, 50):
        for index, values in (pageable, pinned):
            target = gpukern.to_device(np.zeros(COUNT, np.float32))
            index[:] = np.arange(COUNT)[::-1]
            values[:] = np.arange(number, number + COUNT)
            streams[0].delay(200)
            gpukern.scatter(target, index, values, mode="wrap", stream=form(streams[0]))
            index[:], values[:] = -1, -1
            expected = np.arange(number, number + COUNT, dtype=np.float32)[::-1]
            assert np.array_equal(target.numpy(), expected)


def test_streams_may_be_destroyed_before_arrays(reverse, form):
    for number in range(20):
        first, second = cuda_driver.Stream(), cuda_driver.Stream()
        x = gpukern.to_device(np.full(COUNT, number, np.float32), stream=form(first))
        y = gpukern.saxpy(1, x, x, stream=form(first))
        second.delay(1000)
        z = gpukern.gather(y, reverse, mode="clip", stream=form(second))
        gpukern.gather(x, reverse, mode="clip", stream=form(second))
        if form is FORMS["int"]:
            first.destroy()
            second.destroy()
        del first, second
        gc.collect()
        del x, y
        assert np.array_equal(z.numpy(), np.full(COUNT, 2 * number, np.float32))


def test_per_thread_default_streams_keep_the_order(reverse):
    results = []

    def work():
        x = gpukern.to_device(np.zeros(COUNT, np.float32), stream=2)
        one = gpukern.to_device(np.ones(COUNT, np.float32), stream=2)
        for _ in range(100):
            gpukern.saxpy(1, x, one, out=x, stream=2)
        results.append(gpukern.gather(x, reverse, mode="clip", stream=2))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert np.array_equal(result.numpy(), np.full(COUNT, 100, np.float32))
    assert len(results) == 8


def test_numba_arrays_keep_the_order_of_their_default_stream(streams, reverse):
    numba_cuda = opened("numba").module
    producer = streams[0]
    default = cuda_driver.DefaultStream()
    source = numba_cuda.to_device(np.zeros(COUNT, np.float32))
    out = numba_cuda.to_device(np.zeros(COUNT, np.float32))
    for number in range(1, 100):
        written = numba_cuda.to_device(np.arange(number, number + COUNT, dtype=np.float32))
        default.delay(200)
        source.copy_to_device(written)
        producer.delay(200)
        gpukern.gather(source, reverse, mode="clip", out=out, stream=producer)
        expected = np.arange(number, number + COUNT, dtype=np.float32)[::-1]
        assert np.array_equal(out.copy_to_host(), expected)


def test_dlpack_consumers_work_on_their_stream(streams, reverse):
    producer, consumer, _ = streams
    for number in range(1, 100):
        x = gpukern.to_device(np.zeros(COUNT, np.int32))
        producer.delay(200)
        gpukern.saxpy(1, x, gpukern.to_device(np.full(COUNT, number, np.int32)), out=x,
                      stream=producer)  # fmt: skip
        pointer = x.__cuda_array_interface__["data"][0]
        capsule = x.__dlpack__(stream=consumer.handle)
        y = gpukern.empty(COUNT, np.int32)
        target = y.__cuda_array_interface__["data"][0]
        consumer.delay(200)
        cuda_driver.cuda(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(pointer),
            ctypes.c_size_t(4 * COUNT),
            ctypes.c_void_p(consumer.handle),
        )
        del x, capsule
        others = [gpukern.to_device(np.full(COUNT, -1, np.int32)) for _ in range(3)]
        consumer.synchronize()
        assert np.array_equal(y.numpy(), np.full(COUNT, number, np.int32))
        del others


@pytest.mark.parametrize("capture_mode", [0, 1, 2])
@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
def test_graphs_run_again_on_new_data(streams, reverse, mode, capture_mode):
    stream = streams[0]
    x = gpukern.to_device(np.zeros(COUNT, np.float32))
    out = gpukern.empty(COUNT, np.float32)
    fresh = np.zeros(COUNT, np.float32)
    with stream.capture(capture_mode) as graph:
        taken = gpukern.gather(x, reverse, mode=mode, fill_value=3, stream=stream)
        gpukern.saxpy(2, taken, x, out=out, stream=stream)
        del taken
        gpukern.empty(COUNT, np.float32)
    for number in range(5):
        fresh = np.arange(COUNT, dtype=np.float32) + number
        x = refill(x, fresh)
        others = [gpukern.to_device(np.full(COUNT, -1, np.float32)) for _ in range(3)]
        graph.launch()
        assert np.array_equal(out.numpy(), 2 * fresh[::-1] + fresh)
        assert all(np.all(other.numpy() == -1) for other in others)


def refill(array, values):
    """Copies new values into the same memory."""
    gpukern.saxpy(1, gpukern.to_device(values), gpukern.to_device(np.zeros_like(values)), out=array)
    array.numpy()
    return array


def test_raise_under_capture_names_the_way_out(streams, reverse):
    x = gpukern.to_device(np.zeros(COUNT, np.float32))
    with (
        streams[0].capture(),
        pytest.raises(
            gpukern.errors.GpukernValueError, match="must not be raise while a CUDA graph"
        ),
    ):
        gpukern.gather(x, reverse, stream=streams[0])


def test_numbers_are_captured_by_value(streams):
    stream = streams[0]
    target = gpukern.to_device(np.arange(6, dtype=np.int16).reshape(3, 2))
    item = gpukern.to_device(np.zeros(2, np.int16))
    index = gpukern.to_device(np.array([0, 2]))
    graphs = []  # a graph must not be released during a capture
    for number in (np.array(7), np.array(8)):
        with stream.capture() as graph:
            graphs.append(graph)
            gpukern.scatter(target, index, number, mode="clip", stream=stream)
            gpukern.scatter(target, 1, -1, stream=stream)
            gpukern.gather(target, -3, out=item, stream=stream)
            with pytest.raises(IndexError, match=r"^index 3 is out of bounds for axis 0 with"):
                gpukern.gather(target, 3, stream=stream)
            with pytest.raises(IndexError, match=r"^index -4 is out of bounds for axis 0 with"):
                gpukern.scatter(target, -4, 0, stream=stream)
        wanted = int(number)
        number[...] = 0  # a graph has the value at the time of the capture
        graph.launch()
        assert target.numpy().tolist() == [[wanted] * 2, [-1] * 2, [wanted] * 2]
        assert item.numpy().tolist() == [wanted] * 2


def test_arrays_of_a_capture_are_not_used_outside_it(streams, reverse):
    x = gpukern.to_device(np.zeros(COUNT, np.float32))
    with streams[0].capture():
        y = gpukern.gather(x, reverse, mode="clip", stream=streams[0])
        with pytest.raises(gpukern.errors.GpukernValueError, match="captures a CUDA graph"):
            gpukern.gather(y, reverse, mode="clip", stream=streams[1])


def test_a_capture_keeps_imported_arrays_alive(streams):
    """The array is released during a capture, for which its owner stream cannot wait."""
    stream = streams[0]
    x = gpukern.to_device(np.arange(COUNT, dtype=np.int32))
    out = gpukern.to_device(np.zeros(COUNT, np.int32))
    source, target = (array.__cuda_array_interface__["data"][0] for array in (x, out))
    capsule = x.__dlpack__(stream=stream.handle)
    stream.synchronize()
    with stream.capture() as graph:
        cuda_driver.cuda(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(4 * COUNT),
            ctypes.c_void_p(stream.handle),
        )
        del x, capsule
    others = [gpukern.to_device(np.full(COUNT, -1, np.int32)) for _ in range(3)]
    graph.launch()
    assert np.array_equal(out.numpy(), np.arange(COUNT))
    del others


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_the_streams_of_sources_stay_out_of_a_capture(streams, reverse, library):
    xp = pytest.importorskip(library)
    x = xp.ones(COUNT, dtype=xp.float32) if library == "cupy" else xp.ones(COUNT, device="cuda")
    out = gpukern.empty(COUNT, np.float32)
    xp.cuda.Device().synchronize() if library == "cupy" else xp.cuda.synchronize()
    with streams[0].capture() as graph:
        gpukern.gather(x, reverse, mode="clip", out=out, stream=streams[0])
        x += 1  # on the library's stream: immediately, not in the graph
    xp.cuda.Device().synchronize() if library == "cupy" else xp.cuda.synchronize()
    for _ in range(2):
        graph.launch()
        assert np.array_equal(out.numpy(), np.full(COUNT, 2, np.float32))


def test_torch_graphs(rng):
    torch = pytest.importorskip("torch")
    x = torch.rand(COUNT, device="cuda")
    index = torch.randint(0, COUNT, (COUNT,), device="cuda")
    out = torch.empty_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpukern.gather(x, index, mode="clip", out=out)
        total = gpukern.saxpy(2, out, x)
    for _ in range(3):
        x.copy_(torch.rand(COUNT, device="cuda"))
        index.copy_(torch.randint(0, COUNT, (COUNT,), device="cuda"))
        graph.replay()
        assert torch.equal(out, x[index])
        assert torch.allclose(torch.as_tensor(total), 2 * x[index] + x)


def test_cupy_graphs(rng):
    cupy = pytest.importorskip("cupy")
    x = cupy.asarray(rng.random(COUNT, np.float32))
    index = cupy.asarray(rng.integers(0, COUNT, COUNT))
    out = cupy.empty_like(x)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        gpukern.gather(x, index, mode="wrap", out=out)
        graph = stream.end_capture()
    for _ in range(3):
        x[...] = cupy.asarray(rng.random(COUNT, np.float32))
        cupy.cuda.Device().synchronize()
        graph.launch(stream)
        stream.synchronize()
        assert cupy.array_equal(out, x[index])
