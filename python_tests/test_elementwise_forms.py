# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Both forms of element-wise functions follow the semantics of C and of Python."""

import inspect
import math

import numpy as np
import pytest
from formulas import evaluate, same

import gpukern
from gpukern import elementwise
from gpukern.errors import GpukernOverflowError, GpukernTypeError

HALF = 0.5
COUNT = np.int16(3)
TABLE = {"a": 1}

# An expression in C, and the same in NumPy.
EXPRESSIONS = [
    ("(a * 10 + 2) * ((b + 2) * 10 - 5) * 5", "(a * 10 + 2) * ((b + 2) * 10 - 5) * 5"),
    ("a - b - a", "(a - b) - a"),
    ("a / b / a", "(a / b) / a"),
    ("-a + +b", "-a + b"),
    ("a < b ? a : b", "np.where(a < b, a, b)"),
    ("a < 0 ? -1 : a > 0 ? 1 : 0", "np.where(a < 0, -1, np.where(a > 0, 1, 0))"),
    ("a < b && a > 0 || !(b > 0)", "((a < b) & (a > 0)) | ~(b > 0)"),
    ("a == b", "a == b"),
    ("a != b", "a != b"),
    ("a <= b == b >= a", "(a <= b) == (b >= a)"),
    ("!a == b", "np.logical_not(a) == b"),
    ("pow(a, 2) + pow(fabs(b), 0.5)", "a**2 + np.abs(b) ** 0.5"),
    ("pow(fabs(a), b)", "np.abs(a) ** b"),
    ("a % b", "a % b"),
    ("fmod(a, b)", "np.fmod(a, b)"),
    ("sin(a) * cos(b) + tan(a)", "np.sin(a) * np.cos(b) + np.tan(a)"),
    ("atan2(a, b) + hypot(a, b)", "np.arctan2(a, b) + np.hypot(a, b)"),
    ("exp(-a * a / 2.0) / sqrt(2 * M_PI)", "np.exp(-a * a / 2.0) / np.sqrt(2 * np.pi)"),
    ("log1p(abs(a)) + floor(b) + ceil(a) + rint(b)",
     "np.log1p(abs(a)) + np.floor(b) + np.ceil(a) + np.rint(b)"),
    ("max(a, b) - min(a, 0.25)", "np.maximum(a, b) - np.minimum(a, 0.25)"),
    ("where(isnan(a), 0, a)", "np.where(np.isnan(a), 0, a)"),
    ("copysign(b, a)", "np.copysign(b, a)"),
    ("(double)a + b", "a.astype('f8') + b"),
    ("int32_t(a * 10)", "(a * 10).astype('i4')"),
    ("(a)", "a"),
    ("((int)a) * b", "a.astype('i4') * b"),
    ("1e1*a+.5*b-2.f", "1e1 * a + 0.5 * b - np.float32(2)"),
    ("a > 0x10 ? INFINITY : NAN", "np.where(a > 16, np.inf, np.nan)"),
    ("true ? a : b", "np.where(True, a, b)"),
    ("floor_divide(a, b)", "a // b"),
]  # fmt: skip
INTEGERS = [
    ("a & b | 3 ^ a", "(a & b) | (3 ^ a)"),
    ("a << 3 >> 1", "(a << 3) >> 1"),
    ("~a", "~a"),
    ("a & b == b", "a & (b == b)"),
    ("a + b << 1", "(a + b) << 1"),
    ("a / b", "a / b"),
    ("a % b", "a % b"),
    ("floor_divide(a, b)", "a // b"),
    ("pow(a, 3)", "a**3"),
    ("10u * a - 3L", "10 * a - 3"),
    ("abs(a) + sign(b)", "abs(a) + np.sign(b)"),
]


@pytest.mark.parametrize(("expression", "meaning"), EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_c_form_of_floats(rng, expression, meaning, dtype):
    values = {name: rng.normal(0, 3, 70).astype(dtype) for name in "ab"}
    f = elementwise(expression)
    same(f(*(values[name] for name in f.inputs)), evaluate(meaning, **values))


@pytest.mark.parametrize(("expression", "meaning"), INTEGERS)
@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "u8"])
def test_c_form_of_integers(rng, expression, meaning, dtype):
    info = np.iinfo(dtype)
    values = {name: rng.integers(info.min, info.max, 70, dtype) for name in "ab"}
    f = elementwise(expression)
    same(f(*(values[name] for name in f.inputs)), evaluate(meaning, **values))


