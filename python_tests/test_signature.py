# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What is read of kernels from PTX and from mangled names. Needs no compiler and no GPU."""

import pytest

from gpukern._program import signature
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

# Of nvcc 13.0, shortened.
PTX = """
.version 9.0
.target sm_90
.address_size 64

.visible .entry plain(
	.param .f32 plain_param_0,
	.param .u64 plain_param_1,
	.param .u64 plain_param_2,
	.param .u32 plain_param_3,
	.param .align 8 .b8 plain_param_4[16],
	.param .align 2 .b8 plain_param_5[2],
	.param .u8 plain_param_6,
	.param .f64 plain_param_7,
	.param .u16 plain_param_8,
	.param .u64 .ptr .align 1 plain_param_9
)
{
	ld.param.u64 	%rd1, [plain_param_1];
	ld.param.u64 	%rd2, [plain_param_2];
	cvta.to.global.u64 	%rd3, %rd1;
	ret;
}
.visible .entry _Z5saxpyIfEvT_PKS0_PS0_i(
	.param .f32 _Z5saxpyIfEvT_PKS0_PS0_i_param_0,
	.param .u64 _Z5saxpyIfEvT_PKS0_PS0_i_param_1,
	.param .u64 _Z5saxpyIfEvT_PKS0_PS0_i_param_2,
	.param .u32 _Z5saxpyIfEvT_PKS0_PS0_i_param_3
)
.maxntid 256, 1, 1
{
	ret;
}
.visible .entry _Z4nonev()
{
	ret;
}
.entry _ZN2nn1qEPKdPhPvxPKPKim13__nv_bfloat16b6__halfPFvvE(
	.param .u64 q_param_0,
	.param .u64 q_param_1,
	.param .u64 q_param_2,
	.param .u64 q_param_3,
	.param .u64 q_param_4,
	.param .u64 q_param_5,
	.param .align 2 .b8 q_param_6[2],
	.param .u8 q_param_7,
	.param .align 2 .b8 q_param_8[2],
	.param .u64 q_param_9
)
{
	ret;
}
"""

SAXPY = "_Z5saxpyIfEvT_PKS0_PS0_i"
Q = "_ZN2nn1qEPKdPhPvxPKPKim13__nv_bfloat16b6__halfPFvvE"


def test_entries():
    assert signature.entries(PTX) == ["plain", SAXPY, "_Z4nonev", Q]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("plain", "plain"),
        (SAXPY, SAXPY),
        ("saxpy<float>", SAXPY),
        ("&saxpy<float>", SAXPY),
        ("none", "_Z4nonev"),
        ("nn::q", Q),
        ("saxpy", None),
        ("q", None),
        ("", None),
    ],
)
def test_names_lead_to_entries(name, entry):
    assert signature.entry_of(PTX, name) == entry


def test_parameters_without_types():
    found = signature.parameters(PTX, "plain")
    kinds = [FLOAT, POINTER, WORD, INTEGER, BYTES, BYTES, INTEGER, FLOAT, INTEGER, POINTER]
    assert [parameter.kind for parameter in found] == kinds
    assert [parameter.size for parameter in found] == [4, 8, 8, 4, 16, 2, 1, 8, 2, 8]
    assert {parameter.type for parameter in found} == {None}


def test_parameters_of_a_template():
    found = signature.parameters(PTX, SAXPY)
    assert [parameter.kind for parameter in found] == [FLOAT, POINTER, POINTER, SIGNED]
    assert [parameter.type for parameter in found] == ["float", "float const*", "float*", "int"]
    assert [parameter.constant for parameter in found] == [False, True, False, False]
    assert [parameter.pointee for parameter in found] == [None, (FLOAT, 32), (FLOAT, 32), None]


def test_parameters_of_many_types():
    found = signature.parameters(PTX, Q)
    pointers = [POINTER, POINTER, POINTER, SIGNED, POINTER, UNSIGNED]
    assert [parameter.kind for parameter in found] == [*pointers, BFLOAT, BOOL, HALF, POINTER]
    assert [parameter.constant for parameter in found[:5]] == [True, False, False, False, True]
    assert [parameter.pointee for parameter in found[:3]] == [(FLOAT, 64), (UNSIGNED, 8), None]


def test_no_parameters():
    assert signature.parameters(PTX, "_Z4nonev") == []
    assert signature.parameters(PTX, "other") is None


def test_demangled():
    assert demangled("saxpy") is None
    assert demangled("_Zno such thing") is None
    assert demangled(SAXPY) == "void saxpy<float>(float, float const*, float*, int)"


def test_splitting_keeps_brackets_together():
    name, types = signature.split("void f<(int)3, g<h, i> >(a<b, c>, void (*)(int, x), int [2])")
    assert name == "f<(int)3, g<h, i> >"
    assert types == ["a<b, c>", "void (*)(int, x)", "int [2]"]
    assert signature.split("f()") == ("f", [])
    assert signature.split(None) == (None, None)
