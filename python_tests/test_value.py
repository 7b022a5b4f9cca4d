# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Values as arguments of kernels: the bytes that they become, and what is refused. On the CPU."""

import ctypes
import struct

import ml_dtypes
import numpy as np
import pytest

import gpukern
from gpukern._program.kernel_args import (
    BFLOAT,
    BOOL,
    BYTES,
    FLOAT,
    HALF,
    INTEGER,
    POINTER,
    SIGNED,
    UNKNOWN,
    UNSIGNED,
    WORD,
    argument_bytes,
)
from gpukern._program.signature import Parameter


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


PAIR = np.dtype([("a", "i4"), ("b", "f4")])

RIGHT = [
    (2, FLOAT, 4, "<f4"),
    (2.5, FLOAT, 4, "<f4"),
    (2.5, FLOAT, 8, "<f8"),
    (-(2**53) - 1, FLOAT, 8, "<f8"),
    (True, FLOAT, 8, "<f8"),
    (1e300, FLOAT, 4, "<f4"),
    (float("nan"), FLOAT, 4, "<f4"),
    (np.float32(0.1), FLOAT, 4, "<f4"),
    (np.float64(0.1), FLOAT, 8, "<f8"),
    (ctypes.c_float(0.1), FLOAT, 4, "<f4"),
    (ctypes.c_double(0.1), FLOAT, 8, "<f8"),
    (1.5, HALF, 2, "<f2"),
    (np.float16(1.5), HALF, 2, "<f2"),
    (-1, INTEGER, 1, "<i1"),
    (255, INTEGER, 1, "<u1"),
    (-1, INTEGER, 4, "<i4"),
    (2**32 - 1, INTEGER, 4, "<u4"),
    (np.uint32(7), INTEGER, 4, "<u4"),
    (np.int32(-7), INTEGER, 4, "<i4"),
    (np.bool_(True), INTEGER, 1, "<u1"),
    (-(2**31), SIGNED, 4, "<i4"),
    (np.int32(-7), SIGNED, 4, "<i4"),
    (np.uint32(7), SIGNED, 4, "<i4"),
    (np.int64(-7), SIGNED, 8, "<i8"),
    (ctypes.c_longlong(-7), SIGNED, 8, "<i8"),
    (2**32 - 1, UNSIGNED, 4, "<u4"),
    (2**64 - 1, UNSIGNED, 8, "<u8"),
    (np.int32(7), UNSIGNED, 4, "<u4"),
    (300, UNSIGNED, 2, "<u2"),
    (True, SIGNED, 4, "<i4"),
    (True, BOOL, 1, "?"),
    (0, BOOL, 1, "?"),
    (1, BOOL, 1, "?"),
    (np.bool_(True), BOOL, 1, "?"),
    (None, POINTER, 8, None),
    (None, WORD, 8, None),
    (np.uintp(2**63), POINTER, 8, "<u8"),
    (-5, WORD, 8, "<i8"),
    (2**64 - 1, WORD, 8, "<u8"),
    (np.int64(-5), WORD, 8, "<i8"),
    (1 + 2j, BYTES, 8, "<c8"),
    (1 + 2j, BYTES, 16, "<c16"),
    (np.complex64(1 + 2j), BYTES, 8, "<c8"),
    (np.float32(1.5), UNKNOWN, 4, "<f4"),
    (np.int32(1), UNKNOWN, 4, "<i4"),
]


@pytest.mark.parametrize(("value", "kind", "size", "dtype"), RIGHT)
def test_values_become_the_parameters_type(value, kind, size, dtype):
    plain = getattr(value, "value", value)
    with np.errstate(over="ignore"):
        expected = bytes(size) if dtype is None else np.array(plain).astype(dtype).tobytes()
    assert argument_bytes(value, Parameter(size, kind)) == expected


def test_structures_by_size():
    record = np.array((3, 0.5), PAIR)[()]
    expected = struct.pack("<if", 3, 0.5)
    for value in (record, expected, bytearray(expected), Pair(3, 0.5)):
        assert argument_bytes(value, Parameter(8, BYTES)) == expected


