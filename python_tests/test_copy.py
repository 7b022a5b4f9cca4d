# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""copyto, synchronize and device_count."""

import gc
import weakref

import cuda_driver
import numpy as np
import pytest
from libraries import KINDS, opened
from places import Interface, Window

import gpukern

GPU = pytest.param("cuda:0", marks=pytest.mark.gpu)
DTYPES = ["?", "i1", "u8", "f2", "f4", "c16", ">f4", "M8[ns]", "S5", "U3", "V7", "i1,f8"]
COUNT = 4096


@pytest.fixture(params=["cpu", GPU])
def device(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["blocking", "enqueued"])
def blocking(request):
    return request.param


def random_array(rng, dtype, shape):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(bytearray(rng.bytes(count)), dtype).reshape(shape)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V32", "V7"])
def test_one_item_repeated(rng, dtype):
    """Of any bytes, and of equal ones, between others that stay."""
    width = np.dtype(dtype).itemsize
    for item in (rng.bytes(width), bytes(width), b"\x37" * width):
        one = np.frombuffer(item, dtype)
        for count in (1, 2, 7, 8, 9, 127, 128, 129, 1000, 200_000):
            to = random_array(rng, dtype, count + 2)
            expected = to[:1].tobytes() + item * count + to[-1:].tobytes()
            gpukern.copyto(to[1:-1], np.broadcast_to(one, count))
            assert to.tobytes() == expected, (item, count)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (2, 3, 5)])
def test_every_byte_gets_there_and_back(rng, device, blocking, dtype, shape):
    source = random_array(rng, dtype, shape)
    there, again = (gpukern.empty(shape, dtype, device) for _ in range(2))
    back = np.zeros(shape, dtype)
    assert gpukern.copyto(there, source, blocking=blocking) is None
    gpukern.copyto(again, there, blocking=blocking)
    gpukern.copyto(back, again, blocking=blocking)
    if not blocking:
        gpukern.synchronize(device)
    assert back.tobytes() == source.tobytes()


def test_host_arrays_of_any_layout(rng):
    source = rng.random((6, 8), np.float32)
    records = np.zeros((6, 8), [("a", "i1"), ("b", "f4")])
    for dst in (np.empty((6, 8), "f4"), np.empty((8, 6), "f4").T, records["b"]):
        for src in (source, source[::-1], source[:, ::-1]):
            gpukern.copyto(dst, src)
            assert np.array_equal(dst, src)
    assert not records["a"].any()
    huge = random_array(rng, "V70000", 3)
    out = np.zeros(3, "V70000")
    gpukern.copyto(out, huge)
    assert out.tobytes() == huge.tobytes()


def window_of(dtype, shape, order, pad, flipped):
    """An array whose axes have that order in memory, each followed by `pad` unused positions."""
    strides, size = [0] * len(shape), dtype.itemsize
    for axis in reversed(order):
        strides[axis] = size
        size *= shape[axis] + pad
    first = 0
    if flipped:
        first = (shape[1] - 1) * strides[1]
        strides[1] = -strides[1]
    return Window(dtype, shape, tuple(strides), first)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "S3"])
@pytest.mark.parametrize(("rows", "columns"), [(15, 17), (64, 64), (65, 130), (3, 600)])
def test_every_order_of_axes(rng, device, dtype, rows, columns):
    """Transposed arrays are copied by tiles, which are smaller at the ends of the axes."""
    dtype, shape = np.dtype(dtype), (3, rows, columns)
    orders = [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)]
    layouts = [(order, pad, False) for order in orders for pad in (0, 1)]
    windows = [window_of(dtype, shape, *each) for each in (*layouts, ((0, 2, 1), 0, True))]
    memory = random_array(rng, "u1", 6 * shape[0] * (rows + 1) * (columns + 1) * dtype.itemsize)
    on_host = device == "cpu"
    for source in windows:
        for target in windows:
            written = np.zeros_like(memory)
            expected = written.copy()
            target.on(expected)[...] = source.on(memory)
            if on_host:
                gpukern.copyto(target.on(written), source.on(memory))
            else:
                there, here = gpukern.to_device(written), gpukern.to_device(memory)
                gpukern.copyto(Interface(there, target), Interface(here, source))
                written = there.numpy()
            assert np.array_equal(written, expected), (source, target)


def test_host_arrays_may_overlap():
    array = np.arange(100)
    gpukern.copyto(array[1:], array[:-1], blocking=False)
    assert array.tolist() == [0, *range(99)]


