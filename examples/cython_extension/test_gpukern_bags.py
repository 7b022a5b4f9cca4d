# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""add_bags against NumPy, on the CPU and on the first GPU."""

import numpy as np
import pytest

import gpukern
from gpukern_bags import add_bags

PLACES = ["cpu"] + ["cuda:0"] * bool(gpukern.info()["devices"])


def compute(place, scale, table, index, out, **keywords):
    """Run add_bags on a device and return `out`."""
    if place == "cpu":
        return add_bags(scale, table, index, out.copy(), **keywords)
    on_gpu = [gpukern.to_device(array, 0) for array in (table, index, out)]
    assert add_bags(scale, *on_gpu, **keywords) is on_gpu[2]
    return on_gpu[2].numpy()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bags", [0, 1, 33, 300])
@pytest.mark.parametrize("bag_size", [0, 1, 5])
@pytest.mark.parametrize("width", [0, 1, 31, 64])
def test_against_numpy(place, bags, bag_size, width):
    rng = np.random.default_rng()
    table = rng.integers(-100, 100, (50, width)).astype(np.float32)  # exact in every step
    index = rng.integers(-200, 200, (bags, bag_size))
    out = rng.integers(-100, 100, (bags, width)).astype(np.float32)
    expected = out + 0.5 * table[index % 50].sum(axis=1)
    np.testing.assert_array_equal(compute(place, 0.5, table, index, out), expected)


@pytest.mark.parametrize("place", PLACES)
def test_rounds_in_the_order_of_the_bag(place):
    rng = np.random.default_rng()
    table = rng.standard_normal((50, 31), np.float32)
    index = rng.integers(-(2**63), 2**63 - 1, (200, 7))
    sums = np.zeros((200, 31), np.float32)
    for k in range(7):
        sums += table[index[:, k] % 50]
    zeros = np.zeros_like(sums)
    np.testing.assert_array_equal(compute(place, 1.0, table, index, zeros), sums)


@pytest.mark.parametrize("place", PLACES)
def test_errors(place):
    table, index, out = np.ones((3, 2), "f4"), np.zeros((4, 5), "i8"), np.zeros((4, 2), "f4")
    with pytest.raises(ValueError, match="shapes do not fit"):
        compute(place, 1, table, index, out[:3])
    with pytest.raises(IndexError, match="no rows"):
        compute(place, 1, table[:0], index, out)
    with pytest.raises((TypeError, ValueError)):
        compute(place, 1, table.astype("f8"), index, out)


@pytest.mark.skipif(gpukern.device_count() < 2, reason="fewer than two GPUs")
def test_arrays_on_two_gpus():
    torch = pytest.importorskip("torch")  # its arrays name no stream
    table, out = torch.ones((3, 2), device="cuda:0"), torch.zeros((4, 2), device="cuda:0")
    index = torch.zeros((4, 5), dtype=torch.int64, device="cuda:1")
    with pytest.raises(ValueError, match="on one GPU"):
        add_bags(1, table, index, out)


def test_strided_host_arrays():
    table = np.arange(60, dtype=np.float32).reshape(6, 10)[::-2, ::3]
    out = np.zeros((4, 2), np.float32).T
    add_bags(2, table, np.array([[0, 1, 2, -1], [5, 5, 5, 5]])[:, ::2], out[:, :4])
    expected = 2 * np.stack([table[0] + table[2], 2 * table[2]])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.skipif(len(PLACES) == 1, reason="no GPU")
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_streams_of_other_libraries(library):
    module = pytest.importorskip(library)
    stream = module.cuda.Stream(non_blocking=True) if library == "cupy" else module.cuda.Stream()
    table, index = np.ones((3, 2), np.float32), np.zeros((4, 5), np.int64)
    with stream if library == "cupy" else module.cuda.stream(stream):
        if library == "cupy":
            arrays = [module.asarray(array) for array in (table, index)]
            out = module.zeros((4, 2), module.float32)
        else:
            arrays = [module.from_numpy(array).cuda() for array in (table, index)]
            out = module.zeros((4, 2), device="cuda")
        handle = stream.ptr if library == "cupy" else stream.cuda_stream
        assert add_bags(3, *arrays, out, stream=handle) is out
    stream.synchronize()
    assert out.tolist() == [[15, 15]] * 4
