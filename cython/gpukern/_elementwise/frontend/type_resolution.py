# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Types of a function's values, for arguments of given types: NumPy's own, asked of its ufuncs.

A type is a name: a dtype's, or 'int', 'float' and 'complex' for a Python number, which is weak (NEP
50): it takes the type of the array that it meets. What Python itself computes from weak values
only, by operators and by Python's functions, stays weak; what a function of NumPy's computes from
them does not. NumPy need not have bfloat16: it goes with numbers, bool and the 8-bit integers,
wider floats take it in, and anything else has to be converted first, as in ml_dtypes.
"""

import functools
from dataclasses import dataclass

import numpy as np

from gpukern._elementwise.frontend import ufuncs
from gpukern._elementwise.frontend.constant_folding import SIZES, converted, folded, require_known
from gpukern._elementwise.frontend.graph import Call, Cast, Constant, Input
from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError

# The dtype that a weak value has where it meets no array.
STRONG = {"int": "int64", "float": "float64", "complex": "complex128"}
WEAK_TYPES = {"int": int, "float": float, "complex": complex}
WEAK_OF_KIND = {"i": "int", "u": "int", "f": "float", "c": "complex"}
WITH_BFLOAT16 = ("bool", "int8", "uint8", "bfloat16", "int", "float")
ABOVE_BFLOAT16 = ("float32", "float64", "complex64", "complex128")
DTYPES = {name: np.dtype(name) for name in SIZES if name != "bfloat16"}
# A dtype creates its name at each access.
NAMES = {dtype: name for name, dtype in DTYPES.items()}
RESOLVED = 4096  # signatures of ufuncs in the cache
COMPARED_INTEGERS = frozenset(name for name in SIZES if "int" in name)


@dataclass(frozen=True, eq=False)
class Value:
    """An input ('input'), a number ('constant') or the result of a step ('step')."""

    kind: str
    type: str
    content: object  # the input's position, the number, or the step's


@dataclass(frozen=True, eq=False)
class Step:
    """A function of values, each converted to its operand type; 'cast' and 'device' are two more.

    `computed` is the dtype that comes out of it, which a weak value has as well.
    """

    function: str
    operands: tuple
    operand_types: tuple
    computed: str
    weak: bool = False  # a Python number, of the kind of `computed`
    name: str = ""  # of a function that only a GPU has


@dataclass(frozen=True, eq=False)
class Typed:
    """A function for arguments of given types."""

    function: object
    types: tuple
    steps: tuple
    root: Value
    result: str  # the dtype of the result


def typed(function, types):
    """Give each node its type; GpukernTypeError where NumPy has no loop for the operands."""
    return Typing(function, types).run()


class Typing:
    """One pass over the nodes of a function."""

    def __init__(self, function, types):
        self.function = function
        self.types = types
        self.steps = []
        self.values = {}

    def run(self):
        """Type all nodes."""
        for node in self.function.nodes:
            self.values[id(node)] = self.value(node)
        root = self.values[id(self.function.root)]
        result = self.function.dtype or STRONG.get(root.type, root.type)
        return Typed(self.function, self.types, tuple(self.steps), root, result)

    def value(self, node):
        """The value of a node, whose operands have theirs."""
        if isinstance(node, Input):
            return Value("input", self.types[node.position], node.position)
        if isinstance(node, Constant):
            return constant(node.value)
        if isinstance(node, Cast):
            operand = self.values[id(node.arguments[0])]
            if operand.kind == "constant":
                return constant(converted(operand.content, node.dtype))
            return self.step("cast", (operand,), (operand.type,), node.dtype)
        operands = tuple(self.values[id(each)] for each in node.arguments)
        if not isinstance(node, Call):
            return self.device_call(node.name, operands)
        if all(each.kind == "constant" for each in operands):
            return constant(folded(node, [each.content for each in operands]))
        weak = node.of_numbers is not None and all(each.type in WEAK_TYPES for each in operands)
        return self.call(node.function, operands, weak)

    def step(self, function, operands, operand_types, computed, weak=False, **more):
        """Add a step."""
        kind = "c" if computed.startswith("complex") else computed[0]
        weak = weak and kind in WEAK_OF_KIND
        self.steps.append(Step(function, operands, operand_types, computed, weak, **more))
        return Value("step", WEAK_OF_KIND[kind] if weak else computed, self.steps[-1])

    def device_call(self, name, operands):
        """A function of CUDA C++: its result is converted to the type of its arguments."""
        common = promoted(tuple(each.type for each in operands))
        types = tuple(common if each.type in WEAK_TYPES else each.type for each in operands)
        return self.step("device", operands, types, common, name=name)

    def call(self, function, operands, weak):
        """A function of the table."""
        types = strong_if_weak(tuple(each.type for each in operands))
        if function == "where":
            common = promoted(types[1:])
            return self.step(function, operands, ("bool", common, common), common)
        if function in ("real", "imag"):
            part = {"complex64": "float32", "complex128": "float64"}.get(types[0], types[0])
            return self.step(function, operands, types, part, weak)
        if function == "power":
            function, operands, types = simple_power(operands, types)
        if function in ufuncs.COMPARISONS:
            exact = compared_exactly(operands, types)
            if exact is not None:
                return self.step(function, operands, exact, "bool")
        *operand_types, computed = resolved(function, types)
        if function in ufuncs.LOGICAL:
            operand_types = ["bool"] * len(operands)
        if function not in ufuncs.COMPLEX and any("complex" in each for each in operand_types):
            raise GpukernTypeError(f"elementwise: {function} is not known for complex numbers")
        for operand, wanted in zip(operands, operand_types, strict=True):
            require_fit(operand, wanted)
        if function == "power" and "int" in computed and is_negative(operands[1]):
            raise GpukernValueError("Integers to negative integer powers are not allowed.")
        return self.step(function, operands, tuple(operand_types), computed, weak)


def constant(number):
    """A Python number is weak, but for a bool; a NumPy scalar is not."""
    if isinstance(number, np.generic):
        require_known(number.dtype.name)
        return Value("constant", number.dtype.name, number)
    return Value("constant", type(number).__name__, number)


def dtype_name(dtype):
    """The name of a dtype to compute with, None for None."""
    if dtype is None:
        return None
    try:
        found = dtype if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype).name
    except (TypeError, ValueError) as error:
        raise GpukernTypeError(f"elementwise: dtype: {error}") from None
    require_known(found)
    return found


def argument_type(given):
    """The type that a dtype of an argument, or a type of Python's numbers, stands for."""
    for name, weak in WEAK_TYPES.items():
        if given is weak:
            return name
    if given is None:
        raise GpukernTypeError("elementwise: an argument must have a dtype, got None")
    return dtype_name(given)


