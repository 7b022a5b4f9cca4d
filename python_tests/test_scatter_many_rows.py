# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter of more rows of few columns than a GPU has threads at a time."""

import numpy as np
import pytest
from places import Interface, Window, on_gpu

import gpukern

COUNT = 300_000


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_unique_rows(place, rng, dtype, columns):
    target = rng.integers(0, 99, (COUNT + 9, columns)).astype(dtype)
    values = rng.integers(0, 99, (COUNT, columns)).astype(dtype)
    index = rng.permutation(COUNT)
    index[::7] += 2 * COUNT  # skipped
    kept = index < COUNT
    for reduce in (None, "add"):
        expected = target.copy()
        expected[index[kept]] = values[kept] + (target[index[kept]] if reduce else 0)
        out = place.put(target.copy())
        gpukern.scatter(out, place.put(index), place.put(values), unique=True, mode="fill",
                        reduce=reduce, **place.options)  # fmt: skip
        assert np.array_equal(place.take(out), expected)


@pytest.mark.parametrize("columns", [1, 3, 4, 20])
@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_rows_that_repeat(place, rng, dtype, columns):
    target = np.zeros((COUNT // 2, columns), dtype)
    values = rng.integers(0, 9, (COUNT, columns)).astype(dtype)
    index = rng.integers(0, COUNT // 2, COUNT)
    last = np.full(COUNT // 2, -1)
    last[index] = np.arange(COUNT)  # NumPy assigns in order
    written = target.copy()
    written[last >= 0] = values[last[last >= 0]]
    sums = target.copy()
    np.add.at(sums, index, values)
    out = place.put(target.copy())
    gpukern.scatter(out, place.put(index), place.put(values), **place.options)
    assert np.array_equal(place.take(out), written)
    for order in ("fixed", "any"):
        out = place.put(target.copy())
        gpukern.scatter(out, place.put(index), place.put(values), reduce="add", order=order,
                        **place.options)  # fmt: skip
        assert np.array_equal(place.take(out), sums)


def test_sorted_rows(place, rng):
    index = np.sort(rng.integers(0, 50_000, COUNT))
    values = rng.integers(0, 9, (COUNT, 16)).astype("f4")
    expected = np.zeros((50_000, 16), "f4")
    expected[index] = values
    out = place.put(np.zeros((50_000, 16), "f4"))
    gpukern.scatter(out, place.put(index), place.put(values), **place.options)
    assert np.array_equal(place.take(out), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("columns", [2, 5])
def test_misaligned_rows_on_a_gpu(rng, columns):
    def misaligned(array):
        memory = np.zeros(array.nbytes + 1, np.uint8)
        memory[1:] = array.reshape(-1).view(np.uint8)
        strides = array.strides
        return Interface(
            gpukern.to_device(memory, device="cuda"), Window(array.dtype, array.shape, strides, 1)
        )

    target = rng.integers(0, 99, (3000, columns)).astype("f4")
    values = rng.integers(0, 99, (2000, columns)).astype("f4")
    index = rng.permutation(3000)[:2000]
    out = gpukern.empty(target.shape, "f4", device="cuda")
    for reduce, unique in ((None, True), ("add", True), ("add", False)):
        given = misaligned(target)
        gpukern.scatter(given, gpukern.to_device(index, device="cuda"), misaligned(values),
                        reduce=reduce, unique=unique)  # fmt: skip
        gpukern.copyto(out, given)
        expected = target.copy()
        expected[index] = values + (target[index] if reduce else 0)
        assert np.array_equal(out.numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "c16", "i8"])
@pytest.mark.parametrize(
    ("rows", "length", "count"),
    [
        *((40_000, 40, 30), (1500, 700, 900), (2000, 300, 1100), (300_000, 20, 4)),
        *((1100, 5, 5000), (11_000, 2, 100)),
    ],
)
def test_rows_updated_along_the_last_axis(rng, dtype, rows, length, count):
    """By one index: as along the first axis of the transposed arrays, on the CPU."""

    def put(array):
        return gpukern.to_device(array, device="cuda")

    def numbers(*shape):
        parts = rng.standard_normal((2, *shape)) * 9
        return (parts[0] + 1j * parts[1] if dtype == "c16" else parts[0]).astype(dtype)

    x, values = numbers(rows, length + 3), numbers(rows, count)
    index = rng.integers(0, length, count)
    index[: count // 9] = length  # skipped
    index[count // 3 : 2 * count // 3] = 1  # up to several blocks of values
    reductions = {"c16": (None, "add", "mean"), "f4": (None, "add", "mean", "multiply", "min")}
    for target, part in (
        (put, x[:, 1:-2]),
        (on_gpu, x[:, 1:-2]),
        (on_gpu, x[::-1, -3:0:-1]),
    ):
        for reduce in reductions.get(dtype, (None, "add", "max")):
            expected = np.ascontiguousarray(part.T)
            gpukern.scatter(expected, index, np.ascontiguousarray(values.T), mode="fill",
                            reduce=reduce)  # fmt: skip
            out = target(part)
            gpukern.scatter(out, put(index), put(values), axis=1, mode="fill", reduce=reduce)
            result = gpukern.empty(part.shape, dtype, device="cuda")
            gpukern.copyto(result, out)
            assert result.numpy().tobytes() == np.ascontiguousarray(expected.T).tobytes(), reduce
    index = np.sort(np.minimum(index, length - 1))
    out, expected = put(x[:, :length]), np.ascontiguousarray(x[:, :length].T)
    gpukern.scatter(out, put(index), put(values), axis=1, reduce="add")
    gpukern.scatter(expected, index, np.ascontiguousarray(values.T), reduce="add")
    assert out.numpy().tobytes() == np.ascontiguousarray(expected.T).tobytes()
