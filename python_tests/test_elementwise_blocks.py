# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays of element-wise calls part into blocks, which are bounded in memory."""

import numpy as np
import pytest

import gpukern
from gpukern import _blocks, elementwise

SHAPES = [
    ((30, 40), (30, 40)),
    ((30, 40), (40,)),
    ((30, 1), (1, 40)),
    ((2, 3, 50), ()),
    ((7,), (1,)),
    ((), ()),
    ((0, 3), (3,)),
]


@pytest.mark.parametrize("limit", [1, 100, 1000, 10**9])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_parcels_cover_the_result_in_bounded_memory(rng, shapes, limit, order):
    a, b = (np.asarray(rng.normal(size=shape), order=order) for shape in shapes)
    result = np.full(np.broadcast_shapes(*shapes), np.nan)
    for (x, y, number), target in _blocks.parcels([a, b, 3], result, limit):
        assert number == 3
        assert target.nbytes + x.nbytes * (x.ndim > 0) + y.nbytes * (y.ndim > 0) <= max(limit, 24)
        assert np.isnan(target).all()
        target[...] = x + y
    np.testing.assert_array_equal(result, a + b)


def test_parcels_of_arrays_that_overlap():
    memory = np.arange(10.0)
    for (x,), target in _blocks.parcels([memory[:-1]], memory[1:], 16):
        target[...] = x
    assert memory.tolist() == [0, *range(9)]


@pytest.mark.parametrize(
    ("text", "size"), [("", 2**30), ("5", 5), ("3K", 3072), ("2G", 2**31), ("1T", 2**40)]
)
def test_device_memory(monkeypatch, text, size):
    monkeypatch.setenv("GPUKERN_DEVICE_MEMORY", text)
    assert _blocks.device_memory() == size


@pytest.mark.parametrize("text", ["0", "-1", "many", "1 G", "2GB", "1e9", "9" * 30])
def test_device_memory_must_be_a_number(monkeypatch, text):
    monkeypatch.setenv("GPUKERN_DEVICE_MEMORY", text)
    with pytest.raises(ValueError, match="GPUKERN_DEVICE_MEMORY must be a number of bytes"):
        _blocks.device_memory()


def test_the_argument_device_memory():
    f = elementwise("a + 1")
    x = np.zeros(3)
    assert f(x, device="cpu", device_memory=1000).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="device_memory must be a number of bytes, got 0"):
        f(x, device="cpu", device_memory=0)
    with pytest.raises(gpukern.GpukernTypeError, match="device_memory must be an int, got str"):
        f(x, device="cpu", device_memory="1G")
