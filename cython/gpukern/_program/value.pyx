# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Values as arguments of a kernel: converted to its parameters' real types, or refused.

A Python number becomes what the parameter is: an int a float where that is one, but no float an
int. NumPy's scalars have sizes and kinds of their own, which have to be the parameter's.
"""

from libc.math cimport isinf
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT, gpukern_dtype,
)
from gpukern._interop.dtype cimport bfloat16_bits, describe
from gpukern._program.parameter cimport (
    BFLOAT, BOOL, BYTES, FLOAT, HALF, INTEGER, POINTER, SIGNED, UNKNOWN, UNSIGNED, WORD, Slot,
    fill_slot, name_of_slot, store_plainly, takes_pointer,
)
from gpukern._interop.scalar cimport float_of_int

import sys

import numpy as np

from gpukern.errors import GpukernOverflowError, GpukernTypeError

# Which type codes of a NumPy scalar a kind of parameter takes, by bits; UNKNOWN and BYTES take all.
cdef enum:
    ANY_CODE = (1 << GPUKERN_INT) | (1 << GPUKERN_UINT) | (1 << GPUKERN_BOOL)

cdef dict CODES = {
    FLOAT: 1 << GPUKERN_FLOAT, HALF: 1 << GPUKERN_FLOAT, BFLOAT: 1 << GPUKERN_BFLOAT,
    INTEGER: ANY_CODE, SIGNED: ANY_CODE, UNSIGNED: ANY_CODE, BOOL: 1 << GPUKERN_BOOL,
    POINTER: 1 << GPUKERN_UINT, WORD: (1 << GPUKERN_INT) | (1 << GPUKERN_UINT),
}


cdef bint store_value(object value, const Slot *slot, void *to, str what, object type_) except -1:
    """Stores whatever may stand for a value; returns False for what is none, such as an array."""
    if store_plainly(value, slot, to):
        return True
    if value is None and takes_pointer(slot) and slot.kind != UNKNOWN:
        (<uint64_t *>to)[0] = 0
        return True
    value = value_of_ctypes(value)
    if isinstance(value, np.generic):
        store_scalar_of_numpy(value, slot, to, what, type_)
    elif isinstance(value, (bytes, bytearray)):
        store_bytes(bytes(value), slot, to, what, type_)
    elif isinstance(value, (int, float, complex)):
        store_number(value, slot, to, what, type_)
    else:
        return False
    return True


cdef object value_of_ctypes(object value):
    """A NumPy scalar or bytes for an object of ctypes, which has a size of its own too."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None:
        return value
    if isinstance(value, ctypes.c_void_p):
        return np.uint64(value.value or 0)
    if isinstance(value, ctypes._SimpleCData):
        try:
            return np.frombuffer(value, np.dtype(type(value)))[0]
        except TypeError:  # a type that NumPy does not have: a string, a Python object
            return value
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        return bytes(value)
    return value


cdef int refuse(object value, const Slot *slot, str what, object type_, str hint="") except -1:
    kind = type(value).__name__
    if isinstance(value, np.generic):
        kind = f"numpy.{value.dtype} of {value.dtype.itemsize} bytes"
    elif isinstance(value, bytes):
        kind = f"{len(value)} bytes"
    raise GpukernTypeError(f"{what} must be {name_of_slot(slot, type_)}, got {kind}{hint}")


cdef int store_bytes(bytes value, const Slot *slot, void *to, str what, object type_) except -1:
    if slot.kind not in (BYTES, HALF, BFLOAT, UNKNOWN) or <size_t>len(value) != slot.size:
        refuse(value, slot, what, type_)
    memcpy(to, <const char *>value, slot.size)
    return 0


cdef int store_scalar_of_numpy(object value, const Slot *slot, void *to, str what,
                               object type_) except -1:
    cdef gpukern_dtype dtype
    describe(value.dtype, &dtype)
    if slot.kind == POINTER and dtype.code != GPUKERN_UINT:
        refuse(value, slot, what, type_, "; pass an address as numpy.uintp")
    if <size_t>value.dtype.itemsize != slot.size or value.dtype.hasobject:
        refuse(value, slot, what, type_)
    if slot.kind in CODES and not CODES[slot.kind] & (1 << dtype.code):
        refuse(value, slot, what, type_)
    if slot.kind in (SIGNED, UNSIGNED):
        return store_number(int(value), slot, to, what, type_)
    data = value.tobytes()
    memcpy(to, <const char *>data, slot.size)
    return 0


cdef int store_number(object value, const Slot *slot, void *to, str what, object type_) except -1:
    """Stores a Python number, or a subclass of one."""
    if slot.kind == UNKNOWN:
        refuse(value, slot, what, type_, "; pass a NumPy scalar, which has a size and a kind")
    if slot.kind == POINTER:
        refuse(value, slot, what, type_, "; pass an address as numpy.uintp")
    if isinstance(value, int) and slot.kind in (INTEGER, SIGNED, UNSIGNED, BOOL, WORD):
        data = integer_bytes(int(value), slot, what, type_)
    elif isinstance(value, (int, float)) and slot.kind in (FLOAT, HALF, BFLOAT):
        data = float_bytes(value, slot, what, type_)
    elif isinstance(value, complex) and slot.kind == BYTES and slot.size in (8, 16):
        with np.errstate(over="ignore"):
            data = np.array(value, f"c{slot.size}").tobytes()
    else:
        refuse(value, slot, what, type_)
    memcpy(to, <const char *>data, slot.size)
    return 0


cdef bytes integer_bytes(object value, const Slot *slot, str what, object type_):
    bits = 8 * slot.size
    low = 0 if slot.kind in (UNSIGNED, BOOL) else -(1 << (bits - 1))
    high = 1 << (bits - 1 if slot.kind == SIGNED else bits)
    if slot.kind == BOOL:
        high = 2
    if not low <= value < high:
        raise GpukernOverflowError(f"{what} must fit {name_of_slot(slot, type_)}, got {value}")
    return (value % (1 << bits)).to_bytes(slot.size, sys.byteorder)


cdef bytes float_bytes(object value, const Slot *slot, str what, object type_):
    """Rounded to the parameter's type; a float too large for it is infinity, as in NumPy."""
    try:
        narrow = isinstance(value, int) and slot.size < 8
        number = float_of_int(value) if narrow else float(value)
    except OverflowError:
        number = np.inf
    if slot.kind == BFLOAT:
        data = bfloat16_bits(number)
    else:
        with np.errstate(over="ignore"):
            data = np.array(number, f"f{slot.size}")
    if isinstance(value, int) and is_infinite(data, slot):
        raise GpukernOverflowError(
            f"{what} must fit {name_of_slot(slot, type_)}, got an int of {value.bit_length()} bits")
    return data.tobytes()


cdef bint is_infinite(object data, const Slot *slot) except -1:
    if slot.kind == BFLOAT:
        return int(data) & 0x7FFF == 0x7F80
    return isinf(float(data))


def argument_bytes(value, parameter, what="argument"):
    """The bytes that a value becomes as an argument for a Parameter of gpukern._program.signature."""
    cdef Slot slot
    fill_slot(&slot, 0, parameter)
    cdef bytearray made = bytearray(slot.size)
    cdef unsigned char[::1] view = made
    if not store_value(value, &slot, &view[0], what, parameter.type):
        refuse(value, &slot, what, parameter.type)
    return bytes(made)
