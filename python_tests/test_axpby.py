# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""axpby: exact arithmetic, rounded where the specification says so, on every device."""

import axpby_oracle
import numpy as np
import pytest
from axpby_oracle import FORMATS, numbers

from gpukern import axpby, fma, saxpy


def test_random_calls(place, rng):
    for _ in range(150):
        call = axpby_oracle.random_call(rng, 4)
        a, x, b, y = call.operands
        expected = call.expected(call.product(b, y))
        result = axpby(*map(place.put, (a, x, b, y)), **place.options)
        assert place.take(result).tobytes() == expected.tobytes(), call
        out = np.zeros(call.shape, call.out_dtype)
        result = axpby(*map(place.put, (a, x, b, y)), out=place.put(out), **place.options)
        assert place.take(result).tobytes() == call.rounded_to(call.out_dtype)


def test_numbers_have_no_part_in_the_dtype(place):
    x, y = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    result = place.take(axpby(0.1, place.put(x), np.float64(3), place.put(y), **place.options))
    assert result.dtype == np.float32
    expected = (np.float64(np.float32(0.1)) * x + np.float64(3 * y)).astype("f4")
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("number", [int, float, np.float16, np.float32, np.array])
def test_operands_may_all_be_numbers(number):
    terms = [number(term) for term in (2.0, 3.0, 4.0, 5.0)]
    assert axpby(*terms) == 26
    assert fma(*terms[:3]) == saxpy(*terms[:3]) == 10
    assert fma(terms[0], 3, terms[2]) == saxpy(2, *terms[1:3]) == 10
    out = np.zeros((2, 2), "f4")
    assert np.array_equal(axpby(*terms, out=out), np.full((2, 2), 26))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_of_python_have_no_part_beside_others(kind):
    for x in (kind(3), np.array(3, kind)):
        for result in (axpby(2, x, 4.0, x), axpby(2, x, True, 0), fma(2, x, 1), fma(x, x, 1)):
            assert result.dtype == kind
    assert fma(np.float32(2), np.float64(3), 1).dtype == np.float64
    assert fma(2, 3, 1).dtype == np.float64


def test_integers_stay_integers():
    x, y = np.array(3), np.array(4)
    assert type(saxpy(2, x, y)) is np.int64
    assert type(saxpy(2, 3, y)) is np.int64
    assert saxpy(2, 3, 4) == 10


def test_both_factors_may_be_arrays(place):
    x = np.arange(12, dtype="f8").reshape(3, 4)
    rows, columns = np.float64([[1], [2], [3]]), np.float64([1, 10, 100, 1000])
    given = [place.put(array) for array in (rows, x, columns, x)]
    result = place.take(axpby(*given, **place.options))
    assert np.array_equal(result, rows * x + columns * x)


def test_the_second_product_is_rounded(place):
    """As documented: fma(a, x, b * y)."""
    a = x = np.float64([1 + 2.0**-30])
    y = np.float64([-1 - 2.0**-30])
    given = [place.put(array) for array in (a, x, a, y)]
    result = place.take(axpby(*given, **place.options))
    rounded = a * y
    assert result[0] == numbers.fma(FORMATS["float64"], a[0], x[0], rounded[0]) != 0


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((1, np.ones(2, "i4"), 1, np.ones(2, "f4")), TypeError, "axpby: x must have one of"),
        ((1, np.ones(2, "f4"), 1, np.ones(3, "f4")), ValueError, "do not broadcast"),
        ((1j, np.ones(2, "f4"), 1, np.ones(2, "f4")), TypeError, "axpby: a must convert"),
        ((1, np.ones(2, "f4"), "b", np.ones(2, "f4")), TypeError, "axpby: b"),
        ((1, np.ones(2, "c8"), 1, np.ones(2, "f4")), TypeError, "axpby: x must have one of"),
    ],
)
def test_errors_name_the_argument(arguments, error, text):
    with pytest.raises(error, match=text):
        axpby(*arguments)


def test_out_is_checked():
    x = np.ones((2, 3), "f4")
    with pytest.raises(ValueError, match="out must have a shape"):
        axpby(1, x, 1, x, out=np.ones(3, "f4"))
    with pytest.raises(TypeError, match="out must have one of the dtypes"):
        axpby(1, x, 1, x, out=np.ones((2, 3), "i4"))
    larger = np.zeros((4, 2, 3), "f4")
    assert axpby(1, x, 1, x, out=larger) is larger
    assert np.array_equal(larger, np.full((4, 2, 3), 2, "f4"))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_out_may_overlap_the_operands(device, rng):
    memory = rng.random(300).astype("f4")
    for first, second, third in ((0, 0, 0), (0, 1, 2), (5, 5, 4), (9, 0, 9)):
        work = memory.copy()
        x, y, out = (work[at : at + 200] for at in (first, second, third))
        expected = axpby(2, x.copy(), 3, y.copy())
        axpby(2, x, 3, y, out=out, device=device)
        assert np.array_equal(out, expected)
    work = memory[:100].reshape(10, 10).copy()
    expected = axpby(1, work, 1, work[0].copy())
    assert np.array_equal(axpby(1, work, 1, work[0], out=work, device=device), expected)
