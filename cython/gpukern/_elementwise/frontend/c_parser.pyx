# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The C form of an element-wise function: one expression, with C's operators and precedence.

Parsed by precedence climbing (Richards 1979). What C and NumPy spell alike but mean otherwise, the
division and the remainder of integers, is NumPy's. Compiled, since each function of a process pays
for it, and most are short: Python takes longest for what it runs for the first time.
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

cdef enum:
    MAX_DEPTH = 500  # a pair of parentheses takes two

cdef str SIGNS = "-+*/%<>&|^~!?:(),"
cdef frozenset LONG_SIGNS = frozenset(("<<", ">>", "<=", ">=", "==", "!=", "&&", "||"))

# Binary operators: how tightly they bind, in C's order, and what they are in NumPy.
cdef dict BINARY = {
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
cdef dict UNARY = {"-": "negative", "+": "positive", "~": "invert", "!": "logical_not"}


def translate(text, inputs=None, **options):
    """The Function of an expression.

    Its inputs are the free names, in the order in which they come, unless they are given. The
    options are further fields of the Function.
    """
    # The characters of a str's subclass.
    return Parser(str.__str__(text), inputs).function(**options)


cdef class Parser:
    """One pass over an expression; errors name the column and show the text."""

    cdef str text
    cdef bint fixed
    cdef dict inputs
    cdef Py_ssize_t position  # behind the token at hand
    cdef Py_ssize_t start
    cdef str kind  # "number", "name", "sign" or "end"
    cdef str token
    cdef int depth

    def __init__(self, str text, inputs):
        self.text = text
        self.fixed = inputs is not None
        self.inputs = {}
        for name in inputs or ():
            if not isinstance(name, str) or not name.isidentifier() or name in self.inputs:
                raise GpukernValueError(
                    f"elementwise: inputs must be different names, got {tuple(inputs)!r}"
                )
            self.require_no_keyword(name)
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
        return Function(
            inputs=tuple(self.inputs), root=root, text=self.text, is_c=True, **options
        )

    cdef int advance(self) except -1:
        """Go to the next token."""
        cdef Py_UCS4 first
        self.start = self.position
        while self.at(self.start).isspace():
            self.start += 1
        self.position = self.start
        first = self.at(self.start)
        if first.isdecimal() or first == u"." and self.at(self.start + 1).isdecimal():
            self.kind = "number"
            self.pass_number()
        elif is_letter(first):
            self.kind = "name"
            self.pass_name()
        elif self.text[self.start:self.start + 2] in LONG_SIGNS:
            self.kind = "sign"
            self.position += 2
        elif self.start == len(self.text):
            self.kind = "end"
        else:
            self.kind = "sign"
            self.position += 1
        self.token = self.text[self.start:self.position]
        if self.kind == "sign" and len(self.token) == 1 and self.token not in SIGNS:
            self.fail(f"{self.token!r} is no part of an expression")
        return 0

    cdef Py_UCS4 at(self, Py_ssize_t place) except? 0:
        """A letter; NUL behind the end."""
        return self.text[place] if place < len(self.text) else 0

    cdef int pass_digits(self) except -1:
        while self.at(self.position).isdecimal():
            self.position += 1
        return 0

    cdef int pass_all(self, str letters) except -1:
        while self.position < len(self.text) and self.text[self.position] in letters:
            self.position += 1
        return 0

    cdef int pass_number(self) except -1:
        """Go past an integer, a hexadecimal one, or a number with a point or an exponent."""
        cdef Py_ssize_t behind
        if self.at(self.start) == u"0" and self.at(self.start + 1) in u"xX":
            self.position += 2
            self.pass_all("0123456789abcdefABCDEF")
            if self.position > self.start + 2:
                return self.pass_all("uUlL")
            self.position = self.start
        self.pass_digits()
        if self.at(self.position) == u".":
            self.position += 1
            self.pass_digits()
        if self.at(self.position) in u"eE":
            behind = self.position + (2 if self.at(self.position + 1) in u"+-" else 1)
            if self.at(behind).isdecimal():
                self.position = behind
                self.pass_digits()
        return self.pass_all("fFuUlL")

    cdef int pass_name(self) except -1:
        """Go past a name, which may be qualified: a::b."""
        while self.at(self.position).isalnum() or self.at(self.position) == u"_":
            self.position += 1
        if (self.at(self.position) == u":" and self.at(self.position + 1) == u":"
                and is_letter(self.at(self.position + 2))):
            self.position += 2
            self.pass_name()
        return 0

    cdef object fail(self, why):
        """Raise the error of the token at hand."""
        raise GpukernValueError(f"elementwise: column {self.start + 1} of {self.text!r}: {why}")

    cdef int require_no_keyword(self, name) except -1:
        """Refuse as a name what means something else in C++."""
        if name in ufuncs.C_KEYWORDS or name in ufuncs.C_TYPES:
            raise GpukernValueError(
                f"elementwise: {name} is a word of C++ and cannot be a name in {self.text!r}; "
                "conversions are written (float)a or float(a)"
            )
        return 0

    cdef object shown(self):
        """The token at hand, for a message."""
        return repr(self.token) if self.token else "the end"

    cdef bint accept(self, str sign) except -1:
        """Go past a sign if it is the next token."""
        if self.kind != "sign" or self.token != sign:
            return False
        self.advance()
        return True

    cdef object expect(self, sign):
        """Go past a sign, which must be the next token."""
        if not self.accept(sign):
            self.fail(f"expected {sign!r}, got {self.shown()}")

    cdef int descend(self) except -1:
        """Refuse what would take more of the stack than a thread may have."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("the expression is nested too deeply")
        return 0

    cdef object conditional(self):
        """Parse ``a ? b : c``, the loosest of all, from right to left."""
        self.descend()
        condition = self.binary(1)
        if self.accept("?"):
            chosen = self.conditional()
            self.expect(":")
            condition = Call("where", (condition, chosen, self.conditional()))
        self.depth -= 1
        return condition

    cdef object binary(self, int least):
        """Parse operators that bind at least as tightly, from left to right."""
        left = self.unary()
        while self.kind == "sign" and BINARY.get(self.token, (0,))[0] >= least:
            tightness, function = BINARY[self.token]
            self.advance()
            left = operation(function, left, self.binary(tightness + 1))
        return left

    cdef object unary(self):
        """Parse signs, casts and what they stand before."""
        self.descend()
        if self.kind == "sign" and self.token in UNARY:
            function = UNARY[self.token]
            self.advance()
            value = operation(function, self.unary())
        else:
            value = self.primary()
        self.depth -= 1
        return value

    cdef object primary(self):
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

    cdef object parenthesis(self):
        """Parse ``(type) value`` or ``(expression)``, behind the parenthesis."""
        if self.kind == "name" and self.token in ufuncs.C_TYPES:
            dtype = ufuncs.C_TYPES[self.token]
            position, token, start = self.position, self.token, self.start
            self.advance()
            if self.accept(")"):
                return Cast(dtype, self.unary())
            self.position, self.token, self.start, self.kind = position, token, start, "name"
        inside = self.conditional()
        self.expect(")")
        return inside

    cdef object number(self, token, start):
        """The value of a literal: weak, but for an ``f`` at its end, which makes it a float32."""
        lower = token.lower()
        if lower.startswith("0x"):
            return int(lower.rstrip("ul"), 16)
        if any(mark in lower for mark in ".e"):
            digits = lower.rstrip("fl")
            with np.errstate(over="ignore", under="ignore"):
                return np.float32(digits) if lower.endswith("f") else float(digits)
        digits = lower.rstrip("ul")
        if "f" in digits or (len(digits) > 1 and digits[0] == "0"):
            self.start = start
            self.fail(f"{token!r} is neither a decimal nor a hexadecimal number")
        return int(digits)

    cdef object call(self, name, start):
        """Parse the arguments of a call, behind the parenthesis."""
        arguments = []
        if not self.accept(")"):
            arguments.append(self.conditional())
            while self.accept(","):
                arguments.append(self.conditional())
            self.expect(")")
        function = ufuncs.C_NAMES.get(name)
        expected = 1 if name in ufuncs.C_TYPES else ufuncs.ARITY.get(function)
        if expected is not None and len(arguments) != expected:
            self.start = start
            self.fail(f"{name} takes {expected} arguments, got {len(arguments)}")
        if name in ufuncs.C_TYPES:
            return Cast(ufuncs.C_TYPES[name], arguments[0])
        if function in ("real", "imag"):
            return operation(function, *arguments)
        if function is not None:
            return Call(function, tuple(arguments))
        self.require_no_keyword(name)
        if not arguments:
            self.start = start
            self.fail(f"{name} must be called with arguments")
        return DeviceCall(name, tuple(arguments))

    cdef object named(self, name, start):
        """An input or a constant."""
        if name in self.inputs:
            return self.inputs[name]
        if name in ufuncs.C_CONSTANTS:
            return Constant(ufuncs.C_CONSTANTS[name])
        self.require_no_keyword(name)
        if self.fixed or "::" in name or name in ufuncs.C_NAMES:
            self.start = start
            self.fail(f"{name} is none of the inputs {tuple(self.inputs)!r}")
        self.inputs[name] = Input(len(self.inputs))
        return self.inputs[name]


cdef bint is_letter(Py_UCS4 letter) noexcept:
    """Whether a name may begin with it."""
    return u"a" <= letter <= u"z" or u"A" <= letter <= u"Z" or letter == u"_"
