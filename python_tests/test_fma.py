# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""fma, the factors of saxpy that are arrays, and stochastic rounding."""

from array import array

import axpby_oracle
import numpy as np
import oracle
import pytest
from places import Place

import gpukern
from gpukern import axpby, explain, fma, saxpy, saxpy_many


def test_random_calls(place, rng):
    for _ in range(150):
        call = axpby_oracle.random_call(rng, 3)
        expected = call.expected(call.operands[2])
        given = [place.put(operand) for operand in call.operands]
        for function in (fma, saxpy):
            result = place.take(function(*given, **place.options))
            assert (result.shape, result.dtype) == (call.shape, call.dtype)
            assert result.tobytes() == expected.tobytes(), call
        out = place.put(np.zeros(call.shape, call.out_dtype))
        result = place.take(fma(*given, out=out, **place.options))
        assert result.tobytes() == call.rounded_to(call.out_dtype)


def test_float64_to_narrow_types_rounds_once(place):
    """A double that a detour by float32 would round to the wrong neighbour."""
    x = np.float64(
        [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, -(1 + 3 * 2.0**-11) + 2.0**-50, 2.0**-25]
    )
    out = place.put(np.zeros(4, "f2"))
    result = place.take(fma(place.put(x), 1.0, 0.0, out=out, **place.options))
    assert result.tobytes() == x.astype("f2").tobytes()


def test_a_factor_for_each_row_and_one_on_the_device(place, rng):
    x, y = rng.random((70, 33)).astype("f4"), rng.random((70, 33)).astype("f4")
    for a in (rng.random((70, 1)).astype("f4"), np.float32([0.3]), rng.random(33).astype("f4")):
        result = place.take(saxpy(place.put(a), place.put(x), place.put(y), **place.options))
        wide = a.astype("f8") * x + y  # exact but for the sum, which rounds in float64
        assert np.abs(result - wide).max() <= 2.0**-23
        again = np.stack(
            [
                saxpy(f, u, v)
                for f, u, v in zip(
                    np.broadcast_to(a, x.shape).ravel(), x.ravel(), y.ravel(), strict=True
                )
            ]
        )
        assert result.tobytes() == again.astype("f4").tobytes()


