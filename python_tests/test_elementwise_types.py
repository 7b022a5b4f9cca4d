# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The types of element-wise functions are NumPy's, on the host and in the code for a GPU."""

import itertools
import math
import warnings

import ml_dtypes
import numpy as np
import pytest

import gpukern
from gpukern import elementwise

NAMES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
NUMBERS = {int: 2, float: 2.5, complex: 2.5j}
BINARY = {
    "a + b": np.add,
    "a * b": np.multiply,
    "a / b": np.divide,
    "a % b": np.remainder,
    "a < b": np.less,
    "a == b": np.equal,
    "a & b": np.bitwise_and,
    "a << b": np.left_shift,
    "pow(a, b)": np.power,
    "max(a, b)": np.maximum,
    "atan2(a, b)": np.arctan2,
    "a && b": np.logical_and,
    "true ? a : b": lambda a, b: np.where(True, a, b),
}
UNARY = {
    "-a": np.negative,
    "~a": np.invert,
    "!a": np.logical_not,
    "abs(a)": np.abs,
    "sqrt(a)": np.sqrt,
    "floor(a)": np.floor,
    "sin(a)": np.sin,
    "isnan(a)": np.isnan,
    "pow(a, 2)": lambda a: a**2,
}
# NumPy compares and finds the maximum of complex numbers in some order, and computes with them what
# the functions here do not.
NOT_OF_COMPLEX = {"a < b", "pow(a, b)", "max(a, b)", "a && b", "!a"}


def outcome(call):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(call()).dtype.name
        except (TypeError, ValueError):  # the second one: a negative power of integers
            return None


@pytest.mark.parametrize("expression", BINARY)
def test_two_dtypes(expression):
    f, ufunc = elementwise(expression, inputs=("a", "b")), BINARY[expression]
    for first, second in itertools.product(NAMES, NAMES):
        if "complex" in first + second and expression in NOT_OF_COMPLEX:
            continue
        a, b = np.ones(3, first), np.ones(3, second)
        expected = outcome(lambda a=a, b=b: ufunc(a, b))
        assert outcome(lambda: f(a, b)) == expected, (first, second)  # noqa: B023
        assert outcome_of_code(f, first, second) == expected, (first, second)


def outcome_of_code(f, *types):
    try:
        return f.result_dtype(*types)
    except TypeError:
        return None


@pytest.mark.parametrize("expression", BINARY)
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_dtype_and_a_number(expression, kind):
    f, ufunc = elementwise(expression, inputs=("a", "b")), BINARY[expression]
    for name in NAMES:
        if (kind is complex or "complex" in name) and expression in NOT_OF_COMPLEX:
            continue
        a, b = np.ones(3, name), NUMBERS[kind]
        expected = outcome(lambda a=a, b=b: ufunc(a, b))
        assert outcome(lambda: f(a, b)) == expected, name  # noqa: B023
        assert outcome_of_code(f, name, kind) == expected, name
        expected = outcome(lambda a=a, b=b: ufunc(b, a))
        assert outcome_of_code(f, kind, name) == expected, name


@pytest.mark.parametrize("expression", UNARY)
def test_one_dtype(expression):
    f, ufunc = elementwise(expression), UNARY[expression]
    for name in NAMES:
        if "complex" in name and expression in NOT_OF_COMPLEX:
            continue
        expected = outcome(lambda name=name: ufunc(np.ones(3, name)))
        assert outcome(lambda: f(np.ones(3, name))) == expected, name  # noqa: B023
        assert outcome_of_code(f, name) == expected, name


def test_numpy_scalars_are_not_weak():
    f = elementwise("a * b")
    a = np.ones(3, "f4")
    assert f(a, np.float64(2)).dtype == np.float64
    assert f(a, 2.0).dtype == np.float32
    assert f(a, np.array(2.0)).dtype == np.float64
    assert f(np.ones(3, "i1"), True).dtype == np.int8
    assert elementwise("a * 2.0f")(np.ones(3, "i1")).dtype == np.float32


def test_what_operators_give_for_numbers_stays_weak():
    f = elementwise("x * (2 * a + 1)", inputs=("x", "a"))
    assert f(np.ones(3, "f4"), 1.5).dtype == np.float32
    assert f(np.ones(3, "f2"), 1).tolist() == [3, 3, 3]
    assert isinstance(f(2, 4), np.int64)


