# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where Python functions have their source, and what their names stand for."""

import functools
import linecache
import re
import warnings

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


def test_python_form_of_lambdas_on_one_line():
    x, factor = np.arange(5.0), 3
    f, g = elementwise(lambda x: np.sin(x)), elementwise(lambda x: np.cos(x))
    same(f(x), np.sin(x))
    same(g(x), np.cos(x))
    f, g, h = map(elementwise, (lambda x: x - factor, lambda x: x + factor, lambda x: x))
    same(f(x), x - 3)
    same(g(x), x + 3)
    same(h(x), x)
    f, g = elementwise(lambda x: x + 1), elementwise(lambda x: x + 1.0)
    same(f(np.arange(3)), np.arange(1, 4))
    same(g(np.arange(3)), np.arange(1.0, 4.0))
    f, g = elementwise(lambda x: x * factor), elementwise(lambda x: x * factor)
    same(f(x), g(x))


def test_the_source_is_compiled_without_warnings(monkeypatch):
    """They are Python's, which has given them."""
    line = "f, g = elementwise(lambda x: x + ~True), elementwise(lambda x: x + 1)\n"
    monkeypatch.setitem(linecache.cache, "<lines>", (1, None, [line], "<lines>"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(line, "<lines>", "exec")
    scope = {"elementwise": elementwise}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, scope)
    assert scope["f"](1) == -1


def test_a_closure_without_a_value():
    def scaled(x):
        return x * factor

    line = scaled.__code__.co_firstlineno
    words = rf"{re.escape(__file__)}:{line}: one of factor has no value yet"
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        elementwise(scaled)
    factor = 3
    same(elementwise(scaled)(np.arange(3)), np.arange(3) * factor)


def test_a_function_without_source():
    scope = {}
    exec("def f(a): return a", scope)
    with pytest.raises(ValueError, match="give the function as a string"):
        elementwise(scope["f"])