@pytest.mark.parametrize("dtype", ["f4", "i4", "c8"])
def test_saxpy_broadcasts(place, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for y in (np.arange(4), np.arange(3).reshape(3, 1), np.arange(24).reshape(2, 3, 4)):
        for pair in ((x, y.astype(dtype)), (y.astype(dtype), x)):
            result = saxpy(2, *map(place.put, pair), **place.options)
            assert np.array_equal(place.take(result), 2 * pair[0] + pair[1])


def test_results_of_broadcast_operands_have_numpys_layout(rng):
    for _ in range(200):
        shape = tuple(rng.integers(1, 5, 3).tolist())
        x = np.asfortranarray(rng.random(shape)) if rng.random() < 0.5 else rng.random(shape)
        y = rng.random(shape[rng.integers(0, 3) :])
        for pair in ((x, y), (y, x)):
            expected = pair[0] + pair[1]
            result = saxpy(1, *pair)
            assert np.array_equal(result, expected)
            for size, stride, theirs in zip(
                result.shape, result.strides, expected.strides, strict=True
            ):
                assert size == 1 or stride == theirs


def test_a_number_may_stand_for_x_or_y(place):
    x = np.float32([1, 2, 3])
    assert np.array_equal(place.take(saxpy(2, place.put(x), 0.5, **place.options)), 2 * x + 0.5)
    assert np.array_equal(place.take(saxpy(2, 0.5, place.put(x), **place.options)), 1 + x)
    result = saxpy(place.put(x), 2, 0.5, **place.options)
    assert result.dtype == np.float32
    assert np.array_equal(place.take(result), 2 * x + np.float32(0.5))


@pytest.mark.parametrize("dtype", ["i4", "i8", "c8", "c16"])
def test_a_number_beside_integers_or_complex_numbers(place, dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    for args in ((x, -3), (5, x), (x, np.int8(4))):
        given = [place.put(each) if each is x else each for each in args]
        result = place.take(saxpy(2, *given, **place.options))
        assert result.dtype == x.dtype
        assert np.array_equal(result, 2 * args[0] + args[1])
    (result,) = saxpy_many(2, [place.put(x)], [7], **place.options)
    assert np.array_equal(place.take(result), 2 * x + 7)


def test_numbers_do_not_change_kind():
    x = np.arange(3)
    with pytest.raises(TypeError, match=r"^saxpy: y must convert to int64 without changing kind"):
        saxpy(2, x, 0.5)
    with pytest.raises(TypeError, match=r"^saxpy: x must convert to int64 without changing kind"):
        saxpy(2, 0.5, x)
    with pytest.raises(OverflowError, match=r"^saxpy: x must fit int32, got 4294967296$"):
        saxpy(2, 2**32, x.astype("i4"))
    with pytest.raises(TypeError, match=r"^saxpy: y must be of a dtype that saxpy computes with"):
        saxpy(2, 4, x.astype("u2"))


def test_an_array_a_of_numbers():
    x = np.float32([1, 2, 3])
    assert saxpy(array("f", [1, 2, 3]), 2, 1.0).dtype == np.float32
    assert saxpy([1.0, 2.0], 3, 4).tolist() == [7, 10]
    assert saxpy(np.array(2), 3, 4) == 10
    # A 0-d array x or y has part in the dtype.
    for result in (saxpy(x, np.array(0.5), 1.0), saxpy(x, 2.0, np.array(0.5))):
        assert result.dtype == np.float64


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_an_array_of_one_element_may_be_on_the_host(dtype):
    x = gpukern.to_device(np.float32([1, 2]), device="cuda")
    one = np.array([3], dtype)
    wider = np.result_type(np.float32, dtype)
    for result in (fma(2, x, one), axpby(2, x, 1, one), axpby(1, one, 2, x), saxpy(one, 1.0, x),
                   saxpy(2, x, one), saxpy(2, one, x), saxpy(2, x, one.reshape(()))):  # fmt: skip
        assert result.device == x.device
        assert result.dtype == wider
    assert fma(2, x, one).numpy().tolist() == axpby(1, one, 2, x).numpy().tolist() == [5, 7]
    assert saxpy(2, x, one).numpy().tolist() == [5, 7]
    assert saxpy_many(2, [x], [one])[0].numpy().tolist() == [5, 7]
    for y in ([1.0, 2.0], np.zeros(2, dtype)):
        with pytest.raises(ValueError, match=r"^saxpy: y must be on cuda:0 like x, got cpu$"):
            saxpy(2, x, y)
    assert saxpy(2, x, np.array(3.0)).numpy().tolist() == [5, 7]
    assert saxpy(x, 2.0, 1.0).numpy().tolist() == [3, 5]


def words_of(number, count):
    """The 32-bit words of a number, the lowest first."""
    return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]


def philox(key, c):
    """Philox4x32-10 of a counter, as in the paper."""
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (right >> 32) ^ c[1] ^ key[0],
            right & 0xFFFFFFFF,
            (left >> 32) ^ c[3] ^ key[1],
            left & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_the_oracle_is_philox():
    """The known answers that Random123 publishes, for zeros, for ones and for digits of pi."""
    ones = 2**32 - 1
    pi = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344
    for key, counter, words in [
        ([0] * 2, [0] * 4, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([ones] * 2, [ones] * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ([0xA4093822, 0x299F31D0], pi, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ]:
        assert philox(key, counter) == [int(word, 16) for word in words.split()]


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "both transposed", "every second"])
def test_stochastic_rounding_is_a_function_of_seed_and_position(place, rng, layout):
    seed = 0x123456789ABCDEF
    shape = (37, 53)
    x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-38, 38, shape)).astype("f4")
    x[0, :4] = np.inf, -np.inf, np.nan, -0.0
    given = {
        "contiguous": x,
        "transposed": np.asfortranarray(x),
        "both transposed": np.asfortranarray(x),
        "every second": np.repeat(x, 2, 1)[:, ::2],
    }[layout]
    order = "F" if layout == "both transposed" else "C"
    out = place.put(np.zeros(shape, oracle.bfloat16, order))
    result = fma(
        place.put(given), 1.0, 0.0, out=out, rounding="stochastic", seed=seed, **place.options
    )
    bits = (x + np.float32(0)).ravel().view("u4").astype("u8")
    finite = np.isfinite(x).ravel()
    key = words_of(seed, 2)
    blocks = [philox(key, words_of(group, 4)) for group in range(-(-x.size // 8))]
    random = np.array([blocks[p // 8][p % 8 // 2] >> p % 2 * 16 & 0xFFFF for p in range(x.size)])
    expected = ((bits + np.where(finite, random, 0).astype("u8")) >> 16).astype("u2")
    expected[np.isnan(x).ravel()] = 0x7FC0
    assert np.array_equal(place.take(result).view("u2").ravel(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["cuda", "cuda-array"])
def test_stochastic_rounding_of_many_elements_is_that_of_the_cpu(name, rng):
    """From some 13 million elements on, a block of the GPU computes several tiles."""
    x = rng.standard_normal(13_000_001, dtype="f4")

    def rounded(at):
        out = at.put(np.zeros(x.size, oracle.bfloat16))
        fma(at.put(x), 1.0, 0.0, out=out, rounding="stochastic", seed=7, **at.options)
        return at.take(out).view("u2")

    assert np.array_equal(rounded(Place(name)), rounded(Place("cpu")))


def test_stochastic_rounding_is_unbiased():
    x = np.full(200_000, 1 + 2.0**-7 * 0.25, "f4")
    out = np.zeros(x.size, oracle.bfloat16)
    mean = fma(x, 1.0, 0.0, out=out, rounding="stochastic", seed=5).astype("f8").mean()
    assert set(np.unique(out.astype("f8"))) == {1, 1 + 2.0**-7}
    # Four standard deviations of the mean.
    assert abs(mean - x[0]) < 4 * 2.0**-7 * (0.25 * 0.75 / x.size) ** 0.5


def test_integers_are_rounded_to_nearest_as_by_default():
    x = np.arange(3)
    assert saxpy(2, x, x, rounding="nearest").tolist() == [0, 3, 6]


def test_rounding_is_checked():
    x = np.ones(3, "f4")
    with pytest.raises(ValueError, match="fma: rounding must be 'nearest' or 'stochastic'"):
        fma(x, x, x, rounding="up")
    for rounding in ("up", 3, np.array([1, 2])):
        with pytest.raises(ValueError, match=r"^saxpy: rounding must be 'nearest' or 'stochastic'"):
            saxpy(1, np.arange(3), np.arange(3), rounding=rounding)
    with pytest.raises(ValueError, match="needs a seed"):
        fma(x, x, x, rounding="stochastic")
    with pytest.raises(ValueError, match="saxpy: seed is for"):
        saxpy(1, x, x, seed=3)
    with pytest.raises(TypeError, match="out must be a bfloat16 array, got float32"):
        saxpy(1, x, x, rounding="stochastic", seed=3)
    with pytest.raises(OverflowError, match="seed must be in"):
        fma(x, x, x, rounding="stochastic", seed=2**64)
    with pytest.raises(TypeError, match="seed must be an int"):
        fma(x, x, x, rounding="stochastic", seed=1.5)


def test_explain_counts_repeated_elements_once():
    x = np.ones((100, 1), "f4")
    found = explain(fma, x, np.ones(50, "f4"), 1.0)
    assert found.op == "fma"
    assert found.bytes_read == 4 * 150
    assert found.bytes_written == 4 * 5000