@pytest.mark.parametrize("number", [4, 4.0])
def test_what_functions_give_for_numbers_is_as_in_python(number):
    x = np.ones(3, "f4")

    def by_numpy(x, a):
        return x * np.sqrt(2 * a + 1)

    def by_python(x, a):
        return x * math.sqrt(2 * a + 1)

    for function in (by_numpy, by_python):
        result = elementwise(function)(x, number)
        assert result.dtype == function(x, number).dtype
        assert result.tolist() == [3, 3, 3]
    assert elementwise("x * sqrt(2 * a + 1)")(x, number).dtype == np.float64


# Functions of an array, to compare with what Python and NumPy do.
LITERALS = [
    lambda x: x * -abs(1),
    lambda x: x + min(1, 2.5),
    lambda x: x + max(2, True),
    lambda x: x * math.floor(2.5),
    lambda x: x + pow(2, 3),
    lambda x: x + (True + True),
    lambda x: x * 2**-1,
    lambda x: x + ~1,
    lambda x: x + (1 << 3) % 5,
    lambda x: x + 7 // 2.5,
    lambda x: x + (2**100 > 3),
    lambda x: x + 2.0**70,
    lambda x: x + (1 + 2j).imag,
    lambda x: x * (3 == 3.0),
    lambda x: x * np.abs(1),
    lambda x: x * np.float32(2),
    lambda x: x + np.int8(3) * 2,
    lambda x: x + np.minimum(1, 2),
    lambda x: x + np.sqrt(4),
    lambda x: x + np.negative(1),
]


@pytest.mark.parametrize("function", LITERALS)
@pytest.mark.parametrize("dtype", ["u2", "i1", "f4"])
def test_literals(function, dtype):
    x = np.arange(5).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(x)
        except OverflowError:
            with pytest.raises(gpukern.errors.GpukernOverflowError):
                elementwise(function)(x)
            return
    result = elementwise(function)(x)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_literals_without_a_value():
    x = np.ones(2)
    for expression, value in [("1.0 / 0", np.inf), ("1 % 0", 0), ("pow(10.0, 400)", np.inf)]:
        assert elementwise(f"x * ({expression})")(x).tolist() == [value, value]
    assert elementwise(lambda x: x * 10.0**400)(x).tolist() == [np.inf, np.inf]
    assert np.isnan(elementwise(lambda x: x * math.sqrt(-1))(x)).all()
    assert elementwise(lambda x: x * 10**10**10)(x).tolist() == [np.inf, np.inf]
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        elementwise("x * pow(2, -1)")(x)
    with pytest.raises(TypeError, match="unsupported operand"):
        elementwise("x * (1.5 & 2)")(x)
    with pytest.raises(TypeError, match="dtype object is not one to compute with"):
        elementwise("x * abs(0x10000000000000000)")(x)


def from_large_int(a):
    return a + np.int64(2**64)


def test_numbers_that_do_not_fit():
    f = elementwise("a + b")
    a = np.ones(3, "u1")
    with pytest.raises(gpukern.errors.GpukernOverflowError, match="300 out of bounds for uint8"):
        f(a, 300)
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        elementwise("a + 300")(a)
    with pytest.raises(OverflowError):
        f(a, 2**70)
    for f in (elementwise("(uint64_t)18446744073709551616 + a"), elementwise(from_large_int)):
        with pytest.raises(
            gpukern.errors.GpukernOverflowError,
            match=r"^elementwise: 18446744073709551616 is out of bounds for u?int64$",
        ):
            f(a)
    assert elementwise("a * (float)18446744073709551616")(a)[0] == 2.0**64
    assert elementwise("a < 300")(a).all()
    assert elementwise("a > -1")(a).all()
    assert elementwise("a < 18446744073709551615")(np.array([2**64 - 2], "u8")).all()


def test_negative_powers_of_integers():
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        elementwise("pow(a, -1)")(np.arange(3))


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("bfloat16", "bfloat16"), "bfloat16"),
        (("bfloat16", float), "bfloat16"),
        (("int8", "bfloat16"), "bfloat16"),
        (("bfloat16", "float32"), "float32"),
        (("float64", "bfloat16"), "float64"),
        (("bfloat16", "complex64"), "complex64"),
    ],
)
def test_bfloat16(types, expected):
    assert elementwise("a * b + 1").result_dtype(*types) == expected
    assert elementwise("a == b").result_dtype(*types) == "bool"


@pytest.mark.parametrize("other", ["int16", "uint64", "float16"])
def test_bfloat16_does_not_go_with_all(other):
    with pytest.raises(TypeError, match=f"bfloat16 does not go with {other}"):
        elementwise("a * b").result_dtype("bfloat16", other)


