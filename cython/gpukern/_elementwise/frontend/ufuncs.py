# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""THE table of what element-wise functions may call, and the names that both forms have for it.

Everything is named as NumPy names it. An operation's types are those of NumPy's ufunc of that name;
`cuda/elementwise/functions.cuh` has a device function of that name. Three are no ufuncs: ``where``,
``real`` and ``imag``.
"""

import builtins
import math
import operator

import numpy as np

words = str.split

# They take few instructions, also for many elements a thread.
ARITHMETIC = words(
    "add subtract multiply divide floor_divide remainder fmod negative positive absolute fabs "
    "square reciprocal sqrt floor ceil trunc rint sign copysign fmax fmin maximum minimum isnan "
    "isinf isfinite signbit logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
    "bitwise_xor invert left_shift right_shift less less_equal greater greater_equal equal "
    "not_equal conjugate degrees radians"
)
TRANSCENDENTAL = words(
    "power cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh "
    "cosh tanh arcsinh arccosh arctanh hypot"
)

UFUNCS = {name: getattr(np, name) for name in ARITHMETIC + TRANSCENDENTAL}
ARITY = {name: ufunc.types[0].index("->") for name, ufunc in UFUNCS.items()} | {
    "where": 3,
    "real": 1,
    "imag": 1,
}
COMPARISONS = frozenset(words("less less_equal greater greater_equal equal not_equal"))
LOGICAL = frozenset(name for name in UFUNCS if name.startswith("logical_"))
# What the device computes with complex numbers; the second ones by complex.cuh.
COMPLEX_TRANSCENDENTAL = frozenset(words("exp log sqrt sin cos tanh"))
COMPLEX = COMPLEX_TRANSCENDENTAL | frozenset(
    words(
        "add subtract multiply divide negative positive absolute square reciprocal conjugate equal "
        "not_equal isnan isinf isfinite where real imag"
    )
)

# C's name, where NumPy has another one.
C_NAMES = {
    **{name: name for name in ARITY if name != "remainder"},  # C's is another function
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "conj": "conjugate",
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
}
C_CONSTANTS = {
    "true": True,
    "false": False,
    "M_PI": math.pi,
    "M_E": math.e,
    "INFINITY": math.inf,
    "NAN": math.nan,
}
# No names of inputs or of functions, but those in the tables that are here.
C_KEYWORDS = frozenset(
    words(
        "NULL alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
        "char16_t char32_t class co_await co_return co_yield compl concept const const_cast "
        "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
        "else enum explicit export extern false float for friend goto if inline int long mutable "
        "namespace new noexcept not not_eq nullptr operator or or_eq private protected ptrdiff_t "
        "public register reinterpret_cast requires return short signed size_t sizeof static "
        "static_assert static_cast struct switch template this thread_local throw true try "
        "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
        "xor_eq"
    )
)
C_TYPES = {
    "bool": "bool",
    "int": "int32",
    "unsigned": "uint32",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def _python_functions():
    found = {ufunc: name for name, ufunc in UFUNCS.items()}
    found |= {getattr(math, name): C_NAMES[name] for name in C_NAMES if hasattr(math, name)}
    found |= {np.where: "where", np.real: "real", np.imag: "imag"}
    found |= {np.abs: "absolute", builtins.abs: "absolute", builtins.pow: "power"}
    return found | {builtins.min: "minimum", builtins.max: "maximum"}


MOST_BITS = 1024  # of an int that a float64 may still hold


def power(base, exponent):
    """``**``, but for ints that would take long."""
    if all(isinstance(each, int) for each in (base, exponent)):
        require_bits(base.bit_length() * exponent if abs(base) > 1 else 0)
    return base**exponent


def left_shift(number, places):
    """``<<``, but for ints that would take long."""
    if all(isinstance(each, int) for each in (number, places)):
        require_bits(number.bit_length() + places)
    return number << places


def require_bits(bits):
    """Refuse an int of too many bits."""
    if bits > MOST_BITS:
        raise OverflowError("the result is too large a Python int")


def invert(number):
    """``~``, of a bool without Python's warning. Functions pickle, lambdas do not."""
    return ~int(number) if isinstance(number, bool) else ~number


def logical_and(first, second):
    """``and``, as a bool."""
    return bool(first and second)


def logical_or(first, second):
    """``or``, as a bool."""
    return bool(first or second)


# What operators do to Python numbers alone. ``real`` and ``imag``, attributes, are alike.
OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": power,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": invert,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": left_shift,
    "right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_not": operator.not_,
    "real": operator.attrgetter("real"),
    "imag": operator.attrgetter("imag"),
}

# By the function itself, so that it does not matter under which name a program imports it.
PYTHON_FUNCTIONS = _python_functions()
PYTHON_TYPES = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}
