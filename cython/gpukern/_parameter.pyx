# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Numbers as arguments of a kernel: converted to its parameters' real types, or refused.

A Python number becomes what the parameter is: an int a float where that is one, but no float an
int. NumPy's scalars have sizes and kinds of their own, which have to be the parameter's.
"""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject
from libc.math cimport isinf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT,
    gpukern_dtype,
)
from gpukern._dtype cimport bfloat16_bits, describe
from gpukern._scalar cimport float_of_int

import sys

import numpy as np

from gpukern.errors import GpukernOverflowError, GpukernTypeError

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyFloatArrType_Type, PyDoubleArrType_Type
    PyTypeObject PyIntArrType_Type, PyLongArrType_Type
    PyTypeObject PyUIntArrType_Type, PyULongArrType_Type

# NumPy's scalars with their values: PyArray_ScalarAsCtype() costs as much as a whole call.
cdef extern from "numpy/arrayscalars.h":
    ctypedef struct PyFloatScalarObject:
        float obval
    ctypedef struct PyDoubleScalarObject:
        double obval
    ctypedef struct PyIntScalarObject:
        int obval
    ctypedef struct PyLongScalarObject:
        long obval

cnp.import_array()

# As in gpukern._signature; a test holds the two together.
cdef enum:
    UNKNOWN = 0
    BYTES = 1
    FLOAT = 2
    HALF = 3
    BFLOAT = 4
    INTEGER = 5
    SIGNED = 6
    UNSIGNED = 7
    BOOL = 8
    POINTER = 9
    WORD = 10

# Which type codes of a NumPy scalar a kind of parameter takes, by bits; UNKNOWN and BYTES take all.
cdef enum:
    ANY_CODE = (1 << GPUKERN_INT) | (1 << GPUKERN_UINT) | (1 << GPUKERN_BOOL)

cdef dict CODES = {
    FLOAT: 1 << GPUKERN_FLOAT, HALF: 1 << GPUKERN_FLOAT, BFLOAT: 1 << GPUKERN_BFLOAT,
    INTEGER: ANY_CODE, SIGNED: ANY_CODE, UNSIGNED: ANY_CODE, BOOL: 1 << GPUKERN_BOOL,
    POINTER: 1 << GPUKERN_UINT, WORD: (1 << GPUKERN_INT) | (1 << GPUKERN_UINT),
}

# What an error calls a parameter whose type nobody told.
cdef dict NAMES = {
    UNKNOWN: "a parameter", BYTES: "a structure", FLOAT: "a floating-point number",
    HALF: "a float16", BFLOAT: "a bfloat16", INTEGER: "an integer", SIGNED: "an integer",
    UNSIGNED: "an unsigned integer", BOOL: "a bool", POINTER: "a pointer",
    WORD: "a pointer or an integer",
}


cdef int fill_slot(Slot *slot, size_t offset, object parameter) except -1:
    """Copies a Parameter of gpukern._signature."""
    slot.offset = offset
    slot.size = parameter.size
    slot.kind = parameter.kind
    slot.constant = parameter.constant
    # Without the type nobody knows whether the kernel writes.
    slot.written = (parameter.kind == POINTER and parameter.type is not None
                    and not parameter.constant)
    slot.pointee, slot.pointee_bits = parameter.pointee or (0, 0)
    return 0


cdef bint takes_pointer(const Slot *slot) noexcept:
    return slot.size == sizeof(void *) and (slot.kind == POINTER or slot.kind == WORD
                                            or slot.kind == UNKNOWN)


cdef bint takes_array(const Slot *slot, gpukern_dtype dtype) noexcept:
    """Whether elements of this dtype are what a pointer leads to, as far as that is known.

    An integer's sign is not asked for, and any bits of 16 may stand for a 16-bit float.
    """
    cdef int bits = dtype.bits * dtype.lanes
    if slot.pointee == 0:
        return True
    if bits != slot.pointee_bits or dtype.lanes != 1:
        return False
    if slot.pointee == FLOAT:
        return dtype.code == GPUKERN_FLOAT
    if slot.pointee == HALF:
        return dtype.code != GPUKERN_BFLOAT
    if slot.pointee == BFLOAT:
        return dtype.code != GPUKERN_FLOAT
    return dtype.code == GPUKERN_INT or dtype.code == GPUKERN_UINT


cdef str name_of_slot(const Slot *slot, object type_):
    """What an error calls a parameter."""
    size = f"{slot.size} byte{'s' if slot.size != 1 else ''}"
    return f"{NAMES[slot.kind]} of {size}" if type_ is None else f"'{type_}' ({size})"


cdef bint store_plainly(object value, const Slot *slot, void *to) except -1:
    """Stores the numbers that most calls have; returns False for all others, right or wrong."""
    cdef PyTypeObject *kind = Py_TYPE(value)
    cdef long long whole
    cdef int overflow = 0
    if type(value) is float:
        if slot.kind != FLOAT:
            return False
        return store_double(value, slot.size, to)
    if type(value) is int:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
        if slot.kind == FLOAT and -2**53 <= whole <= 2**53:
            return store_double(<double>whole, slot.size, to)
        return store_whole(whole, slot, to)
    if type(value) is bool:
        if slot.kind != BOOL:
            return store_whole(value is True, slot, to)
        (<uint8_t *>to)[0] = value is True
        return True
    return store_plain_scalar(<PyObject *>value, kind, slot, to)


cdef bint store_plain_scalar(PyObject *value, PyTypeObject *kind, const Slot *slot,
                             void *to) noexcept:
    """Stores a NumPy scalar of a common type where the parameter is of that type."""
    if kind == &PyFloatArrType_Type and slot.kind == FLOAT and slot.size == 4:
        (<float *>to)[0] = (<PyFloatScalarObject *>value).obval
    elif kind == &PyDoubleArrType_Type and slot.kind == FLOAT and slot.size == 8:
        (<double *>to)[0] = (<PyDoubleScalarObject *>value).obval
    elif kind == &PyIntArrType_Type and (slot.kind == SIGNED or slot.kind == INTEGER):
        if slot.size != 4:
            return False
        (<int32_t *>to)[0] = (<PyIntScalarObject *>value).obval
    elif kind == &PyLongArrType_Type and (slot.kind == SIGNED or slot.kind == WORD):
        if slot.size != sizeof(long):
            return False
        (<long *>to)[0] = (<PyLongScalarObject *>value).obval
    elif kind == &PyUIntArrType_Type and (slot.kind == UNSIGNED or slot.kind == INTEGER):
        if slot.size != 4:
            return False
        (<int32_t *>to)[0] = (<PyIntScalarObject *>value).obval
    elif kind == &PyULongArrType_Type and (slot.kind == UNSIGNED or slot.kind == WORD):
        if slot.size != sizeof(long):
            return False
        (<long *>to)[0] = (<PyLongScalarObject *>value).obval
    else:
        return False
    return True


cdef bint store_double(double value, size_t size, void *to) noexcept:
    if size == 4:
        (<float *>to)[0] = <float>value
    else:
        (<double *>to)[0] = value
    return True


cdef bint store_whole(long long value, const Slot *slot, void *to) noexcept:
    """Stores an integer that fits its parameter; returns False for one that does not."""
    cdef int kind = slot.kind
    cdef int64_t half  # of the range of a type with a sign
    if kind != SIGNED and kind != UNSIGNED and kind != INTEGER and kind != WORD:
        return False
    if slot.size >= 8:
        if kind == UNSIGNED and value < 0:
            return False
        (<int64_t *>to)[0] = value
        return slot.size == 8
    half = <int64_t>1 << (8 * slot.size - 1)
    if value < (0 if kind == UNSIGNED else -half):
        return False
    if value >= (half if kind == SIGNED else 2 * half):
        return False
    if slot.size == 4:
        (<int32_t *>to)[0] = <int32_t>value
    elif slot.size == 2:
        (<int16_t *>to)[0] = <int16_t>value
    else:
        (<int8_t *>to)[0] = <int8_t>value
    return True


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
    """The bytes that a value becomes as an argument for a Parameter of gpukern._signature."""
    cdef Slot slot
    fill_slot(&slot, 0, parameter)
    cdef bytearray made = bytearray(slot.size)
    cdef unsigned char[::1] view = made
    if not store_value(value, &slot, &view[0], what, parameter.type):
        refuse(value, &slot, what, parameter.type)
    return bytes(made)
