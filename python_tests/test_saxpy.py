# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy by example: one rounding, special values, scalars of every kind, out, errors."""

import array

import numpy as np
import oracle
import pytest

import gpukern
from gpukern import saxpy

SIZES = (0, 1, 31, 32, 33, 65, 4096, 70001)
INF, NAN = float("inf"), float("nan")
CANONICAL_NAN = {"f2": 0x7E00, "f4": 0x7FC00000, "f8": 0x7FF8000000000000}


def random_array(rng, kind, shape):
    count = int(np.prod(shape)) * kind.dtype.itemsize
    return np.frombuffer(rng.bytes(count), kind.dtype).reshape(shape)


# ---- results ------------------------------------------------------------------------------------


def test_every_size(place, rng, kind):
    for size in SIZES:
        a, x, y = (random_array(rng, kind, shape) for shape in ((), size, size))
        result = place.saxpy(a[()], x, y)
        assert result.dtype == kind.dtype
        checked = slice(None) if size < 5000 else slice(None, None, 31)
        expected = oracle.saxpy(kind, a, x[checked], y[checked])
        assert result[checked].tobytes() == expected.tobytes()


def test_rounds_once_where_double_would_round_twice(place):
    a, x, y = (
        np.float32(float.fromhex(text))
        for text in ("0x1.000002p-24", "0x1.fffffcp-1", "0x1.000002p+0")
    )
    assert place.saxpy(a, x.reshape(1), y.reshape(1)) == y


def test_cancellation_keeps_what_two_roundings_lose(place):
    x = np.array([1 + 2.0**-23], np.float32)
    y = -(x * x)
    assert place.saxpy(x[0], x, y).tolist() == [2.0**-46]


@pytest.mark.parametrize("dtype", CANONICAL_NAN)
def test_nan_is_canonical(place, dtype):
    bits = f"u{dtype[1]}"
    every_bit = np.full(40, -1, f"i{dtype[1]}").view(dtype)
    numbers = np.array([INF, 0.0, 1.0, NAN] * 10, dtype)
    for a, x, y in (
        (0.0, every_bit, numbers),
        (1.0, numbers, every_bit),
        (NAN, numbers, numbers),
        (0.0, numbers[:1].repeat(40), numbers),
    ):
        result = place.saxpy(a, x, y)
        assert np.isnan(result).all()
        assert set(result.view(bits).tolist()) == {CANONICAL_NAN[dtype]}


@pytest.mark.parametrize("dtype", CANONICAL_NAN)
def test_special_values(place, dtype):
    x = np.array([INF, -INF, 0.0, -0.0, 1.0, NAN], dtype)
    zero = np.zeros(6, dtype)
    assert np.array_equal(place.saxpy(2.0, x, zero), 2 * x + zero, equal_nan=True)
    assert np.isnan(place.saxpy(0.0, x, zero)).tolist() == [True, True, False, False, False, True]
    assert np.isnan(place.saxpy(1.0, x, -x)).tolist() == [True, True, False, False, False, True]
    assert np.signbit(place.saxpy(1.0, x[2:4], -zero[:2])).tolist() == [False, True]
    assert np.signbit(place.saxpy(-1.0, x[2:4], -zero[:2])).tolist() == [True, False]


