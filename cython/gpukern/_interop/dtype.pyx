# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Conversions between NumPy's dtypes and gpukern_dtype."""

cimport numpy as cnp
from libc.stdint cimport uint16_t, uint64_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_OPAQUE,
    GPUKERN_UINT, gpukern_dtype,
)

import numpy as np

from gpukern.errors import GpukernTypeError

cdef extern from "numpy/arrayobject.h":
    int NPY_USERDEF
    bint PyArray_ISNBO(char byteorder)

cnp.import_array()

cdef enum:
    NUMBERS = 17    # NumPy's type numbers of bool and the numbers are below, but for float16

# The native dtypes of these numbers.
cdef gpukern_dtype known_dtypes[FLOAT16 + 1]

# The letters of NumPy's kinds, by type code.
cdef dict KINDS = {GPUKERN_INT: "i", GPUKERN_UINT: "u", GPUKERN_FLOAT: "f", GPUKERN_COMPLEX: "c",
                   GPUKERN_BOOL: "b"}
cdef dict cached_dtypes = {}
# Whether a user-defined dtype is bfloat16; asking for its name costs more than the call.
cdef dict cached_bfloat16 = {}


cdef bint is_native(cnp.dtype dtype):
    return PyArray_ISNBO(dtype.byteorder)


cdef bint is_bfloat16(cnp.dtype dtype) except -1:
    found = cached_bfloat16.get(dtype)
    if found is None:
        found = (<object>dtype).type.__name__ == "bfloat16" and dtype.itemsize == 2
        cached_bfloat16[dtype] = found
    return found


cdef int code_of(cnp.dtype dtype) except -1:
    if dtype.type_num >= NPY_USERDEF:
        return GPUKERN_BFLOAT if is_bfloat16(dtype) else GPUKERN_OPAQUE
    if dtype.type_num < 0 or not is_native(dtype):  # below 0: of a new class of dtypes
        return GPUKERN_OPAQUE
    if dtype.kind == c"f":
        return GPUKERN_FLOAT
    if dtype.kind == c"i":
        return GPUKERN_INT
    if dtype.kind == c"u":
        return GPUKERN_UINT
    # complex256 has more bits than the field holds.
    if dtype.kind == c"c" and dtype.itemsize <= 16:
        return GPUKERN_COMPLEX
    return GPUKERN_BOOL if dtype.kind == c"b" else GPUKERN_OPAQUE


cdef int describe_dtype(cnp.dtype dtype, gpukern_dtype *described) except -1:
    """Describes a dtype; one without a type code becomes opaque bytes.

    Item sizes of 0 and above 65535 do not fit: the lanes are 0 then.
    """
    if is_native(dtype) and (<unsigned int>dtype.type_num < NUMBERS or dtype.type_num == FLOAT16):
        described[0] = known_dtypes[dtype.type_num]
        return 0
    return find_description(dtype, described)


cdef int find_description(cnp.dtype dtype, gpukern_dtype *described) except -1:
    cdef int code = code_of(dtype)
    cdef Py_ssize_t size = dtype.itemsize
    described.code = code
    if code == GPUKERN_OPAQUE:
        described.bits = 8
        described.lanes = <uint16_t>size if size <= 65535 else 0
    else:
        described.bits = <unsigned char>(8 * size)
        described.lanes = 1
    return 0


cdef object numpy_dtype(gpukern_dtype dtype):
    """NumPy's dtype; plain bytes (V) of the same size for what NumPy has no name for."""
    cdef tuple key = (dtype.code, dtype.bits, dtype.lanes)
    found = cached_dtypes.get(key)
    if found is None:
        found = cached_dtypes[key] = find_numpy_dtype(dtype)
    return found


cdef object find_numpy_dtype(gpukern_dtype dtype):
    cdef int size = dtype.bits * dtype.lanes // 8
    if dtype.lanes == 1 and dtype.code == GPUKERN_BFLOAT and size == 2:
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            return np.dtype("V2")
        return np.dtype(bfloat16)
    if dtype.lanes == 1 and dtype.code in KINDS and dtype.bits % 8 == 0:
        try:
            return np.dtype(f"{KINDS[dtype.code]}{size}")
        except TypeError:
            pass
    return np.dtype(f"V{size}")


cdef int require_plain(cnp.dtype dtype, str what) except -1:
    """Refuses elements that are or hold references, to Python objects or to strings."""
    if dtype.kind == c"T":
        raise GpukernTypeError(f"{what} must be of a fixed-width dtype, got {dtype}")
    if dtype.hasobject:
        raise GpukernTypeError(f"{what} must hold no Python objects, got dtype {dtype}")
    return 0


cdef object bfloat16_bits(double value):
    """The bits of the bfloat16 nearest to a double, ties to even, as a NumPy uint16.

    One rounding; a conversion through float32, as in ml_dtypes, would round twice.
    """
    cdef float nearest = <float>value
    cdef double back = nearest
    cdef unsigned int bits
    memcpy(&bits, &nearest, 4)
    if value != value:
        return np.uint16(0x7FC0)
    # Round to odd: an inexact float32 gets an odd last bit, which keeps the tie apart.
    if back != value and not bits & 1:
        bits += 1 if abs(back) < abs(value) else -1
    return np.uint16(((<uint64_t>bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF)


cdef int fill_known_dtypes() except -1:
    for number in [*range(NUMBERS), FLOAT16]:
        find_description(cnp.PyArray_DescrFromType(number), &known_dtypes[<int>number])
    return 0


fill_known_dtypes()
