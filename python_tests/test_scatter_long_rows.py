# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter of few updates of long rows, whose columns a GPU divides among its threads."""

import numpy as np
import pytest

from gpukern import scatter

STEPS = {
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
DTYPES = ["u1", "i4", "i8", "f2", "f4", "f8"]


def numbers(rng, shape, dtype):
    """Sums and products of few of them are exact."""
    return rng.integers(1, 3, shape).astype(dtype)


def expected_of(target, index, values, reduce):
    result = target.copy()
    for key, row in zip(index, values, strict=True):
        result[key] = row if reduce is None else STEPS[reduce](result[key], row)
    return result


def check(place, target, index, values, reduce, **options):
    expected = expected_of(target, index, values, reduce)
    out = place.put(target)
    scatter(out, place.put(index), place.put(values), reduce=reduce, **options, **place.options)
    assert place.take(out).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [(dtype, reduce) for dtype in DTYPES for reduce in (None, *STEPS)]
    + [("c8", None), ("c8", "add")],
)
def test_few_updates(place, rng, dtype, reduce):
    for count, columns in ((1, 300_007), (3, 100_000), (17, 30_001), (1000, 1501)):
        target = numbers(rng, (5, columns), dtype)
        if reduce == "multiply":
            target[:] = 1
        index = rng.integers(0, 5 if count < 1000 else 2, count)
        values = numbers(rng, (count, columns), dtype)
        if count == 1000 and reduce == "add":
            values[:] = rng.integers(0, 2, (count, columns))
        if count == 1000 and reduce == "multiply":
            values[:] = 1
        check(place, target, index, values, reduce)
        if count <= 3:
            keys = rng.permutation(5)[:count]
            check(place, target, keys, values[:count], reduce, unique=True)


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [(dtype, reduce) for dtype in ("u1", "f4", "i8") for reduce in (None, "add", "max")]
    + [("c8", None), ("c8", "add")],
)
def test_more_updates(place, rng, dtype, reduce):
    for count, columns in ((1100, 3001), (5000, 700)):
        target = numbers(rng, (count // 3, columns), dtype)
        index = rng.integers(0, len(target), count)
        check(place, target, index, numbers(rng, (count, columns), dtype), reduce)


@pytest.mark.parametrize("reduce", [None, "add"])
@pytest.mark.parametrize("count", [1, 4, 20, 300, 1200])
def test_columns_of_several_dimensions(place, rng, count, reduce):
    for part in (np.s_[:, ::2, ::2], np.s_[::-1, :, 1:], np.s_[:, ::-1]):
        base = numbers(rng, (3, 300, 40 if count > 20 else 500), "f4")
        target = place.put(base)[part]
        shape = base[part].shape
        index = rng.integers(0, 3, count)
        values = numbers(rng, (count, *shape[1:]), "f4")
        if count > 20:
            values -= 1
        expected = expected_of(base[part], index, values, reduce)
        scatter(target, place.put(index), place.put(values), reduce=reduce, **place.options)
        assert np.array_equal(place.take(target), expected)


def test_many_values_of_a_long_row(place, rng):
    target = numbers(rng, (2, 40_000), "f4")
    values = numbers(rng, (300, 40_000), "f4") - 1
    expected = expected_of(target, np.zeros(300, int), values, "add")
    out = place.put(target)
    scatter(out, place.put(np.zeros(300, int)), place.put(values), reduce="add", **place.options)
    assert np.array_equal(place.take(out), expected)


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_missing_updates(place, rng, dtype):
    target = numbers(rng, (4, 50_000), dtype)
    values = numbers(rng, (5, 50_000), dtype)
    kept = [1, 3, 4]
    for reduce in (None, "add"):
        expected = expected_of(target, [2, 2, 0], values[kept], reduce)
        out = place.put(target)
        index = place.put(np.array([7, 2, -9, 2, 0]))
        scatter(out, index, place.put(values), reduce=reduce, mode="fill", **place.options)
        assert place.take(out).tobytes() == expected.tobytes()
