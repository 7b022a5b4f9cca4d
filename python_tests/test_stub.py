# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The stub of the package has the names and the parameters of the functions and classes."""

import ast
import inspect
from pathlib import Path

import pytest

import gpukern

STUB = Path(__file__).resolve().parent.parent / "cython" / "gpukern" / "__init__.pyi"
BODY = ast.parse(STUB.read_text(encoding="utf-8")).body
CLASSES = [node for node in BODY if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
FOR_TESTS = {"function"}  # of Elementwise
# elementwise() is overloaded: no single declaration has its parameters.
FUNCTIONS = [node for node in BODY if isinstance(node, ast.FunctionDef) and not node.decorator_list]


def declared(function):
    """The parameters' names, in order, and the names of those with a default value."""
    arguments = function.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    optional = by_position[len(by_position) - len(arguments.defaults) :]
    optional += [
        a for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
    ]
    names = [*by_position, *filter(None, [arguments.vararg]), *arguments.kwonlyargs]
    names += filter(None, [arguments.kwarg])
    return [a.arg for a in names], {a.arg for a in optional}


def defined(function):
    """The same of a function of the package."""
    parameters = inspect.signature(function).parameters
    empty = inspect.Parameter.empty
    return list(parameters), {name for name, p in parameters.items() if p.default is not empty}


def test_the_stub_declares_every_name():
    names = {node.name for node in BODY if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    names |= {
        alias.name for node in BODY if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    names |= {node.target.id for node in BODY if isinstance(node, ast.AnnAssign)}
    assert set(gpukern.__all__) <= names


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda node: node.name)
def test_parameters_of_a_function(function):
    assert declared(function) == defined(getattr(gpukern, function.name))


@pytest.mark.parametrize("declaration", CLASSES, ids=lambda node: node.name)
def test_members_of_a_class(declaration):
    members = [node for node in declaration.body if isinstance(node, ast.FunctionDef)]
    defined_class = getattr(gpukern, declaration.name)
    assert [node.name for node in members if not hasattr(defined_class, node.name)] == []
    names = {node.name for node in members}
    names |= {node.target.id for node in declaration.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in vars(defined_class) if name[0] != "_"}
    assert public - FOR_TESTS <= names
    for node in members:
        if not node.decorator_list and node.name[:2] != "__":
            assert declared(node) == defined(getattr(defined_class, node.name))