def test_the_name_of_a_python_function():
    def mean(a, b):
        return (a + b) / 2

    assert elementwise(mean).__name__ == "mean"
    assert elementwise(mean, name="middle").__name__ == "middle"
    with pytest.raises(ValueError, match=r"^middle: shapes"):
        elementwise(mean, name="middle")(np.ones(2), np.ones(3))


def test_inputs_are_the_free_names_in_order():
    assert elementwise("b + sin(a) * b + M_PI").inputs == ("b", "a")
    assert elementwise("b + a", inputs=["a", "b", "c"]).inputs == ("a", "b", "c")


def test_inputs_need_not_be_used():
    same(elementwise("a", inputs=("a", "b"))(np.arange(3), np.zeros((2, 1))),
         np.arange(3) + np.zeros((2, 1), int))  # fmt: skip


@elementwise
def everything(a, b):
    """Local names, comparisons, conditions, functions of three modules."""
    c: float = a * HALF
    d = e = np.sin(c) + math.sqrt(2) * COUNT
    d += abs(b) ** 2
    d -= min(a, b) // 2
    low = 0 < a < 1.5 and not b > 1
    return np.float64(d + e) if low or b == 0 else max(a, b) % 3 - np.pi


def everything_by_numpy(a, b):
    c = a * HALF
    d = e = np.sin(c) + math.sqrt(2) * COUNT
    d = d + abs(b) ** 2
    d = d - np.minimum(a, b) // 2
    low = (a > 0) & (a < 1.5) & ~(b > 1)
    return np.where(low | (b == 0), (d + e).astype("f8"), np.maximum(a, b) % 3 - np.pi)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_python_form(rng, dtype):
    a, b = rng.normal(0, 1.5, (2, 200)).astype(dtype)
    same(everything(a, b), everything_by_numpy(a, b))
    assert everything.__name__ == "everything"
    assert everything.__doc__.startswith("Local names")
    assert everything.inputs == ("a", "b")


def test_python_form_of_a_lambda():
    x = np.arange(5.0)
    same(elementwise(lambda x: x * 2 + 1)(x), x * 2 + 1)
    f, g = elementwise(lambda x: x - 1), elementwise(lambda x: x + 1)
    same(f(x), x - 1)
    same(g(x), x + 1)


def test_python_form_sees_the_closure():
    factor = 7

    @elementwise(dtype="float32")
    def scaled(x):
        return x * factor

    factor = 8  # too late
    same(scaled(np.arange(3)), (np.arange(3) * 7).astype("f4"))


def test_complex_numbers(rng):
    a, b = (rng.normal(size=(2, 50)) + 1j * rng.normal(size=(2, 50))).astype("c8")
    same(elementwise("a * b - conj(a) / b")(a, b), a * b - np.conj(a) / b)
    same(elementwise("abs(a) + real(a) * imag(b)")(a, b), abs(a) + a.real * b.imag)
    same(elementwise(lambda a, b: a.real * (a + b).imag + 2j)(a, b), a.real * (a + b).imag + 2j)
    with pytest.raises(TypeError, match="tan is not known for complex numbers"):
        elementwise("tan(a)")(a)