def test_lists_and_buffers(device):
    there = gpukern.empty(3, np.int64, device)
    gpukern.copyto(there, [1, 2, 3])
    back = bytearray(24)
    gpukern.copyto(memoryview(back).cast("q"), there)
    assert np.frombuffer(back, np.int64).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("dst", "src", "error", "words"),
    [
        (np.zeros(4), np.ones(3), ValueError, r"dst must have src's shape \(3,\), got \(4,\)"),
        (np.zeros((1, 3)), np.ones(3), ValueError, "dst must have src's shape"),
        (np.zeros(3), np.ones(3, "f4"), TypeError, "dst must have src's dtype float32"),
        (np.zeros(3), np.ones(3, ">f8"), TypeError, "dst must have src's dtype >f8"),
        (np.zeros(3), [1, 2, 3], TypeError, "dst must have src's dtype int64"),
        (np.frombuffer(bytes(24)), np.ones(3), ValueError, "dst is read-only"),
        ([0.0] * 3, np.ones(3), TypeError, "dst must be an array"),
        (np.zeros(3), object(), TypeError, "src must be an array"),
        (np.zeros(3), np.ones(3, object), TypeError, "src must hold no Python objects"),
        (np.ma.zeros(3), np.ones(3), TypeError, "(dst|src) must not be a masked array"),
        (np.zeros(3), np.ma.ones(3), TypeError, "(dst|src) must not be a masked array"),
    ],
)
def test_refuses_what_does_not_fit(blocking, dst, src, error, words):
    with pytest.raises(error, match=f"^copyto: {words}") as caught:
        gpukern.copyto(dst, src, blocking=blocking)
    assert isinstance(caught.value, gpukern.GpukernError)


@pytest.mark.parametrize("blocking", [None, 1, "yes", np.ones(2)])
def test_refuses_what_is_no_bool(blocking):
    words = f"^copyto: blocking must be a bool, got {type(blocking).__name__}$"
    with pytest.raises(gpukern.errors.GpukernTypeError, match=words):
        gpukern.copyto(np.zeros(3), np.ones(3), blocking=blocking)


def test_refuses_what_is_no_stream():
    with pytest.raises(TypeError, match=r"^copyto: stream must be "):
        gpukern.copyto(np.zeros(3), np.ones(3), stream="fast")
    with pytest.raises(TypeError, match=r"^synchronize: stream must be "):
        gpukern.synchronize("cpu", stream=1.5)
    with pytest.raises(TypeError, match=r"^synchronize: device must be "):
        gpukern.synchronize(None)


def test_the_cpu_has_nothing_to_wait_for():
    assert gpukern.synchronize("cpu") is None


def test_devices_are_counted():
    assert gpukern.device_count() == len(gpukern.info()["devices"])


def test_no_device_no_wait():
    with pytest.raises(RuntimeError, match="there is no "):
        gpukern.synchronize(gpukern.device_count())


@pytest.mark.gpu
def test_layouts_beside_a_gpu(rng):
    source = rng.random((6, 8), np.float32)
    there = gpukern.empty((6, 8), np.float32)
    records = np.zeros((6, 8), [("a", "i1"), ("b", "f4")])
    for host in (
        np.empty((8, 6), np.float32).T,
        np.empty((6, 16), np.float32)[:, ::2],
        records["b"],
    ):
        host[...] = source
        gpukern.copyto(there, host)
        assert np.array_equal(there.numpy(), source)
        host[...] = 0
        gpukern.copyto(host, there)
        assert np.array_equal(host, source)
        with pytest.raises(ValueError, match=r"^copyto: src must be C-contiguous on the host"):
            gpukern.copyto(there, host, blocking=False)
        with pytest.raises(ValueError, match=r"^copyto: dst must be C-contiguous on the host"):
            gpukern.copyto(host, there, blocking=False)


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["object", "int"])
def test_enqueued_copies_keep_the_order_of_streams(form):
    first, second, third = (cuda_driver.Stream() for _ in range(3))
    handle = (lambda stream: stream) if form == "object" else (lambda stream: stream.handle)
    sent, returned = (gpukern.pinned_empty(COUNT, np.float32) for _ in range(2))
    one = gpukern.to_device(np.ones(COUNT, np.float32))
    there = gpukern.empty(COUNT, np.float32, stream=first)
    total = gpukern.to_device(np.zeros(COUNT, np.float32))
    for number in range(100):
        sent[...] = number
        returned[...] = -1
        first.delay(300)
        gpukern.copyto(there, sent, stream=handle(first), blocking=False)
        gpukern.saxpy(1, there, one, out=total, stream=handle(second))
        gpukern.copyto(returned, total, stream=handle(third), blocking=False)
        gpukern.synchronize(stream=third)
        assert (returned == number + 1).all()


