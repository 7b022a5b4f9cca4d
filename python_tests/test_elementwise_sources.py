# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where Python functions have their source, and what their names stand for."""

import functools
import re

import numpy as np
import pytest
from formulas import same

import gpukern
from gpukern import elementwise


def wrapped(function):
    @functools.wraps(function)
    def wrapper(x):
        return 2 * x

    return wrapper


def wrapped_call(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return 2 * function(*arguments)

    return wrapper


def test_python_form_of_a_wrapper():
    """It is what is called, not the function that it wraps."""

    def plus_one(x):
        return x + 1

    made = elementwise(wrapped(plus_one))
    same(made(np.arange(3)), np.arange(3) * 2)
    assert made.__name__ == "plus_one"
    same(elementwise(wrapped(lambda x: x + 1))(np.arange(3)), np.arange(3) * 2)
    line = wrapped_call.__code__.co_firstlineno + 2
    words = rf"{re.escape(__file__)}:{line}: parameters must be plain names"
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        elementwise(wrapped_call(plus_one))


def test_a_function_without_source():
    scope = {}
    exec("def f(a): return a", scope)
    with pytest.raises(ValueError, match="give the function as a string"):
        elementwise(scope["f"])
