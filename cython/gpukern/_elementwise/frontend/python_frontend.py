# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The Python form of an element-wise function: its source, translated when it is decorated."""

import __future__

import ast
import builtins
import functools
import inspect
import operator
import textwrap
import types
import warnings

import numpy as np

from gpukern._elementwise.frontend import ufuncs
from gpukern._elementwise.frontend.constant_folding import SIZES
from gpukern._elementwise.frontend.graph import (
    MAX_INPUTS,
    Call,
    Cast,
    Constant,
    Function,
    Input,
    operation,
)
from gpukern.errors import GpukernValueError

BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}
UNARY = {
    ast.USub: "negative",
    ast.UAdd: "positive",
    ast.Invert: "invert",
    ast.Not: "logical_not",
}
COMPARE = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
BOOLEAN = {ast.And: "logical_and", ast.Or: "logical_or"}
# The compiler's flags of imports from __future__.
FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def translate(function, **options):
    """The Function of a Python function or lambda; GpukernValueError names what it cannot hold."""
    try:
        return Translator(function).translate(**options)
    except RecursionError:
        raise GpukernValueError(
            f"elementwise: the expressions of {function.__name__} are nested too deeply"
        ) from None


@functools.lru_cache(maxsize=8)
def lambdas_of(source, file, flags):
    """The lambdas of a file: the line, the node and the code of each.

    Compiled with the file: imports and closures decide how their names are looked up.
    """
    tree = ast.parse(source)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    lines = [node.lineno for node in found]
    # Each gets a line alone, which tells which of them a code belongs to.
    alone = [
        line + lines[:number].count(line) * source.count("\n") for number, line in enumerate(lines)
    ]
    for node, line in zip(found, alone, strict=True):
        ast.increment_lineno(node, line - node.lineno)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python gave them when it compiled the file
        codes = [compile(tree, file, "exec", flags, dont_inherit=True)]
    for code in codes:
        codes += filter(inspect.iscode, code.co_consts)
    own = {code.co_firstlineno: code for code in codes if code.co_name == "<lambda>"}
    for node in found:  # those around others first
        ast.increment_lineno(node, 1 - node.lineno)
    return [(line, node, own.get(at)) for line, node, at in zip(lines, found, alone, strict=True)]