WRONG_EXPRESSIONS = [
    ("", "column 1 of '': expected a value, got the end"),
    ("a +", r"column 4 .*: expected a value, got the end"),
    ("a b", "column 3 .*: expected an operator, got 'b'"),
    ("a::", "column 2 .*: expected an operator, got ':'"),
    ("a + 1e", "column 6 .*: expected an operator, got 'e'"),
    ("a + 0xg", "column 6 .*: expected an operator, got 'xg'"),
    ("a + .", r"column 5 .*: '\.' is no part of an expression"),
    ("a\0", r"column 2 .*: '\\x00' is no part of an expression"),
    ("(" * 900 + "a" + ")" * 900, r"column \d+ .*: the expression is nested too deeply"),
    ("-" * 2000 + "a", "the expression is nested too deeply"),
    ("a ? 1 : " * 2000 + "2", "the expression is nested too deeply"),
    ("(a", r"expected '\)', got the end"),
    ("a ? b", "expected ':', got the end"),
    ("a = b", "'=' is no part of an expression"),
    ("a; b", "';' is no part of an expression"),
    ("a[0]", r"'\[' is no part of an expression"),
    ("a ** b", r"column 3 .*: C has no operator '\*\*'; use pow\(a, b\)"),
    ("a//b", r"column 2 .*: C has no operator '//'; use floor_divide\(a, b\)"),
    ("sin(a, b)", "sin takes 1 arguments, got 2"),
    ("float(a, b)", "float takes 1 arguments, got 2"),
    ("clock()", "clock must be called with arguments"),
    ("3 + 4", "expected 1 to 32 inputs, got 0"),
    ("a + 010", "expected a decimal or hexadecimal number of .* got '010'"),
    ("a + 1.0u", "column 5 .*: expected a decimal or hexadecimal number of .* got '1.0u'"),
    ("a + 1e5u", "got '1e5u'"),
    ("a + 1.0uf", "got '1.0uf'"),
    ("a + " + "9" * 5000, "expected a decimal or hexadecimal number of at most 1024 bits, got"),
    ("a + 0x" + "f" * 5000, "expected a decimal or hexadecimal number of at most 1024 bits, got"),
    ("a + sin", "sin is a function, which must be called"),
    ("std::pi * a", "std::pi is not one of the inputs"),
    ("static_cast<float>(a)", "static_cast is a word of C"),
    ("a + NULL", "NULL is a word of C"),
    ("new - old", "new is a word of C"),
    ("a + int", "int is a word of C"),
    ("a + uint8_t", "uint8_t is a word of C"),
    ("size_t * a", "size_t is a word of C"),
    (
        "long(a)",
        r"long is a word of C.*types of conversions, .*, are bool, int, ",
    ),
    ("sizeof(a)", "sizeof is a word of C"),
]


@pytest.mark.parametrize(("expression", "words"), WRONG_EXPRESSIONS)
def test_wrong_expressions(expression, words):
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        elementwise(expression)


def test_words_of_c_are_no_inputs():
    with pytest.raises(gpukern.errors.GpukernValueError, match="class is a word of C"):
        elementwise("a + 1", inputs=("a", "class"))


def test_a_literal_that_float32_does_not_hold():
    assert elementwise("a * 1e39f")(np.float32(1)) == np.inf
    assert elementwise("a * 1e-50f")(np.float32(1)) == 0


def test_wrong_arguments():
    with pytest.raises(ValueError, match="x is not one of the inputs"):
        elementwise("a + x", inputs=("a",))
    with pytest.raises(ValueError, match="inputs must be different names"):
        elementwise("a + x", inputs=("a", "a"))
    with pytest.raises(TypeError, match="expected a str or a Python function, got int"):
        elementwise(3)
    with pytest.raises(GpukernTypeError, match="inputs must be a sequence of str, got 3"):
        elementwise("a + x", inputs=3)
    with pytest.raises(GpukernTypeError, match="options must be a sequence of str, got 3"):
        elementwise("a", options=3)
    with pytest.raises(GpukernOverflowError, match=r"f: b must be in \[-2\*\*63, .* got 1\d+$"):
        elementwise("a * b", name="f")(np.ones(3), 2**70)
    with pytest.raises(TypeError, match="inputs are given with an expression only"):
        elementwise(lambda a: a, inputs=("a",))
    with pytest.raises(TypeError, match="options must be a sequence of str"):
        elementwise("a", options="--fmad=true")
    with pytest.raises(TypeError, match="options must be a sequence of str"):
        elementwise("a", options=iter([1]))
    with pytest.raises(TypeError, match="dtype object is not one to compute with"):
        elementwise("a", dtype=object)
    with pytest.raises(TypeError, match="preamble must be a str"):
        elementwise("a", preamble=3)
    with pytest.raises(GpukernTypeError, match=r"elementwise: dtype: .*array"):
        elementwise("a", dtype=np.ones(2))
    with pytest.raises(GpukernTypeError, match=r"elementwise: dtype: .*array"):
        elementwise("a").result_dtype(np.ones(3))
    many = " + ".join(f"a{i}" for i in range(33))
    with pytest.raises(ValueError, match="expected 1 to 32 inputs, got 33"):
        elementwise(many)


def loop(a):
    for _ in range(3):
        a = a + 1
    return a