def test_bfloat16_on_the_host(rng):
    a, b = rng.normal(size=(2, 100)).astype(ml_dtypes.bfloat16)
    result = elementwise("(a * 3.5 + b) / 2")(a, b)
    c = ml_dtypes.bfloat16
    expected = (a * c(3.5) + b) / c(2)
    assert result.dtype == expected.dtype
    assert result.tobytes() == expected.tobytes()
    assert elementwise("a < b ? a : 1")(a, b).dtype == a.dtype


@pytest.mark.parametrize("number", [2**62, 2**63, 2**64 - 1, -(2**63) - 1, 2**70])
@pytest.mark.parametrize("dtype", ["f4", ml_dtypes.bfloat16])
def test_large_ints_and_narrow_floats(number, dtype):
    result = elementwise(f"x * {number}")(np.ones(2, dtype))
    assert result.dtype == dtype
    assert result.tolist() == [np.float32(number).astype(dtype)] * 2


def test_the_result_is_converted():
    f = elementwise("a / 2", dtype="int16")
    assert f(np.arange(5)).tolist() == [0, 0, 1, 1, 2]
    assert f(np.arange(5)).dtype == np.int16
    for dtype in ("bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)):
        assert elementwise("a", dtype=dtype).result_dtype("float32") == "bfloat16"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [2, 100_000])
def test_complex_numbers_lose_their_imaginary_part_without_a_warning(size):
    z = np.full(size, 2.5 + 1j, "c8")
    for expression, dtype in (("(float)z", "f4"), ("int(z)", "i4"), ("(half)z", "f2")):
        result = elementwise(expression)(z)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, z.real.astype(dtype))
    assert elementwise("(bool)z")(np.array([0, 1j])).tolist() == [False, True]
    np.testing.assert_array_equal(elementwise("z * 2", dtype="float32")(z), z.real * 2)
    np.testing.assert_array_equal(elementwise("z", dtype="i8")(z), 2)
    assert elementwise("z * 2", dtype="float32")(z, out=np.empty(size))[0] == 5
    constant = elementwise(lambda x: x + np.float32(2.5 + 1j) + np.bool_(1j))
    np.testing.assert_array_equal(constant(np.zeros(size, "f4")), 3.5)
    number = elementwise(lambda x: 2.5 + 1j, dtype="int32")
    assert number(z).tolist() == [2] * size
    assert number.source("c8")  # nor is there a warning for a GPU


def test_other_dtypes_are_refused():
    f = elementwise("a + 1")
    for array in (np.array(["x"]), np.zeros(2, "M8[s]"), np.zeros(2, "V3"), np.zeros(2, "g")):
        with pytest.raises(TypeError, match="a must be of a dtype that elementwise computes with"):
            f(array)
    with pytest.raises(TypeError, match="bitwise_and is not known for float32, int32"):
        elementwise("a & b")(np.ones(2, "f4"), np.ones(2, "i4"))
    with pytest.raises(TypeError, match="must not be a masked array"):
        f(np.ma.masked_array([1, 2]))


@pytest.mark.parametrize("size", [2, 200, 20_000])
def test_results_of_subclasses_are_ndarrays(size):
    matrix = np.ones((2, size)).view(np.matrix)
    result = elementwise("a * a")(matrix)
    assert type(result) is np.ndarray
    assert result.shape == matrix.shape
    assert (result == 1).all()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (40,), (40_000,)])
def test_integers_to_negative_powers(rng, dtype, shape):
    base = np.asarray(rng.integers(-3, 4, shape, dtype))
    exponent = np.asarray(rng.integers(-4, 5, shape, dtype))
    # The power to a negative exponent is 1 or -1, or has the whole part 0; so is that of 0 here.
    signs = np.where(np.abs(base) == 1, np.power(base, np.abs(exponent)), 0)
    wanted = np.where(exponent >= 0, np.power(base, np.abs(exponent)), signs)
    power = elementwise("pow(a, b)")
    result = power(base, exponent)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, wanted)
    out = base.copy()
    power(out, exponent, out=out)
    np.testing.assert_array_equal(out, wanted)


def test_numbers_to_negative_powers():
    countdown = np.arange(40_000)[::-1] - 5
    out = np.full(40_000, 7)
    elementwise("pow(2, a)")(countdown, out=out)
    powers = [2 ** int(n) if 0 <= n < 63 else -(2**63) if n == 63 else 0 for n in countdown]
    np.testing.assert_array_equal(out, powers)
    assert elementwise("pow(a, b)")(-1, -3) == -1
    assert elementwise(lambda a, b: a**b)(np.int8(-1), -2) == 1
    assert elementwise("pow(a, b)")(np.int8([1, 2]), -2).tolist() == [1, 0]
    with pytest.raises(gpukern.errors.GpukernValueError, match="negative integer powers"):
        elementwise("pow(a, -2)")(np.int8([1, 2]))
