# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Typed element-wise functions as Python functions that call NumPy."""

import numpy as np

from gpukern._elementwise.frontend.type_resolution import WEAK_TYPES
from gpukern._elementwise.frontend.ufuncs import UFUNCS
from gpukern.errors import GpukernTypeError

NAMED_OUTPUT = ("maximum", "minimum")  # NumPy deprecates their third argument by position
VIEWS = ("real", "imag")  # their results are parts of their operands
PARTIAL = ("isnan", "isinf", "isfinite", "signbit")  # with AVX512, of strided outputs


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

    `result` is the last step, if it can write to the output; `writers` are the others that can
    write to a given array. NumPy takes that array by position in less time than as ``out=``.
    """

    def __init__(self, typed, out_type):
        self.typed = typed
        self.out_type = out_type
        self.numbers = {step: i for i, step in enumerate(typed.steps)}
        *others, last = typed.steps or (None,)
        is_root = last is not None and typed.root.content is last and self.can_write(last)
        self.result = last if is_root and last.computed == typed.result == out_type else None
        self.steps = others if self.result is not None else typed.steps
        self.writers = [step for step in self.steps if self.can_write(step)]
        self.names = {"asarray": np.asarray, "copyto": np.copyto, "copy": np.copy, "item": item}
        self.names |= {"integer_power": integer_power, "whole": whole}
        if "bfloat16" in (out_type, *typed.types, *(step.computed for step in typed.steps)):
            self.names["bfloat16"] = host_dtype("bfloat16").type

    def compute(self):
        """Compile ``f(*arguments)``, in which each step makes a new array."""
        return self.compiled("", {})

    def compute_alike(self, numbers, reused):
        """Compile ``f(*arguments)`` for arrays of one shape, with dimensions.

        The writers have buffers of these numbers, each allocated by the first step that writes to
        it. The last step may overwrite the value `reused`, if that is not None.
        """
        names, buffers = {}, {}
        for step, number in zip(self.writers, numbers, strict=True):
            if number in names:
                buffers[step] = names[number]
            if number is not None:
                names.setdefault(number, self.result_name(step))
        if self.result is not None and reused is not None:
            buffers[self.result] = self.result_name(reused)
        return self.compiled("", buffers)

    def write(self):
        """Compile ``f(*arguments, out, *buffers)``.

        Each of `writers` has a buffer, by default None: it writes to a new array.
        """
        buffers = {step: f"p{self.numbers[step]}" for step in self.writers}
        if self.result is not None:
            buffers[self.result] = "out"
        return self.compiled(
            "".join(["out", *(f", {buffers[step]}=None" for step in self.writers)]), buffers
        )

    def compiled(self, more, buffers):
        """Compile a function of the arguments, and more, whose steps write to buffers."""
        parameters = [f"x{i}" for i in range(len(self.typed.types))]
        lines = [f"def function({', '.join([*parameters, more] if more else parameters)}):"]
        lines += [
            f"    {self.result_name(each)} = {self.step(each, buffers)}" for each in self.steps
        ]
        lines += self.ending(buffers, bool(more))
        exec(compile("\n".join(lines), f"<{self.typed.function.name}>", "exec"), self.names)
        return self.names["function"]

    def ending(self, buffers, writes):
        """The result, and the return."""
        if self.result is not None:
            # Of no arrays, what is returned is a scalar already.
            return [f"    return {self.step(self.result, buffers)}"]
        root, wanted = self.typed.root, self.typed.result
        result = self.value(root)
        if root.kind != "step" or root.type != wanted:
            result = self.cast(result, root.type, wanted)
        elif root.content.function in VIEWS and not writes:
            result = f"copy({result})"
        if writes:
            return [f"    copyto(out, {result}, casting='unsafe')"]
        if self.out_type != wanted:
            result = self.cast(result, wanted, self.out_type)
        return [f"    return {result}[()]"]

    def can_write(self, step):
        """Whether a step computes an array, and by a function that takes out=."""
        return step.function in UFUNCS and not step.weak

    def result_name(self, step):
        """The name of what a step computes."""
        return f"t{self.numbers[step]}"

    def cast(self, text, type_, wanted):
        """A conversion of a value; NumPy warns where it takes the real part itself."""
        part = ".real" * ("complex" in type_ and "complex" not in wanted and wanted != "bool")
        dtype = wanted if wanted == "bfloat16" else f"'{wanted}'"
        return f"asarray({text}){part}.astype({dtype})"

    def step(self, step, buffers):
        """The expression of a step; a weak result is a Python number again."""
        more = ""
        if step in buffers:
            name = "out=" if step.function in NAMED_OUTPUT else ""
            more = f", {name}{buffers[step]}"
        text = self.call(step, more)
        return f"item({text})" if step.weak else text

    def call(self, step, more):
        """The call of NumPy's function."""
        if step.function == "cast":
            value = step.operands[0]
            return self.cast(self.value(value), value.type, step.computed)
        texts = []
        is_even = len(set(step.operand_types)) == 1 and not step.weak
        for value, wanted in zip(step.operands, step.operand_types, strict=True):
            text = self.value(value, wanted if is_even else None)
            # A Python number is not weak to ml_dtypes' bfloat16, which takes no int above int64.
            is_number = wanted == "bfloat16" and value.type in WEAK_TYPES
            texts.append(f"bfloat16(asarray({text}).astype('f4')[()])" if is_number else text)
        if step.function == "where":
            texts[0] = f"asarray({texts[0]}, bool)"
        if step.function == "power" and step.computed.startswith("int"):
            return f"integer_power({', '.join(texts)}, '{step.computed}'{more})"
        self.names[step.function] = getattr(np, step.function)
        start = f"whole({step.function}, " if step.function in PARTIAL else f"{step.function}("
        return f"{start}{', '.join(texts)}{more})"

    def value(self, value, wanted=None):
        """A value: an argument, the result of a step, or the name of a number.

        A number that is to be of a dtype becomes it once for all, which NumPy does in each call.
        """
        if value.kind == "input":
            return f"x{value.content}"
        if value.kind == "step":
            return self.result_name(value.content)
        name = f"c{len(self.names)}"
        self.names[name] = value.content if wanted is None else strong(value.content, wanted)
        return name


def strong(number, dtype):
    """A number as a 0-d array, if NumPy certainly treats it so with such arrays."""
    if dtype == "bfloat16" or type(number) not in (int, float):
        return number
    with np.errstate(all="ignore"):
        try:
            made = np.asarray(number, dtype)
        except OverflowError:
            return number
        is_rounded = type(number) is float and dtype == "float32" and np.isfinite(made)
        # As Python's number, which is not rounded to the dtype before it is compared.
        return made if made.item() == number or is_rounded else number


def whole(function, x, out=None):
    """What a ufunc gives, in all of `out`, where NumPy's loops leave elements out."""
    if out is None or out.flags.c_contiguous:
        return function(x, out)
    np.copyto(out, function(x))
    return out


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
