# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls of element-wise functions on host arrays."""

import threading

import numpy as np
import pytest

import gpukern
from gpukern import elementwise
from gpukern._elementwise import cpu_executor

f = elementwise("a * 2 + b")
fresh = elementwise("a * 2 + b", name="with_small_blocks")


@pytest.mark.parametrize(
    "size", [0, 1, 31, 32, 33, 65, cpu_executor.FEW - 1, cpu_executor.FEW + 1, 100_001]
)
@pytest.mark.parametrize("dtype", ["f4", "i2", "f8"])
def test_sizes(rng, size, dtype):
    a, b = rng.integers(-100, 100, (2, size)).astype(dtype)
    result = f(a, b)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, a * 2 + b)
    out = np.empty(size, dtype)
    assert f(a, b, out=out) is out
    np.testing.assert_array_equal(out, a * 2 + b)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((2, 3, 4), (3, 1)),
        ((5,), ()),
        ((), (2, 2)),
        ((0, 3), (3,)),
        ((1, 1), (1,)),
        ((300, 400), (400,)),
        ((70_000, 3), (70_000, 1)),
        ((2, 100_000), (2, 1)),
        ((2, 3, 20_000), (3, 1)),
    ],
)
def test_broadcasting(rng, first, second):
    a, b = rng.normal(size=first), rng.normal(size=second)
    for result in (f(a, b), f(a, b, out=np.empty(np.broadcast_shapes(first, second)))):
        np.testing.assert_array_equal(result, a * 2 + b)
        assert result.shape == np.broadcast_shapes(first, second)


def test_strides(rng):
    a = rng.normal(size=(300, 500)).astype("f4")
    b = rng.normal(size=(500, 300)).astype("f4")
    np.testing.assert_array_equal(f(a, b.T), a * 2 + b.T)
    np.testing.assert_array_equal(f(a[::-2], b.T[::2]), a[::-2] * 2 + b.T[::2])
    np.testing.assert_array_equal(f(a.astype(">f4"), 1), a * 2 + 1)
    packed = np.zeros(50, "i1,f4")
    packed["f1"] = a[0, :50]
    np.testing.assert_array_equal(f(packed["f1"], 0), a[0, :50] * 2)


@pytest.mark.parametrize("shape", [(300, 400), (20, 30, 100), (3, 4)])
def test_results_have_the_strides_of_numpys(rng, shape):
    c = rng.random(shape)
    fortran = np.asfortranarray(c)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(c, 0, -1)), -1, 0)
    for a, b in (
        (fortran, fortran),
        (turned, 2),
        (3, c.T),
        (fortran, c),
        (c, fortran),
        (turned, c),
    ):
        assert f(a, b).strides == (a * 2 + b).strides
    for a, b in ((fortran, fortran), (turned, 2), (3, c.T), (fortran, c[:1]), (fortran, c[0])):
        wanted = a * 2 + b
        np.testing.assert_array_equal(f(a, b), wanted)
        for order in "CF":
            out = np.zeros(wanted.shape, order=order)
            np.testing.assert_array_equal(f(a, b, out=out), wanted)
    np.testing.assert_array_equal(f(c, fortran), c * 2 + fortran)


def test_kinds_of_arguments():
    assert f([1, 2], memoryview(np.array([1.5, 2]))).tolist() == [3.5, 6.0]
    assert f(1, 2) == 4
    assert isinstance(f(1, 2), np.int64)
    assert isinstance(f(np.float32(1), 2), np.float32)
    assert isinstance(f(np.array(1), 2), np.int64)
    assert elementwise("a ? 1.5 : 2", name="choice")(np.array([True, False])).tolist() == [1.5, 2]
    device_array = gpukern.to_device(np.arange(3.0), "cpu")
    result = f(device_array, 1)
    assert isinstance(result, gpukern.DeviceArray)
    assert result.numpy().tolist() == [1, 3, 5]
    assert f(device_array, [0, 1, 2]).numpy().tolist() == [0, 3, 6]


def test_torch_tensors_of_the_host():
    torch = pytest.importorskip("torch")
    a = torch.arange(4.0)
    result = f(a, a)
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [0, 3, 6, 9]
    assert elementwise("a > 1")(a).dtype == torch.bool
    out = torch.zeros(4)
    version = out._version
    assert f(a, 1, out=out) is out
    assert out.tolist() == [1, 3, 5, 7]
    assert out._version > version


def test_the_result_does_not_depend_on_all_arguments():
    g = elementwise("a", inputs=("a", "b"))
    assert g(np.float32(3), np.zeros((2, 2))).tolist() == [[3, 3], [3, 3]]
    assert g(np.arange(2), np.zeros((2, 1))).tolist() == [[0, 1], [0, 1]]
    a = np.arange(3)
    assert not np.shares_memory(elementwise("a")(a), a)


@pytest.mark.parametrize("shift", [-1, 0, 1, 40_000])
def test_out_overlaps(rng, shift):
    memory = rng.normal(size=200_000)
    expected = memory[50_000:150_000] * 2 + 1
    out = memory[50_000 + shift : 150_000 + shift]
    f(memory[50_000:150_000], 1, out=out)
    np.testing.assert_array_equal(out, expected)


