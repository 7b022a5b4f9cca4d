# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""A kernel's parameters, and the numbers that most calls pass to them. value.pyx has the rest."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT, gpukern_dtype,
)

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

# What an error calls a parameter whose type nobody told.
cdef dict NAMES = {
    UNKNOWN: "a parameter", BYTES: "a structure", FLOAT: "a floating-point number",
    HALF: "a float16", BFLOAT: "a bfloat16", INTEGER: "an integer", SIGNED: "an integer",
    UNSIGNED: "an unsigned integer", BOOL: "a bool", POINTER: "a pointer",
    WORD: "a pointer or an integer",
}


cdef int fill_slot(Slot *slot, size_t offset, object parameter) except -1:
    """Copies a Parameter of gpukern._program.signature."""
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