def test_bfloat16_rounds_once():
    for value in (1.0, 1 / 3, -1e-40, 3.3895e38):
        expected = ml_dtypes.bfloat16(value).tobytes()
        assert argument_bytes(value, Parameter(2, BFLOAT)) == expected
        assert argument_bytes(ml_dtypes.bfloat16(value), Parameter(2, BFLOAT)) == expected


def test_ints_round_once():
    hard = 2**60 + 2**36 + 1  # to the nearest float32 by way of float64 is another
    below, above = np.float32(2**60), np.nextafter(np.float32(2**60), np.float32(np.inf))
    assert hard - int(below) > int(above) - hard
    assert argument_bytes(hard, Parameter(4, FLOAT)) == above.tobytes()


WRONG = [
    (2.0, SIGNED, 4, TypeError),
    (2.0, INTEGER, 4, TypeError),
    (2.0, UNSIGNED, 8, TypeError),
    (2.0, BOOL, 1, TypeError),
    (2.0, POINTER, 8, TypeError),
    (2.0, WORD, 8, TypeError),
    (2.0, BYTES, 8, TypeError),
    (2.0, UNKNOWN, 8, TypeError),
    (2, UNKNOWN, 4, TypeError),
    (2, BYTES, 4, TypeError),
    (2, POINTER, 8, TypeError),
    (True, POINTER, 8, TypeError),
    (1j, FLOAT, 4, TypeError),
    (1j, SIGNED, 8, TypeError),
    (1j, BYTES, 12, TypeError),
    (np.float64(2), FLOAT, 4, TypeError),  # cupy#8485: garbage there
    (np.float32(2), FLOAT, 8, TypeError),
    (np.int32(2), FLOAT, 4, TypeError),
    (np.int64(2), SIGNED, 4, TypeError),
    (np.float32(2), SIGNED, 4, TypeError),
    (np.float64(2), WORD, 8, TypeError),
    (np.int64(2), POINTER, 8, TypeError),
    (np.int16(2), HALF, 2, TypeError),
    (np.float16(2), BFLOAT, 2, TypeError),
    (np.int8(1), BOOL, 1, TypeError),
    (np.complex64(2), FLOAT, 8, TypeError),
    (np.zeros((), PAIR)[()], BYTES, 12, TypeError),
    (b"1234", BYTES, 8, TypeError),
    (b"1234", FLOAT, 4, TypeError),
    (Pair(), BYTES, 16, TypeError),
    (ctypes.c_float(2), SIGNED, 4, TypeError),
    (ctypes.c_int(2), FLOAT, 4, TypeError),
    (ctypes.c_char_p(b"x"), WORD, 8, TypeError),
    (None, SIGNED, 8, TypeError),
    (None, FLOAT, 8, TypeError),
    ("2", SIGNED, 4, TypeError),
    (2**31, SIGNED, 4, OverflowError),
    (-(2**31) - 1, SIGNED, 4, OverflowError),
    (-1, UNSIGNED, 4, OverflowError),
    (-1, UNSIGNED, 8, OverflowError),
    (2**32, INTEGER, 4, OverflowError),
    (256, INTEGER, 1, OverflowError),
    (-129, INTEGER, 1, OverflowError),
    (2**64, WORD, 8, OverflowError),
    (2**63, SIGNED, 8, OverflowError),
    (2, BOOL, 1, OverflowError),
    (-1, BOOL, 1, OverflowError),
    (np.int32(-1), UNSIGNED, 4, OverflowError),
    (np.uint32(2**31), SIGNED, 4, OverflowError),
    (10**400, FLOAT, 8, OverflowError),
    (2**128, FLOAT, 4, OverflowError),
    (2**17, HALF, 2, OverflowError),
]


@pytest.mark.parametrize(("value", "kind", "size", "error"), WRONG)
def test_what_does_not_fit_is_refused(value, kind, size, error):
    with pytest.raises(error, match=r"^k: argument 0 must ") as caught:
        argument_bytes(value, Parameter(size, kind), "k")
    assert isinstance(caught.value, gpukern.GpukernError)
    assert f"{size} byte" in str(caught.value)


def test_errors_name_the_type_where_it_is_known():
    with pytest.raises(TypeError, match=r"0 must be 'float' \(4 bytes\), got numpy.float64"):
        argument_bytes(np.float64(1), Parameter(4, FLOAT, "float"))