class Translator:
    """Walks over the syntax tree of one function."""

    def __init__(self, function):
        self.name = function.__name__
        self.code = function.__code__
        # Without __wrapped__, whose source inspect would read instead.
        self.unwrapped = types.FunctionType(
            self.code, function.__globals__, closure=function.__closure__
        )
        self.file, self.first_line = self.code.co_filename, self.code.co_firstlineno
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            self.fail(None, f"expected a plain function, {self.name} is an async one")
        try:
            closure = inspect.getclosurevars(function)
        except ValueError:  # a cell is empty
            self.fail(None, f"one of {', '.join(self.code.co_freevars)} has no value yet")
        self.outside = {**vars(builtins), **closure.globals, **closure.nonlocals}
        self.values = {}

    def translate(self, **options):
        """Translate the whole function."""
        definition = self.definition()
        parameters = self.parameters(definition)
        self.values = {name: Input(position) for position, name in enumerate(parameters)}
        if isinstance(definition, ast.Lambda):
            root = self.expression(definition.body)
        else:
            root = self.body(definition)
        text = ast.unparse(definition)
        options = {"name": self.name, **options}
        return Function(inputs=parameters, root=root, text=text, **options)

    def definition(self):
        """The function's node in its source."""
        try:
            source = textwrap.dedent(inspect.getsource(self.unwrapped))
            tree = ast.parse(source)
            wanted = ast.Lambda if self.code.co_name == "<lambda>" else ast.FunctionDef
            found = [node for node in ast.walk(tree) if isinstance(node, wanted)]
            if len(found) > 1:
                found = self.lambdas_of_code() if wanted is ast.Lambda else found[:1]
        except (OSError, SyntaxError) as error:
            raise GpukernValueError(
                f"elementwise: the source of {self.name} cannot be read ({error}); "
                "give the function as a string"
            ) from None
        if len({ast.dump(node) for node in found}) != 1:
            self.fail(None, f"expected one function or lambda here, found {len(found)}")
        return found[0]

    def lambdas_of_code(self):
        """The lambdas on this line whose code is that of the function at hand."""
        lines, _ = inspect.findsource(self.unwrapped)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | self.code.co_flags & FUTURES
        return [
            node
            for line, node, code in lambdas_of("".join(lines), self.file, flags)
            if line == self.first_line
            and code is not None
            and code.replace(co_firstlineno=line) == self.code
        ]

    def parameters(self, definition):
        """The names of the parameters, which must be plain ones."""
        given = definition.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            self.fail(definition, "parameters must be plain names, without defaults or stars")
        names = tuple(each.arg for each in (*given.posonlyargs, *given.args))
        if not 1 <= len(names) <= MAX_INPUTS:
            self.fail(definition, f"expected 1 to {MAX_INPUTS} parameters, got {len(names)}")
        return names

    def fail(self, node, why):
        """Raise the error of a node, or of the function for None."""
        line = self.first_line + getattr(node, "lineno", 1) - 1
        try:
            shown = f": {ast.unparse(node).splitlines()[len(getattr(node, 'decorator_list', ()))]}"
        except (AttributeError, IndexError, TypeError):
            shown = ""
        raise GpukernValueError(f"elementwise: {self.file}:{line}: {why}{shown}") from None

    def body(self, definition):
        """Assignments to local names, and a return at the end."""
        statements = definition.body
        if ast.get_docstring(definition, clean=False) is not None:
            statements = statements[1:]
        for statement in statements:
            if isinstance(statement, ast.Return):
                if statement is not statements[-1]:
                    self.fail(statements[-1], "there is code behind the return")
                if statement.value is None:
                    self.fail(statement, "the function must return a value")
                return self.expression(statement.value)
            self.assign(statement)
        return self.fail(definition, "the function must end with a return")

    def assign(self, statement):
        """``name = value``, with a type or not, and ``name += value``."""
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        allowed = (ast.Assign, ast.AnnAssign, ast.AugAssign)
        if not isinstance(statement, allowed) or value is None:
            kind = type(statement).__name__
            self.fail(statement, f"expected assignments and a return, got a statement {kind}")
        for target in targets:
            if not isinstance(target, ast.Name):
                self.fail(statement, "expected an assignment to a plain name")
        result = self.expression(value)
        if isinstance(statement, ast.AugAssign):
            before = self.expression(ast.copy_location(ast.Name(targets[0].id), statement))
            result = operation(self.operator(BINARY, statement.op, statement), before, result)
        for target in targets:
            self.values[target.id] = result

    def operator(self, table, operator, node):
        """The function of an operator."""
        function = table.get(type(operator))
        if function is None:
            self.fail(node, f"the operator {type(operator).__name__} is not known")
        return function

    def expression(self, node):
        """Translate an expression."""
        translate = getattr(self, f"translate_{type(node).__name__}", None)
        if translate is None:
            self.fail(node, f"an expression {type(node).__name__} cannot be translated")
        return translate(node)

    def translate_Constant(self, node):  # noqa: N802  (named after the node, as the others)
        return self.number(node, node.value)

    def translate_Name(self, node):  # noqa: N802
        if node.id in self.values:
            return self.values[node.id]
        return self.number(node, self.resolve(node))

    def translate_Attribute(self, node):  # noqa: N802
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.values:
            return self.number(node, self.resolve(node))
        if node.attr in ("real", "imag"):
            return operation(node.attr, self.expression(node.value))
        return self.fail(node, f"the attribute {node.attr} is not known")

    def translate_BinOp(self, node):  # noqa: N802
        function = self.operator(BINARY, node.op, node)
        return operation(function, self.expression(node.left), self.expression(node.right))

    def translate_UnaryOp(self, node):  # noqa: N802
        return operation(self.operator(UNARY, node.op, node), self.expression(node.operand))

    def translate_BoolOp(self, node):  # noqa: N802
        function = BOOLEAN[type(node.op)]
        result, *others = [self.expression(value) for value in node.values]
        for other in others:
            result = operation(function, result, other)
        return result

    def translate_Compare(self, node):  # noqa: N802
        functions = [self.operator(COMPARE, operator, node) for operator in node.ops]
        left, *others = [self.expression(each) for each in (node.left, *node.comparators)]
        result = None
        for function, right in zip(functions, others, strict=True):
            link = operation(function, left, right)
            result = link if result is None else operation("logical_and", result, link)
            left = right
        return result

    def translate_IfExp(self, node):  # noqa: N802
        parts = (node.test, node.body, node.orelse)
        return Call("where", tuple(self.expression(part) for part in parts))

    def translate_Call(self, node):  # noqa: N802
        called = self.resolve(node.func)
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            self.fail(node, "a call must have plain arguments")
        arguments = tuple(self.expression(each) for each in node.args)
        try:
            function = ufuncs.PYTHON_FUNCTIONS.get(called)
            dtype = ufuncs.PYTHON_TYPES.get(called)
        except TypeError:  # not hashable
            function = dtype = None
        if isinstance(called, type) and called in np.sctypeDict.values():
            dtype = np.dtype(called).name
        expected = 1 if dtype in SIZES else ufuncs.ARITY.get(function)
        if expected is None:
            self.fail(node, "the function is not one of those that can be translated")
        if len(arguments) != expected:
            self.fail(node, f"expected {expected} arguments, got {len(arguments)}")
        if dtype is not None:
            return Cast(dtype, arguments)
        if function in ("real", "imag"):
            return operation(function, *arguments)
        # Those of math and builtins give Python numbers for Python numbers.
        return Call(function, arguments, called if inspect.isbuiltin(called) else None)

    def resolve(self, node):
        """The object that a name, or a name with attributes, stands for outside the function."""
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            try:
                return getattr(owner, node.attr)
            except AttributeError:
                self.fail(node, f"there is no {node.attr}")
        if not isinstance(node, ast.Name) or node.id in self.values:
            self.fail(node, "expected the name of a function")
        if node.id not in self.outside:
            self.fail(node, f"the name {node.id} is not known when the function is decorated")
        return self.outside[node.id]

    def number(self, node, value):
        """A number, as it is when the function is decorated."""
        if not isinstance(value, NUMBERS):
            self.fail(node, f"expected a number, got {type(value).__name__}")
        return Constant(value)
