# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""CUDA C++ from a typed function: one device function and a kernel around it.

The kernels move packs, see cuda/saxpy/tuning.hpp for what was measured to be best: a thread takes
as many elements as the widest item leaves room for in 16 bytes.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpukern._elementwise.frontend import constant_folding, ufuncs
from gpukern._elementwise.frontend.constant_folding import SIZES
from gpukern._elementwise.frontend.type_resolution import STRONG

# A copy of cuda/elementwise, see setup.py.
HEADER_FOLDER = Path(__file__).parent / "headers"
HEADERS = ("elementwise/types.cuh", "elementwise/functions.cuh", "elementwise/memory.cuh")
COMPLEX_HEADER = "elementwise/complex.cuh"
# NumPy rounds after each operation: no multiplication may be fused with an addition.
OPTIONS = ("--std=c++17", "--fmad=false")
PACK_BYTES = 16
# Elements a thread where each takes many instructions, which are written out for each element.
MOST_OF_MANY = 4
MOST_ITEMS = 8

TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{name: f"gpukern::{name}" for name in SIZES if name not in ("bool", "float32", "float64")},
}
NARROW = ("float16", "bfloat16")
# Where our header has another name than NumPy, or CUDA's own function will do.
DEVICE_NAMES = {
    **{name: f"::{name}" for name in ufuncs.TRANSCENDENTAL if not name.startswith("arc")},
    **{f"arc{name}": f"::a{name}" for name in ufuncs.words("sin cos tan sinh cosh tanh")},
    "arctan2": "::atan2",
    "power": "gpukern::power",
    **{name: f"::{name}" for name in ufuncs.words("fabs sqrt floor ceil trunc rint copysign")},
    **{
        name: f"gpukern::{name}_"
        for name in ufuncs.words("fmod remainder fmax fmin isnan isinf isfinite signbit")
    },
}
ROUNDING = ("floor", "ceil", "trunc")  # NumPy's leave integers what they are


@dataclass(frozen=True)
class Access:
    """How a kernel accesses its operands.

    pattern: 'contiguous', vector accesses; 'rows', vector accesses in the innermost dimension of a
    nest; 'strided', any strides; 'unaligned', any strides and any alignment.
    flags: for each input, 'v' an item for each element, 's' the same item for all elements of a
    vector, 'c' a scalar among the kernel's arguments; in 'strided' and 'unaligned' all but 'c' are
    alike.
    wide: positions need 64 bits.
    """

    pattern: str
    flags: str
    rank: int = 1
    wide: bool = False


@dataclass(frozen=True)
class Source:
    """What is given to the compiler, and the name of the kernel."""

    text: str
    kernel: str
    options: tuple


@functools.cache
def headers():
    """The names and texts of our headers."""
    names = (*HEADERS, COMPLEX_HEADER)
    return tuple((name, (HEADER_FOLDER / name).read_text(encoding="utf-8")) for name in names)


def pack_items(typed, is_number, out_type):
    """How many elements a thread takes."""
    arrays = [each for each, number in zip(typed.types, is_number, strict=True) if not number]
    most = PACK_BYTES // max(SIZES[STRONG.get(each, each)] for each in (*arrays, out_type))
    many = any(
        step.function in ufuncs.TRANSCENDENTAL or step.function == "device" for step in typed.steps
    )
    return min(most, MOST_OF_MANY) if many else most


def kernel_name(function):
    """The name of a function's kernels, in ASCII, as CUDA C++ has names."""
    letters = "".join(
        (each if each.isascii() else f"u{ord(each):04x}")
        for each in function.name
        if each.isalnum() or each == "_"
    )
    return f"gpukern_{letters or 'function'}"


def source(typed, out_type, access):
    """The source of a kernel."""
    function = typed.function
    name = kernel_name(function)
    items = pack_items(typed, [flag == "c" for flag in access.flags], out_type)
    kernel = Kernel(typed, out_type, access, items)
    words = " ".join(function.text.split()).replace("\\", "").replace("?", "? ")
    comment = words.encode("ascii", "backslashreplace").decode()
    parts = [
        f"// {comment}",
        *includes(typed),
        *([function.preamble] if function.preamble else []),
        *(f'#include "{header}"' for header in HEADERS),
        *[f'#include "{COMPLEX_HEADER}"'] * any(map(is_complex, typed.steps)),
        "",
        *device_function(typed, out_type),
        "",
        *kernel.lines(name),
        "",
    ]
    own = tuple(each for each in OPTIONS if not is_given(each, function.options))
    return Source("\n".join(parts), name, own + tuple(function.options))


def is_given(option, options):
    """Whether the caller's options set one of ours: --fmad=true, -fmad=true, -std=c++20."""
    name = option.lstrip("-").partition("=")[0]
    return any(each.lstrip("-").partition("=")[0] == name for each in options)