def test_out_is_a_transposed_argument(rng):
    a = rng.normal(size=(400, 400))
    expected = a * 2 + a.T
    f(a, a.T, out=a)
    np.testing.assert_array_equal(a, expected)


def test_out_of_another_dtype():
    a = np.arange(4, dtype="f8")
    assert f(a, 1, out=np.empty(4, "f4")).tolist() == [1, 3, 5, 7]
    assert elementwise("a > 1")(a, out=np.empty(4, "i1")).tolist() == [0, 0, 1, 1]
    with pytest.raises(TypeError, match="out must be of a dtype that float64 converts to"):
        f(a, 1, out=np.empty(4, "i8"))


def test_errors_of_calls():
    a = np.arange(3.0)
    with pytest.raises(TypeError, match="elementwise takes 2 arguments, got 1"):
        f(a)
    with pytest.raises(TypeError):
        f(a, a, where=True)
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(2,\) do not broadcast"):
        f(a, a[:2])
    with pytest.raises(ValueError, match=r"out must have shape \(3,\), got \(2,\)"):
        f(a, a, out=np.empty(2))
    with pytest.raises(ValueError, match=r"out must have shape \(3,\), got \(2, 3\)"):
        f(a, a, out=np.empty((2, 3)))
    frozen = np.empty(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="elementwise: out is read-only"):
        f(a, a, out=frozen)
    with pytest.raises(TypeError, match="out must be an array"):
        f(a, a, out=[1, 2, 3])
    with pytest.raises(TypeError, match="elementwise: b must be"):
        f(a, "text")
    with pytest.raises(ValueError, match="elementwise: device must be"):
        f(a, a, device="gpu")
    with pytest.raises(TypeError, match="takes 2 arguments, got 1 dtypes"):
        f.source("float32")
    for none in ((None, None), ("float32", None), (["a"], int)):
        with pytest.raises(gpukern.errors.GpukernTypeError, match="dtype"):
            f.result_dtype(*none)
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"made by gpukern\.elementwise"):
        gpukern.Elementwise("a + 1")


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize(
    ("shape", "strides"),
    [((4,), (0,)), ((4, 3), (0, 8)), ((300, 400), (8, 0)), ((2, 1), (0, 5))],
)
def test_an_out_whose_elements_share_memory(device, shape, strides):
    x = np.ones(shape)
    out = np.lib.stride_tricks.as_strided(np.zeros(np.prod(shape)), shape, strides)
    words = rf"must not have overlapping elements, got stride 0 in dimension {strides.index(0)}$"
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        f(x, x, out=out, device=device)
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        gpukern.saxpy(1.0, x, x, out=out, device=device)
    assert not out.any()
    single = np.lib.stride_tricks.as_strided(np.zeros(1), (1, 1), (0, 0))
    assert f(np.ones((1, 1)), 1, out=single, device=device) == 3


def test_no_warnings():
    a = np.array([0.0, -1, np.inf, np.nan])
    assert np.isnan(elementwise("log(a) + a / 0")(a)).sum() >= 2
    assert elementwise("a / b")(1, 0) == np.inf
    assert elementwise("a % b")(np.arange(3), 0).tolist() == [0, 0, 0]


@pytest.mark.usefixtures("restored_threads")
def test_threads(monkeypatch, rng):
    started = []
    thread = threading.Thread

    def noted(*args, **options):
        started.append(1)
        return thread(*args, **options)

    monkeypatch.setattr(cpu_executor, "LEAST_FOR_THREAD", 50_000)
    monkeypatch.setattr(threading, "Thread", noted)
    a = rng.normal(size=(500, 777))
    gpukern.set_num_threads(3)
    np.testing.assert_array_equal(f(a, a[0]), a * 2 + a[0])
    assert len(started) == 2  # beside the caller's


@pytest.mark.usefixtures("restored_threads")
def test_blocks_of_threads_that_cannot_start(monkeypatch, rng):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cpu_executor, "get_num_threads", lambda: 3)
    monkeypatch.setattr(cpu_executor, "LEAST_FOR_THREAD", 50_000)
    monkeypatch.setattr(threading.Thread, "start", start)
    a = rng.normal(size=400_000)
    gpukern.set_num_threads(3)
    np.testing.assert_array_equal(fresh(a, a[:1]), a * 2 + a[0])


def test_errors_in_threads_are_raised(monkeypatch):
    monkeypatch.setattr(cpu_executor, "get_num_threads", lambda: 2)
    monkeypatch.setattr(cpu_executor, "LEAST_FOR_THREAD", 50_000)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        f(np.zeros(200_000, "i1"), 1000)


