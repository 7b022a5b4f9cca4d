# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The C form of an element-wise function: one expression, with C's operators and precedence.

Parsed by precedence climbing (Richards 1979). What C and NumPy spell alike but mean otherwise, the
division and the remainder of integers, is NumPy's. Numbers and names are scanned letter by letter:
to compile a regular expression takes longer than a process's first functions.
"""

import numpy as np

from gpukern._elementwise.frontend import ufuncs
from gpukern._elementwise.frontend.graph import (
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

SIGNS = frozenset("-+*/%<>&|^~!?:(),")
LONG_SIGNS = frozenset(("<<", ">>", "<=", ">=", "==", "!=", "&&", "||"))

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
# Python's operators that a C expression may be written with by mistake, and what C has.
DOUBLED = {"*": "pow(a, b)", "/": "floor_divide(a, b)"}
UNARY = {"-": "negative", "+": "positive", "~": "invert", "!": "logical_not"}


def translate(text, inputs=None, **options):
    """The Function of an expression.

    Its inputs are the free names, in the order in which they come, unless they are given. The
    options are further fields of the Function.
    """
    # The characters of a str's subclass.
    return Parser(str.__str__(text), inputs).function(**options)


class Parser:
    """One pass over an expression; errors name the column and show the text."""

    def __init__(self, text, inputs):
        self.text = text
        self.fixed = inputs is not None
        self.inputs = {}
        for name in inputs or ():
            if not isinstance(name, str) or not name.isidentifier():
                raise GpukernValueError(f"elementwise: inputs must be names, got {name!r}")
            if name in self.inputs:
                raise GpukernValueError(
                    f"elementwise: inputs must be different names, got {tuple(inputs)!r}"
                )
            self.require_no_keyword(name)
            self.inputs[name] = Input(len(self.inputs))
        self.position = 0  # behind the token at hand
        self.advance()

    def function(self, **options):
        """Parse all of the text."""
        try:
            root = self.expression()
        except RecursionError:
            self.fail("the expression is nested too deeply")
        if self.kind != "end":
            self.fail(f"expected an operator, got {self.shown()}")
        if not 1 <= len(self.inputs) <= MAX_INPUTS:
            self.fail(f"expected 1 to {MAX_INPUTS} inputs, got {len(self.inputs)}")
        options.setdefault("name", "elementwise")
        return Function(inputs=tuple(self.inputs), root=root, text=self.text, is_c=True, **options)

    # ---- tokens ----

    def advance(self):
        """Go to the next token: a "number", a "name", a "sign" or the "end"."""
        text = self.text
        start = self.start = self.past(self.position, str.isspace)
        first = text[start : start + 1]
        if first.isdecimal() or (first == "." and text[start + 1 : start + 2].isdecimal()):
            self.kind, self.position = "number", self.behind_number(start)
        elif is_letter(first):
            self.kind, self.position = "name", self.behind_name(start)
        elif not first:
            self.kind = "end"
        else:
            length = 2 if text[start : start + 2] in LONG_SIGNS else 1
            self.kind, self.position = "sign", start + length
            if length == 1 and first not in SIGNS:
                self.fail(f"{first!r} is no part of an expression")
        self.token = text[start : self.position]

    def past(self, position, is_part):
        """The position behind all letters that are a part."""
        while position < len(self.text) and is_part(self.text[position]):
            position += 1
        return position

    def behind_number(self, start):
        """The end of an integer, a hexadecimal one, or a number with a point or an exponent."""
        text = self.text
        if text[start : start + 2] in ("0x", "0X"):
            end = self.past(start + 2, "0123456789abcdefABCDEF".__contains__)
            if end > start + 2:
                return self.past(end, "uUlL".__contains__)
        end = self.past(start, str.isdecimal)
        if text[end : end + 1] == ".":
            end = self.past(end + 1, str.isdecimal)
        if text[end : end + 1] in ("e", "E"):
            digits = end + (2 if text[end + 1 : end + 2] in ("+", "-") else 1)
            if text[digits : digits + 1].isdecimal():
                end = self.past(digits, str.isdecimal)
        return self.past(end, "fFuUlL".__contains__)

    def behind_name(self, start):
        """The end of a name, which may be qualified: a::b."""
        end = self.past(start, is_part_of_name)
        if self.text.startswith("::", end) and is_letter(self.text[end + 2 : end + 3]):
            return self.behind_name(end + 2)
        return end

    def accept(self, sign):
        """Go past a sign if it is the next token."""
        if self.token != sign:
            return False
        self.advance()
        return True

    def expect(self, sign):
        """Go past a sign, which must be the next token."""
        if not self.accept(sign):
            self.fail(f"expected {sign!r}, got {self.shown()}")

    # ---- errors ----

    def fail(self, why, start=None):
        """Raise the error of a token, by default the one at hand."""
        column = 1 + (self.start if start is None else start)
        raise GpukernValueError(f"elementwise: column {column} of {self.text!r}: {why}") from None

    def shown(self):
        """The token at hand, for a message."""
        return repr(self.token) if self.token else "the end"

    def require_no_keyword(self, name):
        """Refuse as a name what means something else in C++."""
        if name in ufuncs.C_KEYWORDS or name in ufuncs.C_TYPES:
            raise GpukernValueError(
                f"elementwise: {name} is a word of C++ and cannot be a name in {self.text!r}; "
                f"types of conversions, (float)a or float(a), are {', '.join(ufuncs.C_TYPES)}"
            )

    # ---- grammar ----

    def expression(self, least=0):
        """Parse operators that bind at least as tightly, from left to right.

        ``a ? b : c``, of 0, is the loosest of all, and is parsed from right to left.
        """
        left = self.operand()
        while self.token in BINARY and BINARY[self.token][0] >= least:
            operator, start = self.token, self.start
            tightness, function = BINARY[operator]
            self.advance()
            if operator == self.token and operator in DOUBLED:
                why = f"C has no operator {operator * 2!r}; use {DOUBLED[operator]}"
                self.fail(why, start)
            left = operation(function, left, self.expression(tightness + 1))
        if least == 0 and self.accept("?"):
            chosen = self.expression()
            self.expect(":")
            left = Call("where", (left, chosen, self.expression()))
        return left

    def operand(self):
        """Parse unary operators, and the number, name, call, cast or parentheses behind them."""
        kind, token, start = self.kind, self.token, self.start
        if kind == "end" or (kind == "sign" and token != "(" and token not in UNARY):
            self.fail(f"expected a value, got {self.shown()}")
        self.advance()
        if token in UNARY:
            return operation(UNARY[token], self.operand())
        if token == "(":
            return self.parenthesis()
        if kind == "number":
            return Constant(self.number(token, start))
        if self.accept("("):
            return self.call(token, start)
        return self.named(token, start)

    def parenthesis(self):
        """Parse ``(type) value`` or ``(expression)``, behind the parenthesis."""
        dtype, start = ufuncs.C_TYPES.get(self.token), self.start
        if dtype is not None:
            self.advance()
            if self.accept(")"):
                return Cast(dtype, (self.operand(),))
            self.position = start  # of a conversion that is written as a call
            self.advance()
        inside = self.expression()
        self.expect(")")
        return inside

    def number(self, token, start):
        """The value of a literal: weak, but for an ``f`` at its end, which makes it a float32."""
        lower = token.lower()
        try:
            if "x" not in lower and ("." in lower or "e" in lower):
                digits = lower.rstrip("fl")
                with np.errstate(over="ignore", under="ignore"):
                    return np.float32(digits) if lower.endswith("f") else float(digits)
            found = int(lower.rstrip("ul"), 0)  # not of 010, which is octal in C
            ufuncs.require_bits(found.bit_length())
            return found
        except (ValueError, OverflowError):
            self.fail(
                f"expected a decimal or hexadecimal number of at most {ufuncs.MOST_BITS} bits, "
                f"got {token[:40]!r}",
                start,
            )

    def call(self, name, start):
        """Parse the arguments of a call, behind the parenthesis."""
        arguments = []
        if not self.accept(")"):
            arguments.append(self.expression())
            while self.accept(","):
                arguments.append(self.expression())
            self.expect(")")
        function = ufuncs.C_NAMES.get(name)
        dtype = ufuncs.C_TYPES.get(name)
        expected = ufuncs.ARITY.get(function) if dtype is None else 1
        if expected is not None and len(arguments) != expected:
            self.fail(f"{name} takes {expected} arguments, got {len(arguments)}", start)
        if dtype is not None:
            return Cast(dtype, tuple(arguments))
        if function in ("real", "imag"):
            return operation(function, *arguments)
        if function is not None:
            return Call(function, tuple(arguments))
        self.require_no_keyword(name)
        if not arguments:
            self.fail(f"{name} must be called with arguments", start)
        return DeviceCall(name, tuple(arguments))

    def named(self, name, start):
        """An input or a constant."""
        if name in self.inputs:
            return self.inputs[name]
        if name in ufuncs.C_CONSTANTS:
            return Constant(ufuncs.C_CONSTANTS[name])
        self.require_no_keyword(name)
        if name in ufuncs.C_NAMES:
            self.fail(f"{name} is a function, which must be called with arguments", start)
        if self.fixed or "::" in name:
            self.fail(f"{name} is not one of the inputs {tuple(self.inputs)!r}", start)
        self.inputs[name] = Input(len(self.inputs))
        return self.inputs[name]


def is_letter(letter):
    """Whether a name may begin with it; False for no letter."""
    return (letter.isascii() and letter.isalpha()) or letter == "_"


def is_part_of_name(letter):
    """Whether a name may go on with it."""
    return letter.isalnum() or letter == "_"
