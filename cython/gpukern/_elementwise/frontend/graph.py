# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What both forms of an element-wise function are translated to: a graph of calls."""

import functools
from dataclasses import dataclass, field, fields

from gpukern._elementwise.frontend import ufuncs

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
    """A function of `ufuncs.ARITY`.

    `of_numbers` is Python's own function, whose result for Python numbers alone is one again, and
    so is weak. None stands for NumPy's, which gives a NumPy scalar.
    """

    function: str
    arguments: tuple
    of_numbers: object = None


@dataclass(frozen=True, eq=False)
class Cast:
    """A conversion of one argument to a dtype, by its name."""

    dtype: str
    arguments: tuple


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
    text: str  # of the caller
    dtype: str | None = None  # of the result, None for what promotion gives
    preamble: str = ""
    options: tuple = field(default=())
    is_c: bool = False  # text and inputs tell all of it
    # By the types of the arguments; functions of equal text share them.
    specializations: dict = field(default_factory=dict, init=False, repr=False)

    @functools.cached_property
    def nodes(self):
        """All nodes, each behind those that it is computed from."""
        return walk(self.root)

    @functools.cached_property
    def device_names(self):
        """The functions that only a GPU has, sorted."""
        return sorted({node.name for node in self.nodes if isinstance(node, DeviceCall)})

    def __getstate__(self):
        """For a pickle: without the kernels, and with the graph as a list, which may be long."""
        state = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        position = {id(node): number for number, node in enumerate(self.nodes)}
        state["root"] = [
            (type(node), {**vars(node), **argument_numbers(node, position)}) for node in self.nodes
        ]
        return state

    def __setstate__(self, state):
        nodes = []
        for kind, values in state["root"]:
            if "arguments" in values:
                values["arguments"] = tuple(nodes[number] for number in values["arguments"])
            nodes.append(kind(**values))
        self.__init__(**{**state, "root": nodes[-1]})


def argument_numbers(node, position):
    """The arguments of a node, if it has any, by their positions."""
    if not hasattr(node, "arguments"):
        return {}
    return {"arguments": tuple(position[id(each)] for each in node.arguments)}


def operation(function, *arguments):
    """A Call as an operator or an attribute of Python stands for it."""
    return Call(function, arguments, ufuncs.OPERATORS[function])


def walk(root):
    """All nodes below a root and the root, each once, behind those that it is computed from."""
    found = {}
    stack = [root]
    while stack:
        node = stack[-1]
        ahead = [each for each in getattr(node, "arguments", ()) if id(each) not in found]
        if ahead:
            stack += reversed(ahead)
        else:
            found.setdefault(id(node), stack.pop())
    return tuple(found.values())