@pytest.mark.parametrize("dtype", CANONICAL_NAN)
def test_subnormals_are_kept(place, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([tiny, 3 * tiny, -tiny], dtype)
    assert np.array_equal(place.saxpy(2.0, x, x), 3 * x)
    assert np.array_equal(
        place.saxpy(0.5, np.full(1, np.finfo(dtype).tiny), np.zeros(1, dtype)),
        [np.finfo(dtype).tiny / 2],
    )


def test_integers_wrap(place):
    for dtype in (np.int32, np.int64):
        limits = np.iinfo(dtype)
        x = np.array([limits.max, limits.min, 3], dtype)
        with np.errstate(over="ignore"):
            expected = np.array(limits.max, dtype) * x + x
        assert np.array_equal(place.saxpy(limits.max, x, x), expected)


def test_complex_products(place):
    x = np.array([1 + 2j, 3 - 1j])
    assert place.saxpy(2 + 1j, x, np.ones(2) * (1 + 0j)).tolist() == [1 + 5j, 8 + 1j]


def test_byte_swapped_arrays_on_the_host(rng):
    x, y = rng.random(40), rng.random(40)
    result = saxpy(2.5, x.astype(">f8"), y.astype(">f8"))
    assert np.array_equal(result, saxpy(2.5, x, y))


def test_shapes_without_elements_or_dimensions(place):
    assert place.saxpy(2.0, np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    assert place.saxpy(2.0, np.array(3.0), np.array(4.0)) == 10.0


def test_results_of_numpy_arrays():
    assert type(saxpy(2, np.array(3.0), np.array(4.0))) is np.float64
    assert type(saxpy(2, np.ones(3), np.ones(3))) is np.ndarray


@pytest.mark.parametrize(
    ("x", "y"),
    [
        *((3.0, 4), (3, 4), (3, 4j), (4, np.float32(5)), (np.float32(4), 5.0), (np.int32(3), 4)),
        *((np.float32(2), np.float64(1)), (np.int32(3), 1.5), (np.complex64(2j), 3.0), (True, 4)),
    ],
)
def test_numbers_alone_have_the_dtype_of_numpys_sum(x, y):
    result = saxpy(2, x, y)
    assert result == 2 * x + y
    assert result.dtype == np.asarray(x + y).dtype


@pytest.mark.parametrize("y", [np.float16(1), np.float32(1), np.complex64(1)])
def test_numbers_alone_become_infinities_as_beside_arrays(y):
    for number in (2**200, 1e300):
        assert np.isinf(saxpy(2, number, y))
    exact = 16777217 * 2**30 + 1
    assert saxpy(1, exact, np.float32(0)) == saxpy(1, exact, np.zeros(1, np.float32))[0]


def test_a_bfloat16_number_converts_as_others():
    three = oracle.bfloat16(3)
    assert saxpy(2, three, np.float64(4)).dtype == np.float64
    assert saxpy(three, np.ones(2, "f4"), three).tolist() == [6, 6]
    assert saxpy(2, three, 4).dtype == oracle.bfloat16


def test_errors_of_numbers_alone():
    for x, y, name in [(2**63, 1, "x"), (1, 2**70, "y"), (np.int32(1), 2**40, "y")]:
        with pytest.raises(OverflowError, match=rf"^saxpy: {name} must fit int"):
            saxpy(2, x, y)
    with pytest.raises(OverflowError, match=r"^saxpy: x must fit float64"):
        saxpy(2, 10**400, 1.0)
    for x, y in [(np.timedelta64(3, "s"), 1.0), (np.int8(1), np.int8(2)), (np.float64(1), "a")]:
        with pytest.raises(TypeError, match=r"^saxpy: [xy] "):
            saxpy(2, x, y)


def test_everything_with_the_buffer_protocol():
    numbers = array.array("f", [1, 2, 3])
    assert saxpy(2, numbers, memoryview(numbers)).tolist() == [3, 6, 9]
    assert saxpy(2, [1.0, 2.0], [3.0, 4.0]).tolist() == [5, 8]


# ---- the scalar ---------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [3, 3.0, np.float32(3), np.float64(3), np.int8(3), np.array(3), True])
def test_scalars_that_convert_to_a_float(a):
    result = saxpy(a, np.ones(2, np.float32), np.ones(2, np.float32))
    assert result.dtype == np.float32
    assert result.tolist() == [float(a) + 1] * 2


def test_scalar_is_rounded_to_the_dtype():
    x = np.ones(1, np.float32)
    assert saxpy(0.1, x, 0 * x)[0] == np.float32(0.1)
    half = np.ones(1, np.float16)
    assert saxpy(1e6, half, 0 * half)[0] == INF
    assert saxpy(2**70, np.ones(1), np.zeros(1))[0] == 2.0**70


@pytest.mark.parametrize(
    ("a", "dtype"),
    [
        (1.0, np.int32),
        (1j, np.float64),
        (np.float32(1), np.int64),
        (np.complex64(1), np.float32),
        ("1", np.float64),
        (None, np.float64),
        (np.datetime64("2026-01-01"), np.float64),
    ],
)
def test_scalars_that_would_change_kind(a, dtype):
    with pytest.raises(TypeError, match="saxpy: a must "):
        saxpy(a, np.ones(2, dtype), np.ones(2, dtype))


@pytest.mark.parametrize(
    ("a", "dtype"),
    [
        (2**31, np.int32),
        (-(2**31) - 1, np.int32),
        (2**63, np.int64),
        (2**5000, np.float64),
        pytest.param(10**5000, np.int64, id="more digits than Python writes"),
    ],
)
def test_integers_that_do_not_fit(a, dtype):
    with pytest.raises(OverflowError, match="saxpy: a must fit"):
        saxpy(a, np.ones(2, dtype), np.ones(2, dtype))


def test_array_factors_are_for_floats():
    with pytest.raises(TypeError, match="saxpy: a must have one of the dtypes float16"):
        saxpy(np.ones(2, int), np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match="saxpy: x must have one of the dtypes float16"):
        saxpy(np.ones(2), np.ones(2, int), np.ones(2, int))


# ---- out ----------------------------------------------------------------------------------------


def test_out_is_filled_and_returned(place):
    x, y, out = (place.put(np.full(5, number)) for number in (2.0, 3.0, 0.0))
    assert gpukern.saxpy(10.0, x, y, out=out, **place.options) is out
    assert place.take(out).tolist() == [23.0] * 5


def test_out_may_be_an_input(place):
    x, y = place.put(np.full(5, 2.0)), place.put(np.full(5, 3.0))
    gpukern.saxpy(10.0, x, y, out=y, **place.options)
    assert place.take(y).tolist() == [23.0] * 5
    gpukern.saxpy(10.0, x, y, out=x, **place.options)
    assert place.take(x).tolist() == [43.0] * 5


def test_out_may_overlap_in_part(kind, rng):
    for shift in (-7, -1, 1, 7):
        data = random_array(rng, kind, 1000).copy()
        a, y = random_array(rng, kind, ())[()], random_array(rng, kind, 900)
        x, out = data[50:950], data[50 + shift : 950 + shift]
        expected = oracle.saxpy(kind, a, x, y)
        saxpy(a, x, y, out=out)
        assert out.tobytes() == expected.tobytes()


def test_out_may_be_strided(rng):
    x, y, out = rng.random((3, 4)), rng.random((3, 4)), np.zeros((8, 6))
    saxpy(2.0, x, y, out=out[1:7:2, ::-1][:, 1:5])
    assert np.array_equal(out[1:7:2, ::-1][:, 1:5], saxpy(2.0, x, y))
    assert np.count_nonzero(out) == 12


# ---- errors -------------------------------------------------------------------------------------


def test_shapes_and_dtypes_must_agree(place):
    x = np.ones((4, 3))
    with pytest.raises(ValueError, match=r"y must broadcast with the shape of x, \(4, 3\), got"):
        place.saxpy(2.0, x, np.ones(4))
    with pytest.raises(TypeError, match="y must have the dtype of x, float64, got int32"):
        place.saxpy(2.0, x, np.ones((4, 3), np.int32))
    with pytest.raises(ValueError, match=r"out must have a shape .* as \(4, 3\), got \(12,\)"):
        place.saxpy(2.0, x, x, out=place.put(np.ones(12)))
    with pytest.raises(TypeError, match="out must have the dtype of x, float64, got int64"):
        place.saxpy(2.0, x, x, out=place.put(np.ones((4, 3), np.int64)))


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "u8", np.longdouble, "S3", "M8[s]", "O", "V8"])
def test_other_dtypes_are_refused(dtype):
    x = np.zeros(2, dtype)
    with pytest.raises(TypeError, match="saxpy: x must "):
        saxpy(1, x, x)


