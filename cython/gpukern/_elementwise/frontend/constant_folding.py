# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The numbers in an element-wise function, and what is computed from them alone, once.

As if the function's text stood in a Python program: operators, and functions of Python's own, give
Python numbers for Python numbers; NumPy's functions give NumPy scalars.
"""

import numpy as np

from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError

# Bytes of the dtypes to compute with.
SIZES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


def require_known(name):
    """Refuse dtypes that the device does not compute with."""
    if name not in SIZES:
        raise GpukernTypeError(f"elementwise: dtype {name} is not one to compute with")


def folded(call, numbers):
    """What a Call gives for numbers only."""
    try:
        if call.of_numbers is not None:
            return by_python(call, numbers)
        return by_numpy(call.function, numbers)
    except ArithmeticError as error:
        raise GpukernOverflowError(f"elementwise: {error}") from None
    except GpukernTypeError:
        raise
    except (TypeError, ValueError) as error:
        kind = GpukernTypeError if isinstance(error, TypeError) else GpukernValueError
        raise kind(f"elementwise: {error}") from None


def by_python(call, numbers):
    """As Python computes, and NumPy's value where Python has an error, as for 1 / 0."""
    try:
        with np.errstate(all="ignore"):
            return call.of_numbers(*numbers)
    except (ArithmeticError, ValueError) as error:
        if any(isinstance(number, np.generic) for number in numbers):
            raise
        if isinstance(error, OverflowError):
            numbers = [complex(n) if isinstance(n, complex) else float(n) for n in numbers]
        return by_numpy(call.function, numbers).item()


def by_numpy(function, numbers):
    """As NumPy computes."""
    with np.errstate(all="ignore"):
        result = np.asarray(getattr(np, function)(*numbers))
    require_known(result.dtype.name)
    return result[()]


def converted(number, dtype):
    """A number as a NumPy scalar."""
    if dtype == "bfloat16":
        raise GpukernTypeError("elementwise: a number cannot be converted to bfloat16")
    if np.dtype(dtype).kind not in "cb":
        number = number.real  # NumPy warns where it takes that itself
    try:
        with np.errstate(all="ignore"):
            return np.asarray(number).astype(dtype)[()]
    except OverflowError:
        raise GpukernOverflowError(f"elementwise: {number} is out of bounds for {dtype}") from None