def includes(typed):
    """CUDA's headers of 16-bit types, for functions of CUDA C++ that take such numbers."""
    used = {
        each for step in typed.steps if step.function == "device" for each in step.operand_types
    }
    found = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}
    return [f"#include <{found[name]}>" for name in sorted(used & set(found))]


def is_complex(step):
    """Whether a step is a function of complex.cuh."""
    return "complex" in step.computed and step.function in ufuncs.COMPLEX_TRANSCENDENTAL


def device_function(typed, out_type):
    """The lines of the function of one element."""
    parameters = ", ".join(
        f"{TYPES[STRONG.get(each, each)]} x{i}" for i, each in enumerate(typed.types)
    )
    numbers = {id(step): i for i, step in enumerate(typed.steps)}
    out = TYPES[out_type]
    lines = [f"__device__ __forceinline__ {out} compute({parameters}) {{"]
    for i, step in enumerate(typed.steps):
        lines.append(f"  const {TYPES[step.computed]} t{i} = {step_text(step, numbers)};")
    root = converted(typed.root, typed.result, numbers)
    if out_type != typed.result:
        root = f"gpukern::cast<{out}>({root})"
    return [*lines, f"  return {root};", "}"]


def step_text(step, numbers):
    """The expression of a step."""
    keeps = step.function in ("where", "device", "cast")
    texts = []
    for value, wanted in zip(step.operands, step.operand_types, strict=True):
        text = converted(value, STRONG.get(wanted, wanted), numbers)
        texts.append(f"gpukern::cast<float>({text})" if wanted in NARROW and not keeps else text)
    result = TYPES[step.computed]
    if step.function == "cast":
        return f"gpukern::cast<{result}>({texts[0]})"
    name = step.name or DEVICE_NAMES.get(step.function, f"gpukern::{step.function}")
    if is_complex(step):
        name = f"gpukern::complex_{step.function}"
    if step.function in ROUNDING and "float" not in step.computed:
        name = "gpukern::positive"
    call = f"{name}({', '.join(texts)})"
    if step.function == "device" or (step.computed in NARROW and not keeps):
        return f"gpukern::cast<{result}>({call})"
    return call


def converted(value, wanted, numbers):
    """A value as a dtype."""
    if value.kind == "constant":
        return literal(value.content, wanted)
    if value.kind == "input":
        text, own = f"x{value.content}", STRONG.get(value.type, value.type)
    else:
        text, own = f"t{numbers[id(value.content)]}", value.content.computed
    return text if own == wanted else f"gpukern::cast<{TYPES[wanted]}>({text})"


def literal(number, wanted):
    """A number as a literal of a dtype, exactly as NumPy converts it."""
    if wanted == "bfloat16":
        return f"gpukern::bfloat16({literal(number, 'float32')})"
    item = constant_folding.converted(number, wanted)
    if wanted == "float16":
        return f"gpukern::float16({literal(item, 'float32')})"
    if wanted == "bool":
        return "true" if item else "false"
    if wanted.startswith("complex"):
        part = "float32" if wanted == "complex64" else "float64"
        return f"{TYPES[wanted]}{{{literal(item.real, part)}, {literal(item.imag, part)}}}"
    if wanted == "float32":
        return f"__uint_as_float(0x{item.view(np.uint32):08x}u /* {item} */)"
    if wanted == "float64":
        return f"__longlong_as_double(0x{item.view(np.uint64):016x}ll /* {item} */)"
    bits = f"0x{int(item) % 2 ** (8 * SIZES[wanted]):x}ull"
    return f"static_cast<{TYPES[wanted]}>({bits} /* {item} */)"