def require_fit(operand, wanted):
    """Refuse a Python int that the integer dtype it takes does not hold, as NumPy does."""
    if operand.kind == "constant" and operand.type == "int" and wanted in COMPARED_INTEGERS:
        limits = np.iinfo(wanted)
        if not limits.min <= operand.content <= limits.max:
            raise GpukernOverflowError(
                f"elementwise: Python integer {operand.content} out of bounds for {wanted}"
            )


def is_negative(operand):
    """Whether a value is known to be a negative number."""
    return operand.kind == "constant" and operand.content < 0


def simple_power(operands, types):
    """NumPy's short cuts for a base of floats and a number as the exponent."""
    base, exponent = operands
    shortcuts = {2: "square", 1: "positive", 0.5: "sqrt", -1: "reciprocal"}
    if exponent.kind != "constant" or exponent.type not in ("int", "float"):
        return "power", operands, types
    function = shortcuts.get(exponent.content)
    is_float = "float" in types[0] or "complex" in types[0]
    is_square = function == "square" and exponent.type == "int"
    if function is None or not (is_float or is_square):
        return "power", operands, types
    return function, (base,), types[:1]


def compared_exactly(operands, types):
    """The operand types for an integer dtype and a Python int, which need not fit it."""
    if all(each.type != "int" for each in operands) or not set(types) <= {
        *COMPARED_INTEGERS,
        "int",
    }:
        return None
    exact = []
    for operand, type_ in zip(operands, types, strict=True):
        if operand.type == "int":
            is_large = operand.kind == "constant" and operand.content >= 2**63
            type_ = "uint64" if is_large else "int64"
            require_fit(operand, type_)
        exact.append(type_)
    return tuple(exact)


def promoted(types):
    """The dtype of values of these types in one array."""
    spelled, narrow = without_bfloat16(strong_if_weak(types))
    # NumPy takes a number for a weak type.
    asked = [WEAK_TYPES[each](0) if each in WEAK_TYPES else DTYPES[each] for each in spelled]
    found = np.result_type(*asked).name
    return narrow if found == "float16" else found


def strong_if_weak(types):
    """The types, or those that they have where all are weak."""
    is_weak = all(each in WEAK_TYPES for each in types)
    return tuple(STRONG[each] for each in types) if is_weak else types


@functools.lru_cache(RESOLVED)
def resolved(function, types):
    """The types of NumPy's loop, a tuple: the operands' and the result's."""
    ufunc = ufuncs.UFUNCS[function]
    spelled, narrow = without_bfloat16(types)
    asked = tuple(WEAK_TYPES.get(each) or DTYPES[each] for each in spelled)
    try:
        found = ufunc.resolve_dtypes((*asked, None))
    except TypeError:
        raise GpukernTypeError(
            f"elementwise: {function} is not known for {', '.join(types)}"
        ) from None
    names = [NAMES.get(each) or each.name for each in found]
    for name in names:
        require_known(name)
    return tuple(narrow if name == "float16" else name for name in names)


def without_bfloat16(types):
    """The types with float16, or the wider float that takes it in, in the place of bfloat16.

    And what a float16 that comes out of them stands for.
    """
    if "bfloat16" not in types:
        return types, "float16"
    others = [each for each in types if each not in WITH_BFLOAT16]
    for each in others:
        if each not in ABOVE_BFLOAT16:
            raise GpukernTypeError(
                f"elementwise: bfloat16 does not go with {each}; convert one of them first"
            )
    if others:
        return tuple("float32" if each == "bfloat16" else each for each in types), "float16"
    return tuple("float16" if each not in WEAK_TYPES else each for each in types), "bfloat16"
