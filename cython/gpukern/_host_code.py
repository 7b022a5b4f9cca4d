# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Typed element-wise functions as Python functions that call NumPy."""

import numpy as np

from gpukern._functions import UFUNCS
from gpukern._promotion import WEAK_TYPES
from gpukern.errors import GpukernTypeError


def host_dtype(name):
    """NumPy's dtype; bfloat16 is that of ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise GpukernTypeError(
            "elementwise: bfloat16 on the CPU needs the package ml_dtypes"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


class Writer:
    """Writes the Python source of a typed function.

    `writers` are the steps that can write to an array that is given; the last step of most
    functions is none of them, for it writes to the output in any case.
    """

    def __init__(self, typed, out_type):
        self.typed = typed
        self.out_type = out_type
        self.writers = [step for step in typed.steps if self.can_write(step)]
        self.numbers = {id(step): i for i, step in enumerate(typed.steps)}
        self.names = {"np": np, "asarray": np.asarray, "copyto": np.copyto, "item": item}
        self.names["integer_power"] = integer_power
        if "bfloat16" in (out_type, *typed.types, *(step.computed for step in typed.steps)):
            self.names["bfloat16"] = host_dtype("bfloat16").type

    def compiled(self, writes):
        """Compile ``f(*arguments)``, or ``f(*arguments, out, *places)``.

        Each of `writers` has a place, which is None by default: it writes to a new array.
        """
        parameters = [f"x{i}" for i in range(len(self.typed.types))]
        if writes:
            parameters += ["out", *(f"{self.place(step)}=None" for step in self.writers)]
        lines = [f"def function({', '.join(parameters)}):"]
        *others, last = self.typed.steps or (None,)
        for step in others:
            lines.append(self.line(step, writes))
        lines += self.ending(last, writes)
        exec(compile("\n".join(lines), f"<{self.typed.function.name}>", "exec"), self.names)
        return self.names["function"]

    def ending(self, last, writes):
        """The last step, which is the root in all but the plainest functions, and the return."""
        root = self.typed.root
        if last is not None and self.is_result(last):
            # Of no arrays, what is returned is a scalar already.
            return [f"    {self.call(last, ', out')}" if writes else f"    return {self.call(last)}"]
        lines = [] if last is None else [self.line(last, writes)]
        result = self.value(root)
        if root.kind != "step" or root.type != self.typed.result:
            result = f"asarray({result}).astype({self.dtype(self.typed.result)})"
        if writes:
            return [*lines, f"    copyto(out, {result}, casting='unsafe')"]
        if self.out_type != self.typed.result:
            result = f"asarray({result}).astype({self.dtype(self.out_type)})"
        return [*lines, f"    return {result}[()]"]

    def is_result(self, step):
        """Whether a step computes just the result, by a function that can write to the output."""
        is_root = self.typed.root.content is step and step is self.typed.steps[-1]
        is_ufunc = step.function in UFUNCS and not step.weak
        return is_root and is_ufunc and step.computed == self.typed.result == self.out_type

    def can_write(self, step):
        """Whether a step can write to an array, and does not write to the output anyway."""
        return step.function in UFUNCS and not step.weak and not self.is_result(step)

    def place(self, step):
        """The name of what a step writes to."""
        return f"p{self.numbers[id(step)]}"

    def line(self, step, writes):
        """The statement that computes a step."""
        more = f", {self.place(step)}" if writes and step in self.writers else ""
        return f"    t{self.numbers[id(step)]} = {self.step(step, more)}"

    def dtype(self, name):
        """A dtype."""
        return "bfloat16" if name == "bfloat16" else f"'{name}'"

    def is_weak(self, value):
        return value.type in WEAK_TYPES

    def step(self, step, more=""):
        """The expression of a step; a weak result is a Python number again."""
        text = self.call(step, more)
        return f"item({text})" if step.weak else text

    def call(self, step, more=""):
        """The call of NumPy's function."""
        if step.function == "cast":
            return f"asarray({self.value(step.operands[0])}).astype({self.dtype(step.computed)})"
        texts = []
        is_even = len(set(step.operand_types)) == 1 and not step.weak
        for value, wanted in zip(step.operands, step.operand_types, strict=True):
            text = self.value(value, wanted if is_even else None)
            # A Python number is not weak to ml_dtypes' bfloat16.
            is_number = wanted == "bfloat16" and self.is_weak(value)
            texts.append(f"bfloat16({text})" if is_number else text)
        if step.function == "where":
            texts[0] = f"asarray({texts[0]}, bool)"
        if step.function == "power" and step.computed.startswith("int"):
            return f"integer_power({', '.join(texts)}, '{step.computed}'{more})"
        return f"np.{step.function}({', '.join(texts)}{more})"

    def value(self, value, wanted=None):
        """A value: an argument, the result of a step, or a number by a name of its own.

        A number that is to be of a dtype becomes it once for all, which NumPy does in each call.
        """
        if value.kind == "input":
            return f"x{value.content}"
        if value.kind == "step":
            return f"t{self.numbers[id(value.content)]}"
        name = f"c{len(self.names)}"
        self.names[name] = value.content if wanted is None else strong(value.content, wanted)
        return name


def strong(number, dtype):
    """A number as a 0-d array, if that is surely what NumPy makes of it beside such arrays."""
    if dtype == "bfloat16" or type(number) not in (int, float):
        return number
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(number, dtype)
    except OverflowError:
        return number
    is_rounded = type(number) is float and dtype == "float32" and np.isfinite(made)
    return made if made == number or is_rounded else number


def integer_power(base, exponent, dtype, out=None):
    """NumPy's power of signed integers, and the whole part of a power to a negative exponent.

    NumPy refuses these in the midst of its work. A GPU computes the same.
    """
    negative = np.less(exponent, 0)
    if not negative.any():
        return np.power(base, exponent, out=out)
    base, exponent = np.asarray(base, dtype), np.asarray(exponent, dtype)
    # Of 1 and -1 the exponent's parity tells the power; that of any other number is below 1.
    base = np.where(negative & (np.abs(base) != 1), np.zeros((), dtype), base)
    return np.power(base, np.where(negative, 2 - (exponent & 1), exponent), out=out)


def item(result):
    """A result of numbers as a Python number."""
    return np.asarray(result).item()
