# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The kernels of element-wise functions compile; needs NVRTC but no GPU."""

import itertools

import pytest
from nvrtc import needs_nvrtc

import gpukern
from gpukern import Program
from gpukern._elementwise import cuda_codegen
from gpukern._elementwise.frontend import c_parser, type_resolution, ufuncs

pytestmark = needs_nvrtc

NAMES = list(type_resolution.SIZES)


def compiled(expression, types, access, out_type=None, **options):
    function = c_parser.translate(expression, **options)
    typed = type_resolution.typed(function, types)
    source = cuda_codegen.source(typed, out_type or typed.result, access)
    headers = dict(cuda_codegen.headers())
    program = Program(source.text, source.options, source.kernel, headers, architecture="sm_90")
    assert program.log == ""
    return program.ptx


def calls_of(name):
    """A sum with each function that a dtype knows."""
    for function, count in ufuncs.ARITY.items():
        # C has another function of the name remainder.
        call = "(a % a)" if function == "remainder" else f"{function}({', '.join('a' * count)})"
        try:
            type_resolution.typed(c_parser.translate(call), (name,))
        except TypeError:
            continue
        yield call


@pytest.mark.parametrize("name", NAMES)
def test_every_function_of_every_dtype(name):
    calls = list(calls_of(name))
    assert len(calls) >= (20 if "complex" in name else 60)
    convert = "" if "complex" in name else "double"
    compiled(
        " + ".join(f"{convert}({call})" for call in calls),
        (name,),
        cuda_codegen.Access("contiguous", "v"),
    )


@pytest.mark.parametrize("first", NAMES)
def test_pairs_of_dtypes(first):
    """All seconds in one kernel: a call of the compiler costs more than what it compiles."""
    others = []
    for second in NAMES:
        try:
            type_resolution.typed(c_parser.translate("a * b == a"), (first, second))
        except TypeError:
            continue
        others.append(second)
    names = [f"b{i}" for i in range(len(others))]
    expression = " + ".join(f"(a * {name} == a ? true : bool(a + {name}))" for name in names)
    access = cuda_codegen.Access("contiguous", "v" * (1 + len(names)))
    compiled(expression, (first, *others), access, inputs=("a", *names))


ACCESSES = [
    cuda_codegen.Access("contiguous", "csv"),
    cuda_codegen.Access("contiguous", "ccv"),
    cuda_codegen.Access("rows", "vsc", 2),
    cuda_codegen.Access("rows", "vvv", 5, wide=True),
    cuda_codegen.Access("strided", "vvc", 1),
    cuda_codegen.Access("strided", "vvv", 3, wide=True),
    cuda_codegen.Access("unaligned", "vvv", 2),
]


@pytest.mark.parametrize("access", ACCESSES, ids=str)
@pytest.mark.parametrize(
    "types",
    [("float32",) * 3, ("int8", "complex128", "float16"), ("bool",) * 3, ("bfloat16",) * 3],
    ids=str,
)
def test_layouts(access, types):
    for out_type in (None, "complex128"):
        compiled("a + b * c", types, access, out_type)


def test_memory_is_moved_in_packs():
    ptx = compiled("a * b + c", ("float32",) * 3, cuda_codegen.Access("contiguous", "vvv"))
    assert ptx.count("ld.global.v4.f32") == 3
    assert ptx.count("st.global.v4.f32") == 1
    assert "fma.rn" not in ptx
    ptx = compiled("a * b", ("float32", "int8"), cuda_codegen.Access("contiguous", "vv"))
    assert ptx.count("ld.global.v4.f32") == 1
    ptx = compiled("a * b", ("float", "float32"), cuda_codegen.Access("contiguous", "cv"))
    assert "ld.param.f64" in ptx or "ld.param.u64" in ptx
    assert "ld.param.u8" not in ptx


def test_options_of_the_caller():
    access = cuda_codegen.Access("contiguous", "vvv")
    types = ("float32",) * 3
    assert "fma.rn" in compiled("a * b + c", types, access, options=("--fmad=true",))
    compiled("a * b + c", types, access, options=("-std=c++20",))


def test_functions_of_cuda():
    access = cuda_codegen.Access("contiguous", "vv")
    types = ("float32", "float32")
    assert "fma.rn.f32" in compiled("fmaf(a, b, 2)", types, access)
    preamble = "__device__ float mine(float a) { return a + 1; }"
    assert "add" in compiled("mine(a) * b", types, access, preamble=preamble)
    with pytest.raises(gpukern.CompileError) as caught:
        compiled("absent(a) * b", types, access)
    assert '"absent" is undefined' in caught.value.log


@pytest.mark.parametrize(
    ("name", "function"), [("float16", "__hmul"), ("bfloat16", "__hmul"), ("float16", "hsqrt")]
)
def test_functions_of_cuda_on_16_bits(name, function):
    count = 1 if function == "hsqrt" else 2
    arguments = ", ".join("ab"[:count])
    access = cuda_codegen.Access("contiguous", "v" * count)
    compiled(f"{function}({arguments})", (name,) * count, access)


def test_names_that_are_not_ascii():
    def é(à):
        return à + 1

    for made in (
        gpukern.elementwise("a+1", name="é"),
        gpukern.elementwise("oé + 1", inputs=("oé",), name="數"),
        gpukern.elementwise("oé + 1"),
        gpukern.elementwise(é),
    ):
        text = made.source("float32")
        assert text.isascii()
        headers = dict(cuda_codegen.headers())
        program = Program(text, cuda_codegen.OPTIONS, headers=headers, architecture="sm_90")
        assert len(program.kernel_names) == 1


def test_literals_are_exact():
    for value, name in itertools.product(("0.1", "1e300", "3", "-7"), ("float32", "float64")):
        compiled(f"a * {value}", (name,), cuda_codegen.Access("contiguous", "v"))
    typed = type_resolution.typed(c_parser.translate("a * 0.1"), ("float32",))
    text = cuda_codegen.source(typed, "float32", cuda_codegen.Access("contiguous", "v")).text
    assert "__uint_as_float(0x3dcccccdu /* 0.1" in text
