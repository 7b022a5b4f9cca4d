# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What a kernel's parameters are, read from the program's PTX and from mangled names.

The driver tells sizes alone. PTX tells floats from integers and from structures, and the mangled
name of a kernel of C++ linkage tells the types as they were written. An ``extern "C"`` kernel has
no such name: a parameter of 64 bits is a WORD there, an integer or a pointer, unless the code
turns it into a global address, as it does with each pointer that it follows.

PTX: "PTX ISA", section "Kernel Function Parameter Attributes". Names: the Itanium C++ ABI.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from gpukern._program.kernel_args import (
    BFLOAT,
    BOOL,
    BYTES,
    FLOAT,
    HALF,
    INTEGER,
    POINTER,
    SIGNED,
    UNSIGNED,
    WORD,
    demangled,
)

# The kind and the bits of a type, by its name in a demangled signature.
TYPES = {
    "bool": (BOOL, 8),
    "char": (INTEGER, 8),
    "signed char": (SIGNED, 8),
    "unsigned char": (UNSIGNED, 8),
    "short": (SIGNED, 16),
    "unsigned short": (UNSIGNED, 16),
    "int": (SIGNED, 32),
    "unsigned int": (UNSIGNED, 32),
    "long": (SIGNED, 64),
    "unsigned long": (UNSIGNED, 64),
    "long long": (SIGNED, 64),
    "unsigned long long": (UNSIGNED, 64),
    "float": (FLOAT, 32),
    "double": (FLOAT, 64),
    "__half": (HALF, 16),
    "__nv_bfloat16": (BFLOAT, 16),
}

ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^()]*)\))?")
# The groups: the letter and the bits of the type, further attributes, the name, the array's size.
PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.([fsub])(\d+)((?:\s+\.\w+(?:\s+\d+)?)*)"
    r"\s+([\w$.]+)(?:\[(\d+)\])?"
)
QUALIFIED = re.compile(r"(.*?)((?: const| volatile)*)")
LOADED = re.compile(r"ld\.param\.[ub]64\s+(%\w+),\s*\[([\w$.]+)\];")
FOLLOWED = re.compile(r"cvta\.to\.global\.u64\s+%\w+,\s*(%\w+);")


class Parameter(NamedTuple):
    """One parameter of a kernel."""

    size: int  # bytes
    kind: int
    type: str | None = None  # as C++ writes it, where the kernel's name tells it
    constant: bool = False  # a pointer to what the kernel only reads
    pointee: tuple[int, int] | None = None  # kind and bits of what a pointer leads to

    def description(self):
        """The type as C++ writes it, or what PTX tells of it."""
        bits = 8 * self.size
        known = {
            BYTES: "structure",
            FLOAT: "double" if self.size == 8 else "float",
            INTEGER: f"{bits}-bit integer",
            POINTER: "pointer",
            WORD: f"pointer or {bits}-bit integer",
        }
        return self.type or known.get(self.kind, "unknown type")


def entries(ptx):
    """The names of the kernels in PTX, as the compiler mangled them."""
    return [match[1] for match in ENTRY.finditer(ptx)]


def readable(entry):
    """A kernel's name as it was written."""
    return split(demangled(entry))[0] or entry


def entry_of(ptx, name):
    """The entry of a kernel by its name in C++; None if there is not exactly one.

    The name may be mangled or not, and qualified; that of an instance of a template has its
    arguments as the demangler writes them.
    """
    known = entries(ptx)
    if name in known:
        return name
    found = [entry for entry in known if split(demangled(entry))[0] == name.lstrip("&")]
    return found[0] if len(found) == 1 else None


def parameters(ptx, entry):
    """The parameters of a kernel, a list; None if PTX has no such entry."""
    found = next((match for match in ENTRY.finditer(ptx) if match[1] == entry), None)
    if found is None:
        return None
    declared = list(PARAMETER.finditer(found[2] or ""))
    end = ENTRY.search(ptx, found.end())
    followed = followed_by(ptx[found.end() : end.start() if end else len(ptx)])
    made = [of_ptx(match, match[4] in followed) for match in declared]
    types = split(demangled(entry))[1]
    if types is None or len(types) != len(made):
        return made
    return [of_type(text, parameter) for text, parameter in zip(types, made, strict=True)]


def followed_by(body):
    """The parameters that a kernel's code turns into global addresses."""
    parameter_in = {match[1]: match[2] for match in LOADED.finditer(body)}
    return {parameter_in.get(match[1]) for match in FOLLOWED.finditer(body)}


def of_ptx(declared, followed):
    """A parameter as PTX declares it."""
    letter, bits, attributes, _, count = declared.groups()
    if count is not None:
        return Parameter(int(count), BYTES)
    size = int(bits) // 8
    if letter == "f" and size in (4, 8):
        return Parameter(size, FLOAT)
    if letter in "su" and size == 8:
        return Parameter(size, POINTER if followed or ".ptr" in attributes else WORD)
    return Parameter(size, INTEGER if letter in "su" else BYTES)


def of_type(text, parameter):
    """The parameter, with what its type in C++ adds."""
    if "(*" in text:
        return parameter._replace(kind=POINTER, type=text, constant=True)
    if text.endswith("*"):
        target, qualifiers = QUALIFIED.fullmatch(text[:-1]).groups()
        return parameter._replace(
            kind=POINTER, type=text, constant="const" in qualifiers, pointee=TYPES.get(target)
        )
    # An enumeration is an integer, as PTX says; what else has no name here is a structure.
    kind, _ = TYPES.get(text, (parameter.kind, 0))
    return parameter._replace(kind=kind, type=text)


def split(signature):
    """The name of a function and its parameters' types; None for these if it tells none.

    ``void ns::f<float>(float const*, int)`` gives ``ns::f<float>`` and two types. A template
    instance has the type of its result in front.
    """
    if signature is None or not signature.endswith(")"):
        return signature, None
    opening = outside_brackets(signature, "(")[-1]
    name_start = outside_brackets(signature[:opening], " ")[-1:] or [-1]
    inside = signature[opening + 1 : -1]
    cuts = [-1, *outside_brackets(inside, ","), len(inside)]
    types = [inside[before + 1 : cut].strip() for before, cut in pairwise(cuts)]
    name = signature[name_start[0] + 1 : opening]
    return name, [] if types in ([""], ["void"]) else types


def outside_brackets(text, wanted):
    """The positions of a character that are in no brackets."""
    found, depth = [], 0
    for position, letter in enumerate(text):
        depth -= letter in ">)]}"
        if letter == wanted and depth == 0:
            found.append(position)
        depth += letter in "<([{"
    return found
