# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where Python functions have their source, and what their names stand for."""

import __future__

import ast
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
    words = rf"{re.escape(__file__)}:{line}: parameters must be plain names, .*: def wrapper"
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


def compiled(monkeypatch, source, flags=0):
    """Code whose source is known, as of a cell of a notebook."""
    name = f"<cell {len(source)}>"
    lines = source.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (len(source), None, lines, name))
    return compile(source, name, "exec", flags, dont_inherit=True)


def test_lambdas_inside_others(monkeypatch):
    source = (
        "def i(f, *_): made.append(f); return f\n"
        "i(lambda x: x+1, i(lambda x: x+2, i(lambda: (lambda x: x+3))), "
        "lambda: (lambda x: x+4), i(i(i(lambda x: x+5))))\n"
    )
    scope = {"made": []}
    exec(compiled(monkeypatch, source), scope)
    found = [elementwise(f)(0) for f in scope["made"] if f.__code__.co_argcount]
    assert found == [f(0) for f in scope["made"] if f.__code__.co_argcount]


@pytest.mark.parametrize(
    ("before", "flags"),
    [
        ("", __future__.annotations.compiler_flag),
        ("async def wait(): pass\nawait wait()\n", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT),
    ],
)
def test_lambdas_in_a_cell_of_a_notebook(monkeypatch, before, flags):
    source = before + "f, g = (lambda x: x + 1), (lambda x: x + 2)\n"
    scope = {}
    run = eval(compiled(monkeypatch, source, flags), scope)
    if run is not None:
        with pytest.raises(StopIteration):
            run.send(None)
    assert (elementwise(scope["f"])(1), elementwise(scope["g"])(1)) == (2, 3)


def test_the_source_is_compiled_without_warnings(monkeypatch):
    """They are Python's, which has given them."""
    line = "f, g = elementwise(lambda x: x + ~True), elementwise(lambda x: x + 1)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compiled(monkeypatch, line)
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