@pytest.mark.usefixtures("restored_threads")
def test_number_of_threads(monkeypatch):
    threads = []
    monkeypatch.setattr(cpu_executor, "LEAST_FOR_THREAD", 50_000)
    monkeypatch.setattr(threading, "Thread", lambda **options: threads.append(1))
    gpukern.set_num_threads(1)
    assert f(np.zeros(200_000), 1).tolist() == [1] * 200_000
    assert threads == []


def test_small_calls_in_each_other():
    """As a finalizer or a signal's handler may call while a small call computes."""
    x = np.zeros(3)
    with np.errstate(all="raise"):
        nested = cpu_executor.quietly("f", lambda: elementwise("1 / a")(x), ())
        assert nested.tolist() == [np.inf] * 3
        assert elementwise("1 / a")(x, out=x).tolist() == [np.inf] * 3


@pytest.mark.parametrize("sizes", [(3, 1), (1, 3), (3, 3), (0, 1), (1, 1)])
def test_small_outputs(sizes):
    a, b = (np.arange(size, dtype="f4") for size in sizes)
    expected = a * 2 + b
    for memory in (np.empty(8), np.empty(8, "f4"), np.empty(16, "f4")[::2]):
        out = memory[: expected.size]
        assert f(a, b, out=out) is out
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(ValueError, match="out must have shape"):
        f(a, b, out=np.empty(expected.size + 1))
    with pytest.raises(ValueError, match="out must have shape"):
        f(1, 2, out=np.empty(3))
    grid = np.zeros((2, 3), "f4")
    f(grid, 1, out=grid)
    assert grid.tolist() == [[1, 1, 1]] * 2


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_small_outputs_that_overlap(shift):
    memory = np.arange(12.0)
    a, b = memory[2:10].copy(), memory[1:9].copy()
    f(memory[2:10], memory[1:9], out=memory[2 + shift : 10 + shift])
    np.testing.assert_array_equal(memory[2 + shift : 10 + shift], a * 2 + b)


def test_functions_of_cuda_need_a_gpu():
    g = elementwise("fmaf(a, 2.0f, b)")
    assert g.result_dtype("float32", "float32") == "float32"
    if gpukern.info()["cuda"]["device_count"] == 0:
        with pytest.raises(
            gpukern.errors.GpukernDeviceError, match="fmaf is CUDA C\\+\\+, which needs a"
        ):
            g(np.ones(3, "f4"), 1)
    with pytest.raises(gpukern.errors.GpukernDeviceError, match="fmaf"):
        g(np.ones(3, "f4"), 1, device="cpu")


def test_the_device_of_host_arrays(monkeypatch):
    monkeypatch.setenv("GPUKERN_DEVICE", "cpu")
    assert f(np.arange(2), 1).tolist() == [1, 3]
    monkeypatch.setenv("GPUKERN_DEVICE", "cuda")  # a preference
    assert f(np.arange(2), 1).tolist() == [1, 3]
    monkeypatch.setenv("GPUKERN_DEVICE", "tpu")
    with pytest.raises(ValueError, match="GPUKERN_DEVICE must be cpu or cuda, got tpu"):
        f(np.arange(2), 1)
    monkeypatch.delenv("GPUKERN_DEVICE")
    if gpukern.info()["cuda"]["device_count"] == 0:
        with pytest.raises(gpukern.errors.GpukernDeviceError):
            f(np.arange(2), 1, device="cuda")


def test_what_it_tells_of_itself():
    assert repr(f) == "<elementwise elementwise(a, b)>"
    g = elementwise("x", name="copy")
    assert g.__name__ == "copy"
    assert repr(g) == "<elementwise copy(x)>"
    assert "gpukern_copy(const gpukern::Span<2> span)" in g.source("int8")


@pytest.mark.thread_unsafe(reason="clears the cache of the process")
def test_equal_expressions_share_what_was_made_of_them():
    one = elementwise("a * 3 + b", inputs=["a", "b"], name="one")
    assert elementwise("a * 3 + b", inputs=("a", "b"), name="one")._function is one._function
    for other in (
        elementwise("a * 3 + b", inputs=["b", "a"], name="one"),
        elementwise("a * 3 + b", inputs=["a", "b"], name="two"),
        elementwise("a * 3 + b", inputs=["a", "b"], name="one", dtype="f8"),
        elementwise("a * 3 + b", inputs=["a", "b"], name="one", options=["--fmad=true"]),
        elementwise("a * 3 + b", inputs=["a", "b"], name="one", preamble="// other"),
    ):
        assert other._function is not one._function
    assert elementwise("a * 3 + b", inputs=["b", "a"])(1, 10) == 31
    gpukern.clear_cache()
    assert elementwise("a * 3 + b", inputs=["a", "b"], name="one")._function is not one._function
    assert one(1, 10) == 13


@pytest.mark.parametrize(
    ("inputs", "message"),
    [([["a"]], r"names, got \['a'\]"), ([1], "names, got 1"), (["1"], "names, got '1'"),
     ("aa", "different names")],
)  # fmt: skip
def test_inputs_that_are_no_names(inputs, message):
    with pytest.raises(ValueError, match=f"inputs must be {message}"):
        elementwise("a + 1", inputs=inputs)
