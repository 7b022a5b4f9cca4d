# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays through a GPU in chunks, and sources that stay on the host."""

import os
import subprocess
import sys
import threading
import weakref

import cuda_driver
import numpy as np
import pytest
from places import pinned

import gpukern

pytestmark = pytest.mark.gpu

MI = 1 << 20


@pytest.mark.parametrize("limit", [1, 5000, 100_000, 20 * MI, None])
@pytest.mark.parametrize("count", [1, 1000, 3 * MI + 7])
def test_saxpy(to_host, limit, count, rng):
    if limit is not None and count / limit > 100:
        pytest.skip("too many tiny chunks")
    x, y = (to_host(rng.standard_normal(count).astype(np.float32)) for _ in range(2))
    expected = gpukern.saxpy(2.5, x, y, device="cpu")
    given = to_host(np.zeros(count, np.float32))
    out = gpukern.saxpy(2.5, x, y, out=given, device="cuda", device_memory=limit)
    assert out is given
    assert out.tobytes() == expected.tobytes()
    assert gpukern.saxpy(2.5, x, y, device="cuda").tobytes() == expected.tobytes()
    gpukern.saxpy(2.5, x, y, out=y, device="cuda", device_memory=limit)
    assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shift", [-1, 1, 1000])
def test_saxpy_over_shifted_memory(to_host, shift, rng):
    memory = to_host(rng.standard_normal(500_000))
    inside = memory[1000:-1000]
    out = memory[1000 + shift : len(memory) - 1000 + shift]
    expected = gpukern.saxpy(3, inside, inside.copy(), device="cpu")
    gpukern.saxpy(3, inside, inside, out=out, device="cuda", device_memory=100_000)
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("limit", [1, 50_000, 2 * MI, None])
@pytest.mark.parametrize("shape", [(50,), (30_000,), (400, 3), (5, 20, 7), (2, 300, 64)])
@pytest.mark.parametrize("indices", [3, 40_000])
def test_gather(to_host, limit, shape, indices, rng):
    for axis in {0, len(shape) - 1}:
        source = to_host(rng.standard_normal(shape).astype(np.float32))
        index = rng.integers(-shape[axis], shape[axis], min(indices, 5_000_000 // source.size))
        if limit == 1 and index.size > 100:
            continue
        expected = np.take(source, index, axis, mode="raise" if index.size else "clip")
        given = to_host(np.zeros_like(expected))
        out = gpukern.gather(
            source, to_host(index), axis=axis, out=given, device="cuda", device_memory=limit
        )
        assert out is given
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
def test_modes(to_host, mode, rng):
    source = to_host(rng.integers(0, 100, (70, 6)))
    index = rng.integers(-300, 300, 50_000)
    fill = rng.integers(0, 100, 6)
    options = {"mode": mode, **({"fill_value": fill} if mode == "fill" else {})}
    expected = gpukern.gather(source, index, **options, device="cpu")
    out = gpukern.gather(source, index, **options, device="cuda", device_memory=100_000)
    assert np.array_equal(out, expected)


CHUNKED = {
    "scatter": lambda x, index, _offsets, **options: gpukern.scatter(
        x.copy(), index, np.arange(index.size, dtype=x.dtype)[:, None], reduce="add", **options
    ),
    "put": lambda x, index, _offsets, **options: gpukern.scatter(
        x.T.copy(), index, np.arange(index.size, dtype=x.dtype), axis=1, **options
    ),
    "put_along_axis": lambda x, index, _offsets, **options: gpukern.put_along_axis(
        x.copy(), index[:, None], x[:1], axis=0, reduce="add", **options
    ),
    "gather_reduce": lambda x, index, offsets, **options: gpukern.gather_reduce(
        x, index, offsets, **options
    ),
    "weighted": lambda x, index, offsets, **options: gpukern.gather_reduce(
        x, index, offsets, weights=np.arange(index.size, dtype=x.dtype), **options
    ),
    "segment_reduce": lambda x, _index, offsets, **options: gpukern.segment_reduce(
        x, offsets.clip(0, len(x)), **options
    ),
    "compress": lambda x, _index, _offsets, **options: gpukern.compress(
        x > 0, x, size=x.size * 2 // 3, fill_value=7, **options
    ),
    "compress_rows": lambda x, index, _offsets, **options: gpukern.compress(
        index % 3, x, axis=0, size=len(x), **options
    ),
    "compress_columns": lambda x, index, _offsets, **options: gpukern.compress(
        index % 3, x.T, axis=1, size=20_000, **options
    ),
    "nonzero": lambda x, _index, _offsets, **options: np.stack(gpukern.nonzero(x > 1, **options)),
}


@pytest.mark.parametrize("name", CHUNKED)
@pytest.mark.parametrize("limit", [5000, 200_000, 2 * MI, None])
@pytest.mark.parametrize("shape", [(40_000, 3), (300, 64), (70_000, 1)])
def test_other_operations_have_the_bits_of_the_cpu(to_host, name, limit, shape, rng):
    x = to_host(rng.standard_normal(shape).astype(np.float32))
    index = to_host(rng.integers(-shape[0], shape[0], 30_000))
    offsets = np.sort(rng.integers(0, index.size, 3000))
    call = CHUNKED[name]
    expected = call(x, index, offsets, device="cpu")
    out = call(x, index, offsets, device="cuda", device_memory=limit)
    assert out.tobytes() == expected.tobytes()


def test_other_operations_are_explained(rng):
    x = np.zeros((40_000, 3), np.float32)
    index = rng.integers(0, 40_000, 30_000)
    options = {"device": "cuda", "device_memory": 200_000}
    for plan in (
        gpukern.explain(gpukern.scatter, x, index, 1.0, **options),
        gpukern.explain(gpukern.segment_reduce, x, np.arange(0, 40_001, 2), **options),
        gpukern.explain(gpukern.gather_reduce, x[:1000], index, np.arange(30_001), **options),
        gpukern.explain(gpukern.compress, index % 2, x, axis=0, size=100, **options),
        gpukern.explain(gpukern.nonzero, x, size=100, **options),
    ):
        assert plan.place == "cuda:0"
        assert plan.chunks > 1
        assert plan.bytes_allocated <= 200_000


def test_a_bad_index_leaves_out_as_it_was(to_host, rng):
    index = rng.integers(0, 1000, 200_000)
    index[199_000] = 1000
    out = to_host(np.full(200_000, 7.0))
    with pytest.raises(IndexError, match=r"^index 1000 is out of bounds for axis 0 with size 1000"):
        gpukern.gather(np.arange(1000.0), index, out=out, device="cuda", device_memory=100_000)
    assert (out == 7).all()


def test_several_threads(rng):
    x = rng.standard_normal(MI)
    index = rng.integers(0, MI, MI)
    failures = []

    def work(k):
        for turn in range(5):
            source = pinned(x) if (k + turn) % 2 else x
            options = {"device": "cuda", "device_memory": 3 * MI}
            if not np.array_equal(gpukern.gather(source, index, **options), x[index]):
                failures.append("gather")
            if not np.array_equal(gpukern.saxpy(2, source, source, **options), 3 * x):
                failures.append("saxpy")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("row", [(), (3,), (64,), (256,)])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_a_pinned_source_beside_a_device_index(row, mode, rng):
    source = pinned(rng.standard_normal((5000, *row)).astype(np.float32))
    index = rng.integers(0, 5000, 3000)
    out = gpukern.gather(source, gpukern.to_device(index), mode=mode)
    assert isinstance(out, gpukern.DeviceArray)
    assert np.array_equal(out.numpy(), source[index])
    given = gpukern.empty(out.shape, np.float32)
    assert gpukern.gather(source[::-1], gpukern.to_device(index), mode=mode, out=given) is given
    assert np.array_equal(given.numpy(), source[::-1][index])


@pytest.mark.parametrize("width", [4, 64, 100, 256, 1000, 1024, 4096])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_the_cpu_takes_a_part_of_a_pinned_source(width, mode, rng, monkeypatch):
    monkeypatch.setenv("GPUKERN_CPU_SHARE", "85")
    source = pinned(rng.integers(0, 256, (5000, width), dtype=np.uint8))
    reach = 0 if mode == "raise" else 2000
    index = rng.integers(-5000 - reach, 5000 + reach, 8 * MI // width)
    fill = rng.integers(0, 256, width, dtype=np.uint8)
    expected = {
        "raise": lambda: source[index],
        "wrap": lambda: source[index % 5000],
        "clip": lambda: source[index.clip(0, 4999)],
        "fill": lambda: np.where((abs(index + 0.5) < 5000)[:, None], source[index % 5000], fill),
    }[mode]()
    there = gpukern.to_device(index)
    options = {"mode": mode, "fill_value": fill} if mode == "fill" else {"mode": mode}
    outs = [gpukern.gather(source, there, **options) for _ in range(3)]
    for out in outs:
        assert np.array_equal(out.numpy(), expected)
    plan = gpukern.explain(gpukern.gather, source, there, **options)
    assert plan.threads == gpukern.get_num_threads() - 1  # one core is left to the waiting thread
    assert plan.chunks > 1
    assert plan.bytes_to_device == len(index) * width


def test_what_is_gathered_at_exit_is_given_up():
    program = """
import numpy as np, gpukern
source = gpukern.pinned_empty((1 << 20, 256), np.uint8)
index = gpukern.to_device(np.random.default_rng(1).integers(0, 1 << 20, 1 << 21))
outs = [gpukern.gather(source, index, mode="clip") for _ in range(4)]
"""
    environment = {**os.environ, "GPUKERN_CPU_SHARE": "100"}
    run = subprocess.run([sys.executable, "-c", program], check=False, env=environment, timeout=60)
    assert run.returncode == 0


def test_it_gives_the_kind_of_the_index(rng):
    source = pinned(rng.standard_normal((100, 8)).astype(np.float32))
    for library in ("torch", "cupy"):
        module = pytest.importorskip(library)
        place = {"device": "cuda"} if library == "torch" else {}
        out = gpukern.gather(source, module.asarray([5, 99, -1], **place))
        assert type(out).__module__.partition(".")[0] == library
        host = out.cpu().numpy() if library == "torch" else out.get()
        assert np.array_equal(host, source[[5, 99, -1]])


def test_torchs_pinned_memory_works(rng):
    torch = pytest.importorskip("torch")
    source = torch.randn(1000, 16, dtype=torch.bfloat16).pin_memory()
    index = torch.randint(0, 1000, (300,), device="cuda")
    out = gpukern.gather(source, index, mode="clip")
    assert out.dtype == torch.bfloat16
    assert out.is_cuda
    assert torch.equal(out.cpu(), source[index.cpu()])


@pytest.mark.parametrize("share", ["0", "100"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_source_dropped_at_once_is_kept_until_it_is_read(share, whole, rng, monkeypatch):
    """Of more than 64 MiB, which pinned_empty maps by itself; whole, or a view of the memory."""
    monkeypatch.setenv("GPUKERN_CPU_SHARE", share)
    stream = cuda_driver.Stream()
    index = rng.integers(0, 1 << 16, 1 << 15)
    there = gpukern.to_device(index)
    memory = gpukern.pinned_empty((3 << 15, 1024), np.uint8)
    memory[...] = rng.integers(0, 256, 1024, np.uint8)
    memory[:, :4] = np.arange(len(memory), dtype=np.uint32).reshape(-1, 1).view(np.uint8)
    expected = memory[: 1 << 16][index]
    out = gpukern.empty(expected.shape, np.uint8)
    # The first launch of a kernel loads its code, which may wait for all streams.
    gpukern.gather(memory[: 1 << 16], there, mode="clip", out=out, stream=stream)
    stream.synchronize()
    gpukern.copyto(out, np.zeros_like(expected))
    gpukern.empty(1, np.float32)
    alive = weakref.ref(memory.base)
    source = memory if whole else memory[: 1 << 16]
    del memory
    stream.delay(300_000)
    gpukern.gather(source, there, mode="clip", out=out, stream=stream)
    del source
    gpukern.empty(1, np.float32)
    assert alive() is not None
    stream.synchronize()
    gpukern.empty(1, np.float32)
    assert alive() is None
    assert np.array_equal(out.numpy(), expected)


def test_torchs_pinned_source_is_kept_until_it_is_read():
    """torch's allocator would give the memory to its next tensor, not knowing of our reading."""
    torch = pytest.importorskip("torch")
    own = cuda_driver.Stream()
    stream = torch.cuda.ExternalStream(own.handle)
    index = torch.arange(MI, device="cuda")
    torch.cuda.synchronize()
    for turn in range(3):
        source = torch.full((MI,), turn, dtype=torch.int64).pin_memory()
        own.delay(100_000)
        with torch.cuda.stream(stream):
            out = gpukern.gather(source, index, mode="clip")
        del source
        others = [torch.full((MI,), -1, dtype=torch.int64).pin_memory() for _ in range(2)]
        stream.synchronize()
        assert (out == turn).all()
        assert all((other == -1).all() for other in others)


def test_a_pageable_source_is_an_error_that_names_the_way_out():
    index = gpukern.to_device(np.array([1, 2]))
    with pytest.raises(ValueError, match=r"^gather: source must be on cuda:0 .*pinned_empty"):
        gpukern.gather(np.arange(10.0), index)
