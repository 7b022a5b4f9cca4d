# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions of host arrays, sent through a GPU in chunks, give what NumPy gives."""

import threading
import time

import ml_dtypes
import numpy as np
import pytest
from places import pinned

import gpukern
from gpukern import elementwise, explain

pytestmark = pytest.mark.gpu

F = elementwise("a * 2 + b")


class StopError(Exception):
    """What a callback raises."""


def arguments_of(a, b):
    """Pairs of two matrices, their parts, and numbers."""
    column, row = a[:, :1], b[0]
    return [
        (a, b), (a, 3), (a[::2], b[::2]), (row, a), (column, row), (a.T, b.T), (a[0, 0], b),
        (a, b[::-1, ::-1]), (np.asfortranarray(a), b), (column, a), (a[None], b[:, None]),
        (a[:, ::3], b[0, ::3]),
    ]  # fmt: skip


@pytest.mark.parametrize("memory", [1, 5000, 10**6, None])
def test_layouts(rng, memory, to_host, monkeypatch):
    if memory == 1:
        a, b = (to_host(rng.normal(size=(7, 5))) for _ in range(2))
    else:
        a, b = (to_host(rng.normal(size=(60, 40))) for _ in range(2))
    for arguments in arguments_of(a, b):
        expected = F(*arguments)
        result = F(*arguments, device="cuda", device_memory=memory)
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected)
        out = to_host(np.empty(expected.shape, "f4"))
        assert F(*arguments, device="cuda", out=out, device_memory=memory) is out
        np.testing.assert_array_equal(out, expected.astype("f4"))
        monkeypatch.setenv("GPUKERN_DEVICE", "cuda")
        if memory is not None:
            monkeypatch.setenv("GPUKERN_DEVICE_MEMORY", str(memory))
        np.testing.assert_array_equal(F(*arguments), expected)
        monkeypatch.undo()


@pytest.mark.parametrize("count", [1, 1000, 3_000_001, 9_000_000])
def test_sizes(rng, to_host, count):
    a, b = (to_host(rng.standard_normal(count).astype("f4")) for _ in range(2))
    expected = F(a, b, device="cpu")
    for memory in (None, 1 << 20):
        np.testing.assert_array_equal(F(a, b, device="cuda", device_memory=memory), expected)
    F(a, b, out=a, device="cuda")
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize(
    "dtypes",
    [("?", "i1"), ("u1", "f8"), ("i2", "c16"), ("f2", "f4"), ("i8", "u4"),
     (ml_dtypes.bfloat16, "f4")],
    ids=str,
)  # fmt: skip
def test_dtypes(rng, to_host, dtypes):
    a, b = (to_host(rng.integers(0, 2, (700, 900)).astype(dtype)) for dtype in dtypes)
    for arguments in ((a, b), (b, a), (a[0], b), (a, b[:, :1]), (a, 1)):
        expected = F(*arguments, device="cpu")
        result = F(*arguments, device="cuda", device_memory=1 << 20)
        assert result.dtype == expected.dtype
        assert result.tobytes() == expected.tobytes()


def test_numbers_and_nothing():
    for arguments in ((1.0, 2), (np.float32(3), 1), (np.array(2, "i4"), 7), (np.array(1.5), 2.5)):
        result, expected = F(*arguments, device="cuda"), F(*arguments, device="cpu")
        assert result == expected
        assert result.dtype == expected.dtype
    assert F(np.zeros((0, 3)), 1, device="cuda").shape == (0, 3)
    assert F(np.zeros(3, "u1"), 255, device="cuda").tolist() == [255] * 3
    with pytest.raises(OverflowError, match=r"b must be in \[0, 255\], got 300"):
        F(np.zeros(3, "u1"), 300, device="cuda")


@pytest.mark.parametrize("shift", [-1000, -1, 0, 1, 1000])
def test_out_overlaps(rng, to_host, shift):
    memory = to_host(rng.normal(size=500_000))
    inside = memory[1000:-1000]
    expected = F(inside, inside[0], device="cpu")
    out = memory[1000 + shift : len(memory) - 1000 + shift]
    F(inside, inside[0], out=out, device="cuda", device_memory=100_000)
    np.testing.assert_array_equal(out, expected)


