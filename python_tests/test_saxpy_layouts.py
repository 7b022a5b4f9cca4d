# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy of operands in every layout, and the layout of its new results."""

import numpy as np
import oracle
import pytest
from test_saxpy import random_array

from gpukern import saxpy
from gpukern._interop import libraries


def test_any_strides(rng, kind):
    base = random_array(rng, kind, (20, 30))
    unaligned = np.frombuffer(rng.bytes(30 * 20 * kind.dtype.itemsize + 1), np.uint8)[1:]
    unaligned = unaligned.view(kind.dtype).reshape(20, 30)
    y = random_array(rng, kind, (20, 30))
    for x in (
        base[::-1],
        np.asfortranarray(base),
        unaligned,
        np.broadcast_to(base[3], (20, 30)),
        np.broadcast_to(base[:, :1], (20, 30)),
        np.repeat(base, 2, 1)[:, ::2],
    ):
        for pair in ((x, y), (y, x), (x.T, y.T)):
            result = saxpy(base[0, 0], *pair)
            assert result.tobytes() == oracle.saxpy(kind, base[0, 0], *pair).tobytes()


def test_long_operands_of_every_step(rng, kind):
    """Longer than the buffer of elements that are not contiguous."""
    count = 3000
    steps = {
        "contiguous": lambda a: a[:count],
        "every second": lambda a: a[::2],
        "reversed": lambda a: a[:count][::-1],
        "one": lambda a: np.broadcast_to(a[7], count),
        "unaligned": lambda a: np.frombuffer(b"." + a[:count].tobytes(), "u1")[1:].view(a.dtype),
    }
    a = random_array(rng, kind, (1,))[0]
    for x in steps.values():
        for y in steps.values():
            x_given, y_given = (f(random_array(rng, kind, (2 * count,))) for f in (x, y))
            expected = oracle.saxpy(kind, a, x_given, y_given).tobytes()
            assert saxpy(a, x_given, y_given).tobytes() == expected
            for name in ("contiguous", "every second", "reversed", "unaligned"):
                memory = np.zeros(2 * count * kind.dtype.itemsize + 1, np.uint8)
                out = memory[name == "unaligned" :][: 2 * count * kind.dtype.itemsize]
                out = out.view(kind.dtype)
                out = out[:count] if name == "unaligned" else steps[name](out)
                assert saxpy(a, x_given, y_given, out=out) is out
                assert out.tobytes() == expected


def test_a_new_result_has_numpys_layout(place, rng):
    for _ in range(300):
        shape = tuple(rng.choice([1, 2, 3, 5], rng.integers(1, 5)).tolist())
        x, y = random_layout(rng, shape), random_layout(rng, shape)
        result = saxpy(2, place.put(x), place.put(y), **place.options)
        assert np.array_equal(place.take(result), 2 * x + y)
        if not place.on_device:
            assert result.flags.owndata
            for size, stride, theirs in zip(shape, result.strides, (x + y).strides, strict=True):
                assert size == 1 or stride == theirs


def random_layout(rng, shape):
    """An array whose axes are permuted, reversed, stepped over or repeated."""
    order = rng.permutation(len(shape))
    steps = rng.choice([1, 1, 2, -1], len(shape))
    sizes = [abs(steps[axis]) * shape[axis] for axis in order]
    array = rng.integers(-9, 9, sizes).astype("f4").transpose(np.argsort(order))
    array = array[tuple(slice(None, None, step) for step in steps)]
    if rng.random() < 0.3:
        axis = rng.integers(len(shape))
        array = np.broadcast_to(array.take([0], axis), shape)
    return array


def test_libraries_allocate_in_any_order_of_axes(monkeypatch):
    monkeypatch.setattr(libraries, "_allocate_cupy", lambda like, shape, device: np.empty(shape))
    for order in ([1, 2, 0], [2, 0, 1], [0, 2, 1]):
        made = libraries.PERMUTED_ALLOCATORS["cupy"](None, (2, 3, 5), order, 0)
        assert made.shape == (2, 3, 5)
        assert made.transpose(order).flags.c_contiguous


def test_a_new_tensor_keeps_its_layout():
    torch = pytest.importorskip("torch")
    x = torch.rand(2, 3, 5).permute(2, 0, 1)
    assert saxpy(2, x, x).stride() == x.stride()
    assert saxpy(2, x, x.contiguous()).is_contiguous()
    assert saxpy(2, x[:, :0], x[:, :0]).shape == (5, 0, 3)