def branch(a):
    if a > 0:
        return a
    return -a


def subscript(a):
    return a[0]


def unknown(a):
    return missing(a)  # noqa: F821


def not_a_number(a):
    return a + TABLE


def not_translated(a):
    return np.sort(a)


def keyword(a):
    return np.sum(a, axis=0)


def text(a):
    return a + "1"


def membership(a):
    return a in (1, 2)


def matrix(a):
    return a @ a


def nothing(a):
    a = a + 1


def bare(a):
    return


def unpacking(a):
    b, c = a, a
    return b + c


def default(a, b=1):
    return a + b


def stars(*a):
    return a


def own_method(a):
    return a.sum()


def conversion(a):
    return np.float32(a, a)


def long_double(a):
    return np.longdouble(a)


def long_complex(a):
    return a + np.clongdouble(a)


def duration(a):
    return np.timedelta64(a)


def any_float(a):
    return np.floating(a)


def any_number(a):
    return np.number(a) + np.integer(a)


def comprehension(a):
    return [x for x in a]  # noqa: C416


def nearest_remainder(a):
    return math.remainder(a, 3.0)


def behind(a):  # noqa: RET503
    return a
    a = 1


WRONG_FUNCTIONS = [
    (loop, 1, "expected assignments and a return, got a statement For"),
    (branch, 1, "expected assignments and a return, got a statement If"),
    (subscript, 1, r"an expression Subscript cannot be translated: a\[0\]"),
    (unknown, 1, "the name missing is not known when the function is decorated"),
    (not_a_number, 1, "expected a number, got dict: TABLE"),
    (not_translated, 1, r"the function is not one of those .*: np.sort\(a\)"),
    (keyword, 1, "a call must have plain arguments"),
    (text, 1, "expected a number, got str"),
    (membership, 1, "the operator In is not known"),
    (matrix, 1, "the operator MatMult is not known"),
    (nothing, 0, "the function must end with a return"),
    (bare, 1, "the function must return a value"),
    (unpacking, 1, "expected an assignment to a plain name"),
    (default, 0, "parameters must be plain names"),
    (stars, 0, "parameters must be plain names"),
    (own_method, 1, "expected the name of a function"),
    (conversion, 1, "expected 1 arguments, got 2"),
    (nearest_remainder, 1, r"the function is not one of those .*: math.remainder\(a, 3.0\)"),
    (long_double, 1, r"the function is not one of those .*: np.longdouble\(a\)"),
    (long_complex, 1, r"the function is not one of those .*: np.clongdouble\(a\)"),
    (duration, 1, r"the function is not one of those .*: np.timedelta64\(a\)"),
    (any_float, 1, r"the function is not one of those .*: np.floating\(a\)"),
    (any_number, 1, r"the function is not one of those .*: np.number\(a\)"),
    (comprehension, 1, "an expression ListComp cannot be translated"),
    (behind, 2, "there is code behind the return"),
]


@pytest.mark.parametrize(("function", "line", "words"), WRONG_FUNCTIONS)
def test_wrong_functions(function, line, words):
    with pytest.raises(gpukern.errors.GpukernValueError, match=words) as caught:
        elementwise(function)
    number = function.__code__.co_firstlineno + line
    assert f"{__file__}:{number}: " in str(caught.value)


def test_types_of_numpy_convert():
    made = elementwise(lambda x: np.longlong(x) + np.intc(x) + np.bool_(x) + np.half(x))
    same(made(np.arange(3)), [0.0, 4.0, 7.0])


def test_signatures_name_the_options_of_a_call():
    @elementwise
    def blend(x, limit):
        return x * limit

    options = "*, out=None, device=None"
    assert str(inspect.signature(blend)).startswith(f"(x, limit, /, {options}")
    assert str(inspect.signature(elementwise("b - a"))).startswith(f"(b, a, /, {options}")


@pytest.mark.skipif(gpukern.device_count() > 0, reason="a GPU compiles CUDA C++")
def test_a_misspelt_function_is_suggested():
    with pytest.raises(gpukern.errors.GpukernDeviceError, match=r"did you mean sin\?$"):
        elementwise("sinn(x)")(np.ones(3))
    with pytest.raises(gpukern.errors.GpukernDeviceError, match=r"computed on the CPU$"):
        elementwise("my_function(x)")(np.ones(3))