def test_odd_layouts(rng):
    record = np.zeros(1000, [("x", "u1"), ("y", "f4")])
    record["y"] = rng.normal(size=1000)
    expected = F(record["y"], record["x"])
    np.testing.assert_array_equal(F(record["y"], record["x"], device="cuda"), expected)
    F(record["y"], 1, out=record["y"], device="cuda")
    swapped = record["y"].astype(">f4")
    np.testing.assert_array_equal(F(swapped, 1, device="cuda"), record["y"] * np.float32(2) + 1)


def test_many_arguments(rng):
    names = [f"x{i}" for i in range(32)]
    f = elementwise(" + ".join(names), inputs=names)
    arrays = [rng.integers(0, 100, 300_000) for _ in names]
    np.testing.assert_array_equal(f(*arrays, device="cuda"), sum(arrays))


def test_device_memory_is_bounded(rng):
    a = rng.standard_normal((1 << 22,)).astype("f4")
    for memory in (1 << 20, 1 << 24):
        plan = explain(F, a, a, device="cuda", device_memory=memory)
        assert plan.bytes_allocated <= memory
        assert plan.chunks >= 3 * a.nbytes // memory
        assert (plan.bytes_to_device, plan.bytes_from_device) == (2 * a.nbytes, a.nbytes)
        assert (plan.place, plan.path, plan.why) == ("cuda:0", "contiguous", "device= selects it")


def test_explain(rng):
    a = rng.normal(size=(300, 40))
    on_gpu = gpukern.to_device(a)
    plan = explain(F, on_gpu, on_gpu)
    assert (plan.place, plan.why) == ("cuda:0", "the arrays are on this device")
    assert (plan.path, plan.bytes_read) == ("contiguous", 2 * a.nbytes)
    assert explain(elementwise("fmaf(a, b, a)"), a, a).why.startswith("it calls CUDA C++")
    assert explain(F, a.T, a.T, out=np.empty((40, 300)), device="cuda").place == "cuda:0"


def test_progress(rng, to_host):
    a = to_host(rng.standard_normal(1 << 20).astype("f4"))
    reports = []

    def report(done, total):
        reports.append((done, total))
        time.sleep(0.1)  # until the next report is due

    F(a, a, device="cuda", device_memory=1 << 20, progress=report)
    done = [each for each, _ in reports]
    assert done == sorted(set(done))
    assert len(done) > 5
    assert reports[-1] == (a.nbytes, a.nbytes)

    def stop(done, total):
        raise StopError

    with pytest.raises(StopError):
        F(a, a, device="cuda", device_memory=1 << 20, progress=stop)
    assert F(a[:3], 1, device="cuda").shape == (3,)


def test_errors(rng):
    a = np.ones(3, "f4")
    with pytest.raises(gpukern.CompileError):
        elementwise("absent(a)")(a)
    with pytest.raises(ValueError, match="out must be on the host like the arrays"):
        F(a, a, out=gpukern.empty(3, "f4"), device="cuda")
    with pytest.raises(ValueError, match=r"out must have shape \(3,\), got \(4,\)"):
        F(a, a, out=np.empty(4, "f4"), device="cuda")
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(2,\) do not broadcast"):
        F(a, np.ones(2), device="cuda")
    stuck = np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (3,), (0,))
    with pytest.raises(ValueError, match="out must not have overlapping elements"):
        F(a, a, out=stuck, device="cuda")
    with pytest.raises(gpukern.errors.GpukernDeviceError):
        F(a, a, device="cuda:77")


def test_several_threads(rng):
    arrays = [pinned(rng.standard_normal(300_000)) if k % 2 else rng.standard_normal(300_000)
              for k in range(6)]  # fmt: skip
    failures = []

    def work(x):
        failures.extend(
            1
            for _ in range(5)
            if not np.array_equal(F(x, 1, device="cuda", device_memory=1 << 20), x * 2 + 1)
        )

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_torch_on_the_host(rng):
    torch = pytest.importorskip("torch")
    a = torch.randn(1000, 30)
    for x in (a, a.pin_memory(), a.t()):
        result = F(x, 1, device="cuda")
        assert isinstance(result, torch.Tensor)
        assert result.device.type == "cpu"
        assert torch.equal(result, x * 2 + 1)