class Kernel:
    """The lines of a kernel around the device function."""

    def __init__(self, typed, out_type, access, items):
        self.types = [TYPES[STRONG.get(each, each)] for each in typed.types]
        self.out = TYPES[out_type]
        self.access = access
        self.items = items
        # Operand 0 is the output; numbers are no operands.
        self.arrays = [i for i, flag in enumerate(access.flags) if flag != "c"]
        self.numbers = [i for i, flag in enumerate(access.flags) if flag == "c"]
        self.operand = {i: k for k, i in enumerate(self.arrays, 1)}
        self.operands = 1 + len(self.arrays)
        self.offset = "gpukern::uint64" if access.wide else "gpukern::uint32"  # of positions

    def lines(self, name):
        """The whole kernel."""
        parameters = f"const gpukern::Nest<{self.operands}, {self.access.rank}> nest"
        if self.access.pattern == "contiguous":
            parameters = f"const gpukern::Span<{self.operands}> span"
        if self.numbers:
            parameters += f", const gpukern::Scalars<{len(self.numbers)}> scalars"
        bodies = {"contiguous": self.packs, "rows": self.rows}
        body = bodies.get(self.access.pattern, self.item_by_item)
        return [
            f'extern "C" __global__ void __launch_bounds__(gpukern::kThreads) {name}({parameters})'
            " {",
            "  gpukern::wait_for_previous();",
            *(
                f"  const auto x{i} = gpukern::scalar<{self.types[i]}>(scalars, {k});"
                for k, i in enumerate(self.numbers)
            ),
            *(f"  {line}" for line in body()),
            "}",
        ]

    def call(self, of_pack):
        """The device function's call; `of_pack` writes an input with an item for each element."""
        flags = self.access.flags
        arguments = (of_pack(i) if flag == "v" else f"x{i}" for i, flag in enumerate(flags))
        return f"compute({', '.join(arguments)})"

    def loads(self, address):
        """The lines that read a pack of each input; `address` writes an input's address."""
        for i in self.arrays:
            if self.access.flags[i] == "v":
                load = f"load_pack<{self.types[i]}, {self.items}>"
            else:
                load = f"load<{self.types[i]}>"
            yield f"const auto x{i} = gpukern::{load}({address(i)});"

    def computed_pack(self):
        """The lines that compute a pack."""
        return [
            f"gpukern::Pack<{self.out}, {self.items}> out;",
            "#pragma unroll",
            f"for (int i = 0; i < {self.items}; ++i) out.set(i, "
            f"{self.call(lambda i: f'x{i}[i]')});",
        ]

    def packs(self):
        """Contiguous operands."""

        def at(i, place):
            # What is the same for all elements stays where it is.
            base = f"span.address[{self.operand[i]}]"
            along = self.access.flags[i] == "v"
            return f"{base} + {place} * sizeof({self.types[i]})" if along else base

        edge = self.call(lambda i: f"gpukern::load<{self.types[i]}>({at(i, 'n')})")
        return [
            "const gpukern::int64 p = gpukern::thread_of_grid();",
            "if (p < span.packs) {",
            f"  const gpukern::int64 n = span.head + p * {self.items};",
            *(f"  {line}" for line in self.loads(lambda i: at(i, "n"))),
            *(f"  {line}" for line in self.computed_pack()),
            f"  gpukern::store_pack(span.address[0] + n * sizeof({self.out}), out);",
            "} else if (p - span.packs < span.edges) {",
            "  const gpukern::int64 e = p - span.packs;",
            f"  const gpukern::int64 n = e < span.head ? e : span.packs * {self.items} + e;",
            *(
                f"  const auto x{i} = gpukern::load<{self.types[i]}>({at(i, 'n')});"
                for i in self.arrays
                if self.access.flags[i] == "s"
            ),
            f"  gpukern::store<{self.out}>(span.address[0] + n * sizeof({self.out}), {edge});",
            "}",
        ]

    def rows(self):
        """Packs in the innermost dimension of a nest, whose extent and strides count packs."""
        return [
            f"const auto p = static_cast<{self.offset}>(gpukern::thread_of_grid());",
            f"if (p >= static_cast<{self.offset}>(nest.count)) return;",
            f"gpukern::int64 offset[{self.operands}];",
            "gpukern::unravel(nest, p, offset);",
            *self.loads(lambda i: f"nest.address[{self.operand[i]}] + offset[{self.operand[i]}]"),
            *self.computed_pack(),
            "gpukern::store_pack(nest.address[0] + offset[0], out);",
        ]

    def item_by_item(self):
        """Any strides: a thread takes items one block apart, so that warps read in order."""
        items = min(self.items, MOST_ITEMS)
        aligned = "false" if self.access.pattern == "unaligned" else "true"
        arguments = ", ".join(
            f"x{i}" if flag == "c" else f"x{i}[i]" for i, flag in enumerate(self.access.flags)
        )
        return [
            f"const auto first = static_cast<{self.offset}>(gpukern::int64{{blockIdx.x}} * "
            f"({items} * gpukern::kThreads) + threadIdx.x);",
            f"const auto count = static_cast<{self.offset}>(nest.count);",
            *(f"{self.types[i]} x{i}[{items}];" for i in self.arrays),
            f"char* out[{items}];",
            "#pragma unroll",
            f"for (int i = 0; i < {items}; ++i) {{",
            "  // Behind the end the last item is read again, so that no load waits for a branch.",
            f"  const {self.offset} p = min(first + i * gpukern::kThreads, count - 1);",
            f"  gpukern::int64 offset[{self.operands}];",
            "  gpukern::unravel(nest, p, offset);",
            "  out[i] = nest.address[0] + offset[0];",
            *(
                f"  x{i}[i] = gpukern::load<{self.types[i]}, {aligned}>"
                f"(nest.address[{k}] + offset[{k}]);"
                for i, k in self.operand.items()
            ),
            "}",
            "#pragma unroll",
            f"for (int i = 0; i < {items}; ++i) {{",
            "  if (first + i * gpukern::kThreads < count)",
            f"    gpukern::store<{self.out}, {aligned}>(out[i], compute({arguments}));",
            "}",
        ]
