# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The C form of an element-wise function: one expression, with C's operators and precedence.

Parsed by precedence climbing (Richards 1979). What C and NumPy spell alike but mean otherwise, the
division and the remainder of integers, is NumPy's.
"""

import re

import numpy as np

from gpukern import _functions
from gpukern._expression import (
    MAX_INPUTS,
    Call,
    Cast,
    Constant,
    DeviceCall,
    Function,
    Input,
    operation,
)
from gpukern.errors import GpukernValueError

TOKEN = re.compile(
    r"""\s*(?:
    (?P<number> 0[xX][0-9a-fA-F]+[uUlL]*
              | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFuUlL]* )
  | (?P<name> [A-Za-z_]\w*(?:::[A-Za-z_]\w*)* )
  | (?P<sign> <<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^~!?:(),] )
  | (?P<end> \Z )
  | (?P<other> . ) )""",
    re.VERBOSE | re.DOTALL,
)

# Binary operators: how tightly they bind, in C's order, and what they are in NumPy.
BINARY = {
    "||": (1, "logical_or"),
    "&&": (2, "logical_and"),
    "|": (3, "bitwise_or"),
    "^": (4, "bitwise_xor"),
    "&": (5, "bitwise_and"),
    "==": (6, "equal"),
    "!=": (6, "not_equal"),
    "<": (7, "less"),
    "<=": (7, "less_equal"),
    ">": (7, "greater"),
    ">=": (7, "greater_equal"),
    "<<": (8, "left_shift"),
    ">>": (8, "right_shift"),
    "+": (9, "add"),
    "-": (9, "subtract"),
    "*": (10, "multiply"),
    "/": (10, "divide"),
    "%": (10, "remainder"),
}
UNARY = {"-": "negative", "+": "positive", "~": "invert", "!": "logical_not"}


def translate(text, inputs=None, **options):
    """The Function of an expression.

    Its inputs are the free names, in the order in which they come, unless they are given. The
    options are further fields of the Function.
    """
    return Parser(text, inputs).function(**options)


class Parser:
    """One pass over an expression; errors name the column and show the text."""

    def __init__(self, text, inputs):
        self.text = text
        self.fixed = inputs is not None
        self.inputs = {}
        for name in inputs or ():
            if not isinstance(name, str) or not name.isidentifier() or name in self.inputs:
                raise GpukernValueError(
                    f"elementwise: inputs must be different names, got {tuple(inputs)!r}"
                )
            self.inputs[name] = Input(len(self.inputs))
        self.position = 0
        self.advance()

    def function(self, **options):
        """Parse all of the text."""
        root = self.conditional()
        if self.kind != "end":
            self.fail(f"expected an operator, got {self.shown()}")
        if not 1 <= len(self.inputs) <= MAX_INPUTS:
            self.fail(f"expected 1 to {MAX_INPUTS} inputs, got {len(self.inputs)}")
        options.setdefault("name", "elementwise")
        return Function(inputs=tuple(self.inputs), root=root, text=self.text, **options)

    def advance(self):
        """Go to the next token."""
        match = TOKEN.match(self.text, self.position)
        self.kind = match.lastgroup
        self.token = match.group(self.kind)
        self.start = match.start(self.kind)
        self.position = match.end()
        if self.kind == "other":
            self.fail(f"{self.token!r} is no part of an expression")

    def fail(self, why):
        """Raise the error of the token at hand."""
        raise GpukernValueError(f"elementwise: column {self.start + 1} of {self.text!r}: {why}")

    def shown(self):
        """The token at hand, for a message."""
        return repr(self.token) if self.token else "the end"

    def accept(self, sign):
        """Go past a sign if it is the next token."""
        if self.kind != "sign" or self.token != sign:
            return False
        self.advance()
        return True

    def expect(self, sign):
        """Go past a sign, which must be the next token."""
        if not self.accept(sign):
            self.fail(f"expected {sign!r}, got {self.shown()}")

    def conditional(self):
        """Parse ``a ? b : c``, the loosest of all, from right to left."""
        condition = self.binary(1)
        if not self.accept("?"):
            return condition
        chosen = self.conditional()
        self.expect(":")
        return Call("where", (condition, chosen, self.conditional()))

    def binary(self, least):
        """Parse operators that bind at least as tightly, from left to right."""
        left = self.unary()
        while self.kind == "sign" and BINARY.get(self.token, (0,))[0] >= least:
            tightness, function = BINARY[self.token]
            self.advance()
            left = operation(function, left, self.binary(tightness + 1))
        return left

    def unary(self):
        """Parse signs, casts and what they stand before."""
        if self.kind == "sign" and self.token in UNARY:
            function = UNARY[self.token]
            self.advance()
            return operation(function, self.unary())
        return self.primary()

    def primary(self):
        """Parse a number, a name, a call, a cast or what stands in parentheses."""
        if self.accept("("):
            return self.parenthesis()
        token, kind, start = self.token, self.kind, self.start
        if kind not in ("number", "name"):
            self.fail(f"expected a value, got {self.shown()}")
        self.advance()
        if kind == "number":
            return Constant(self.number(token, start))
        if self.accept("("):
            return self.call(token, start)
        return self.named(token, start)

    def parenthesis(self):
        """Parse ``(type) value`` or ``(expression)``, behind the parenthesis."""
        if self.kind == "name" and self.token in _functions.C_TYPES:
            dtype = _functions.C_TYPES[self.token]
            position, token, start = self.position, self.token, self.start
            self.advance()
            if self.accept(")"):
                return Cast(dtype, self.unary())
            self.position, self.token, self.start, self.kind = position, token, start, "name"
        inside = self.conditional()
        self.expect(")")
        return inside

    def number(self, token, start):
        """The value of a literal: weak, but for an ``f`` at its end, which makes it a float32."""
        lower = token.lower()
        if lower.startswith("0x"):
            return int(lower.rstrip("ul"), 16)
        if any(mark in lower for mark in ".e"):
            digits = lower.rstrip("fl")
            return np.float32(digits) if lower.endswith("f") else float(digits)
        digits = lower.rstrip("ul")
        if "f" in digits or (len(digits) > 1 and digits[0] == "0"):
            self.start = start
            self.fail(f"{token!r} is neither a decimal nor a hexadecimal number")
        return int(digits)

    def call(self, name, start):
        """Parse the arguments of a call, behind the parenthesis."""
        arguments = []
        if not self.accept(")"):
            arguments.append(self.conditional())
            while self.accept(","):
                arguments.append(self.conditional())
            self.expect(")")
        function = _functions.C_NAMES.get(name)
        expected = 1 if name in _functions.C_TYPES else _functions.ARITY.get(function)
        if expected is not None and len(arguments) != expected:
            self.start = start
            self.fail(f"{name} takes {expected} arguments, got {len(arguments)}")
        if name in _functions.C_TYPES:
            return Cast(_functions.C_TYPES[name], arguments[0])
        if function in ("real", "imag"):
            return operation(function, *arguments)
        if function is not None:
            return Call(function, tuple(arguments))
        if not arguments:
            self.start = start
            self.fail(f"{name} must be called with arguments")
        return DeviceCall(name, tuple(arguments))

    def named(self, name, start):
        """An input or a constant."""
        if name in self.inputs:
            return self.inputs[name]
        if name in _functions.C_CONSTANTS:
            return Constant(_functions.C_CONSTANTS[name])
        if self.fixed or "::" in name or name in _functions.C_NAMES:
            self.start = start
            self.fail(f"{name} is none of the inputs {tuple(self.inputs)!r}")
        self.inputs[name] = Input(len(self.inputs))
        return self.inputs[name]
