# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What both forms of an element-wise function are translated to: a graph of calls."""

from dataclasses import dataclass, field

from gpukern import _functions

MAX_INPUTS = 32


@dataclass(frozen=True, eq=False)
class Input:
    """An argument of the function, by its position."""

    position: int


@dataclass(frozen=True, eq=False)
class Constant:
    """A Python number, which is weak as in NumPy's promotion, or a NumPy scalar, which is not."""

    value: object


@dataclass(frozen=True, eq=False)
class Call:
    """A function of `_functions.ARITY`.

    `of_numbers` is Python's own function, whose result for Python numbers alone is one again, and
    so is weak. None stands for NumPy's, which gives a NumPy scalar.
    """

    function: str
    arguments: tuple
    of_numbers: object = None


@dataclass(frozen=True, eq=False)
class Cast:
    """A conversion to a dtype, by its name."""

    dtype: str
    argument: object


@dataclass(frozen=True, eq=False)
class DeviceCall:
    """A function of CUDA C++ that only a GPU has."""

    name: str
    arguments: tuple


@dataclass(frozen=True, eq=False)
class Function:
    """A translated function."""

    name: str
    inputs: tuple
    root: object
    text: str  # the caller's own words
    dtype: str | None = None  # of the result, None for what promotion gives
    preamble: str = ""
    options: tuple = field(default=())

    def device_names(self):
        """The functions that only a GPU has, sorted."""
        return sorted({node.name for node in walk(self.root) if isinstance(node, DeviceCall)})


def operation(function, *arguments):
    """A Call as an operator or an attribute of Python stands for it."""
    return Call(function, arguments, _functions.OPERATORS[function])


def operands(node):
    """The nodes that a node is computed from."""
    if isinstance(node, Cast):
        return (node.argument,)
    return getattr(node, "arguments", ())


def walk(root):
    """All nodes below a root and the root, each once, behind those that it is computed from."""
    seen = set()
    stack = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(operands(node)))