def test_masked_arrays_are_refused():
    x = np.ma.array([1.0, 2.0], mask=[0, 1])
    with pytest.raises(TypeError, match="saxpy: x must not be a masked array"):
        saxpy(1, x, x)
    with pytest.raises(TypeError, match="saxpy: out must not be a masked array"):
        saxpy(1, x.data, x.data, out=x)


def test_out_must_be_writable():
    x = np.ones(3)
    readonly = np.ones(3)
    readonly.flags.writeable = False
    with pytest.raises(ValueError, match="saxpy: out is read-only"):
        saxpy(1, x, x, out=readonly)
    with pytest.raises(ValueError, match="out"):
        saxpy(1, x, x, out=np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)))
    with pytest.raises(TypeError, match="saxpy: out must be an array, got list"):
        saxpy(1, x, x, out=[0.0] * 3)


@pytest.mark.parametrize(
    "number", [2**60 + 2**36 + 1, -(2**60) - 2**36 - 1, 2**24 + 1, 3 * 2**70 + 1]
)
def test_an_int_is_rounded_once(number):
    got = gpukern.saxpy(number, np.ones(1, np.float32), np.zeros(1, np.float32))
    assert got.view(np.uint32) == oracle.FLOAT32.encode(number, 0)


class Metres(np.ndarray):
    """Overrides arithmetic, as the quantities of astropy."""

    def __array_ufunc__(self, *args, **kwargs):
        raise AssertionError("NumPy is not called")


def test_subclasses_with_their_own_arithmetic_are_refused():
    x = np.ones(3)
    metres = x.view(Metres)
    for call in (
        lambda: saxpy(1, metres, x),
        lambda: saxpy(metres[0:1].reshape(()), x, x),
        lambda: gpukern.gather(x, [9], mode="fill", fill_value=metres[:1]),
        lambda: gpukern.scatter(np.ones(3), [0], metres[0:1].reshape(()), reduce="add"),
        lambda: saxpy(1, x, x, out=metres),
        lambda: gpukern.elementwise("a + 1")(metres),
    ):
        with pytest.raises(TypeError, match=r"must not be a Metres, .*view\(numpy.ndarray\)"):
            call()
    assert type(gpukern.gather(metres, [0, 1])) is Metres


def test_masked_a_is_refused():
    with pytest.raises(TypeError, match="masked"):
        gpukern.saxpy(np.ma.masked, np.ones(2), np.ones(2))


def test_every_float16_scalar_has_its_value():
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    got = np.concatenate([saxpy(a, one, zero) for a in every])
    with np.errstate(all="ignore"):
        expected = every.astype(np.float32) + zero
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("code", "?bhilqBHIfdFD")
def test_numpy_scalars_and_0d_arrays_have_their_values(code):
    x = np.ones(3, np.complex128)
    for value in (0, 1, 100):
        a = np.array(value).astype(code)
        for scalar in (a, a[()], a.astype(a.dtype.newbyteorder())):
            assert saxpy(scalar, x, x).tolist() == [complex(a) + 1] * 3


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}])
def test_arrays_are_not_resized_during_a_call(options):
    x, out = np.ones(10**6), np.zeros(10**6)

    def resize(done, total):
        with pytest.raises(ValueError, match="resize"):
            out.resize(1, refcheck=False)

    saxpy(1.0, x, x, out=out, progress=resize, **options)
    assert out.sum() == 2e6