@pytest.mark.gpu
def test_pinned_copies_do_not_wait():
    stream = cuda_driver.Stream()
    there = gpukern.empty(COUNT, np.float32, stream=stream)
    returned = gpukern.pinned_empty(COUNT, np.float32)
    sent = gpukern.pinned_empty(COUNT, np.float32)
    sent[...], returned[...] = 3, -1
    stream.delay(300_000)
    gpukern.copyto(there, sent, stream=stream, blocking=False)
    gpukern.copyto(returned, there, stream=stream, blocking=False)
    assert (returned == -1).all()  # the stream is still at its delay
    stream.synchronize()
    assert (returned == 3).all()


@pytest.mark.gpu
def test_copies_to_padded_records_are_enqueued():
    dtype = np.dtype("i1,f8", align=True)
    there = gpukern.to_device(np.array([(1, 2.5)] * 4, dtype))
    returned = gpukern.pinned_empty(4, dtype)
    gpukern.copyto(returned, there, blocking=False)
    gpukern.synchronize()
    assert (returned["f1"] == 2.5).all()
    fields = np.zeros(4, "i1,f8,i1")[["f0", "f2"]]
    there = gpukern.to_device(fields)
    with pytest.raises(ValueError, match=r"^copyto: dst must have no bytes beside its fields "):
        gpukern.copyto(fields, there, blocking=False)
    gpukern.copyto(fields, there)


@pytest.mark.gpu
def test_host_arrays_are_kept_until_the_copy_has_run():
    stream = cuda_driver.Stream()
    there = gpukern.empty(COUNT, np.float32, stream=stream)
    returned = np.empty(COUNT, np.float32)
    sent = gpukern.pinned_empty(COUNT, np.float32)
    sent[...] = 5
    alive = weakref.ref(sent)
    stream.delay(300_000)
    gpukern.copyto(there, sent, stream=stream, blocking=False)
    del sent
    gc.collect()
    gpukern.empty(1)
    assert alive() is not None
    gpukern.copyto(returned, there, stream=stream, blocking=False)
    gpukern.synchronize(0, stream)
    assert alive() is None
    assert (returned == 5).all()


@pytest.mark.gpu
def test_device_memory_is_not_freed_before_the_copy_has_run():
    stream = cuda_driver.Stream()
    returned = gpukern.pinned_empty(COUNT, np.float32)
    for number in range(100):
        there = gpukern.to_device(np.full(COUNT, number, np.float32))
        stream.delay(300)
        gpukern.copyto(returned, there, stream=stream, blocking=False)
        del there
        others = [gpukern.to_device(np.full(COUNT, -1, np.float32)) for _ in range(3)]
        gpukern.synchronize(0, stream)
        assert (returned == number).all()
        del others


@pytest.mark.gpu
def test_a_graph_copies_anew():
    stream = cuda_driver.Stream()
    there = gpukern.empty(COUNT, np.float32, stream=stream)
    sent, returned = (gpukern.pinned_empty(COUNT, np.float32) for _ in range(2))
    gpukern.synchronize(0, stream)
    with stream.capture() as graph:
        gpukern.copyto(there, sent, stream=stream, blocking=False)
        gpukern.copyto(returned, there, stream=stream, blocking=False)
        with pytest.raises(ValueError, match="must be page-locked while a CUDA graph is captured"):
            gpukern.copyto(there, np.zeros(COUNT, "f4"), stream=stream, blocking=False)
        with pytest.raises(ValueError, match="while a CUDA graph is captured"):
            gpukern.copyto(there, sent, stream=stream)
        with pytest.raises(ValueError, match="cannot be synchronized while it captures"):
            gpukern.synchronize(0, stream)
    for number in range(3):
        sent[...] = number
        graph.launch()
        assert (returned == number).all()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_arrays_of_libraries(rng, blocking, name):
    library = opened(name)
    source = rng.random((6, 4), np.float32)
    for layout, theirs in library.layouts(source):
        back = np.empty_like(source)
        gpukern.copyto(back, theirs, blocking=blocking)
        gpukern.synchronize("cuda" if library.on_gpu else "cpu")
        assert np.array_equal(back, source), layout
        if library.writable:
            gpukern.copyto(theirs, 2 * source, blocking=blocking)
            gpukern.synchronize("cuda" if library.on_gpu else "cpu")
            assert np.array_equal(library.take(theirs), 2 * source), layout


@pytest.mark.gpu
def test_torch_is_told_of_a_write():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3, device="cuda")
    before = tensor._version
    gpukern.copyto(tensor, np.ones(3, np.float32))
    assert tensor._version > before


def test_jax_arrays_are_not_written_to():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match=r"^copyto: dst must not be a JAX array"):
        gpukern.copyto(jax.numpy.zeros(3), np.ones(3, np.float32))
