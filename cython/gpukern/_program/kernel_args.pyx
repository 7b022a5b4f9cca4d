# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The parameters of kernels, and values as arguments: converted to the parameter types; a mismatch
raises.

A Python number is converted without changing kind: an int to a float type, but no float to an
integer type. NumPy's scalars have a size and a kind, which have to be the parameter's.
"""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_BOOL, GPUKERN_FLOAT, GPUKERN_INT, GPUKERN_UINT, gpukern_dtype,
)
from gpukern._interop.dtype cimport bfloat16_bits, describe_dtype
from gpukern._interop.scalar cimport float_of_int
from gpukern._runtime.runtime cimport shown

import sys

import numpy as np

from gpukern.errors import GpukernOverflowError, GpukernTypeError

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyFloatArrType_Type, PyDoubleArrType_Type
    PyTypeObject PyIntArrType_Type, PyLongArrType_Type
    PyTypeObject PyUIntArrType_Type, PyULongArrType_Type

# A NumPy scalar with its value: PyArray_ScalarAsCtype() costs as much as a whole call. The other
# scalars of numbers have their values at the same offset.
cdef extern from "numpy/arrayscalars.h":
    ctypedef struct PyLongScalarObject:
        long obval

cdef extern from "<cxxabi.h>":
    char *demangle "abi::__cxa_demangle"(const char *name, char *, size_t *, int *status)

cnp.import_array()

# Which type codes of a NumPy scalar a kind of parameter takes, by bits; UNKNOWN and BYTES take all.
cdef enum:
    ANY_CODE = (1 << GPUKERN_INT) | (1 << GPUKERN_UINT) | (1 << GPUKERN_BOOL)

cdef dict CODES = {
    FLOAT: 1 << GPUKERN_FLOAT, HALF: 1 << GPUKERN_FLOAT, BFLOAT: 1 << GPUKERN_BFLOAT,
    INTEGER: ANY_CODE, SIGNED: ANY_CODE, UNSIGNED: ANY_CODE, BOOL: 1 << GPUKERN_BOOL,
    POINTER: 1 << GPUKERN_UINT, WORD: (1 << GPUKERN_INT) | (1 << GPUKERN_UINT),
}


def demangled(str name):
    """The signature that a mangled name stands for; None for a name that is not mangled."""
    cdef int status = 0
    if not name.startswith("_Z"):
        return None
    cdef bytes encoded = name.encode()
    cdef char *text = demangle(encoded, NULL, NULL, &status)
    if text == NULL:
        return None
    try:
        return (<bytes>text).decode()
    finally:
        free(text)


cdef int fill_parameter(KernelParameter *parameter, str function, int position, size_t offset,
                        object known, str type_) except -1:
    """Copies a Parameter of gpukern._program.signature. The names of its function and of its type
    must outlive the copy."""
    parameter.function = <PyObject *>function
    parameter.position = position
    parameter.type = <PyObject *>type_
    parameter.offset = offset
    parameter.size = known.size
    parameter.kind = known.kind
    parameter.constant = known.constant
    # Without the type it is unknown whether the kernel writes.
    parameter.written = known.kind == POINTER and known.type is not None and not known.constant
    parameter.pointee, parameter.pointee_bits = known.pointee or (UNKNOWN, 0)
    return 0


cdef str what(const KernelParameter *parameter):
    """What an error calls an argument."""
    return f"{<object>parameter.function}: argument {parameter.position}"


cdef bint takes_pointer(const KernelParameter *parameter) noexcept:
    return parameter.size == sizeof(void *) and (
        parameter.kind == POINTER or parameter.kind == WORD or parameter.kind == UNKNOWN)


cdef bint takes_array(const KernelParameter *parameter, gpukern_dtype dtype) noexcept:
    """Whether elements of this dtype are what a pointer leads to, as far as that is known.

    Bytes may hold anything. An integer's sign is not compared, and any 16 bits may be a float16.
    """
    cdef int bits = dtype.bits * dtype.lanes
    if parameter.pointee == UNKNOWN or parameter.pointee_bits == 8:
        return True
    if bits != parameter.pointee_bits or dtype.lanes != 1:
        return False
    if parameter.pointee == FLOAT:
        return dtype.code == GPUKERN_FLOAT
    if parameter.pointee == HALF:
        return dtype.code != GPUKERN_BFLOAT
    if parameter.pointee == BFLOAT:
        return dtype.code != GPUKERN_FLOAT
    return dtype.code == GPUKERN_INT or dtype.code == GPUKERN_UINT


cdef str name_of_parameter(const KernelParameter *parameter):
    """What an error calls a parameter."""
    plural = "s" if parameter.size != 1 else ""
    return f"'{<object>parameter.type}' ({parameter.size} byte{plural})"


cdef bint store_plain_number(object value, const KernelParameter *parameter, void *to) except -1:
    """Stores the numbers that most calls have; returns False for all others, right or wrong."""
    cdef long long whole
    cdef int overflow = 0
    if type(value) is float:
        if parameter.kind != FLOAT:
            return False
        return store_double(value, parameter.size, to)
    if type(value) is int:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
        if parameter.kind == FLOAT and -2**53 <= whole <= 2**53:
            return store_double(<double>whole, parameter.size, to)
        return store_whole(whole, parameter, to)
    if type(value) is bool:
        return store_whole(value is True, parameter, to)
    return store_plain_scalar(value, parameter, to)


cdef bint store_plain_scalar(object value, const KernelParameter *parameter, void *to) noexcept:
    """Stores a NumPy scalar of a common type where the parameter is of that type."""
    cdef PyTypeObject *type_ = Py_TYPE(value)
    cdef size_t size
    cdef int kind, other
    if type_ == &PyFloatArrType_Type:
        size, kind, other = sizeof(float), FLOAT, FLOAT
    elif type_ == &PyDoubleArrType_Type:
        size, kind, other = sizeof(double), FLOAT, FLOAT
    elif type_ == &PyIntArrType_Type:
        size, kind, other = sizeof(int), SIGNED, INTEGER
    elif type_ == &PyLongArrType_Type:
        size, kind, other = sizeof(long), SIGNED, WORD
    elif type_ == &PyUIntArrType_Type:
        size, kind, other = sizeof(int), UNSIGNED, INTEGER
    elif type_ == &PyULongArrType_Type:
        size, kind, other = sizeof(long), UNSIGNED, WORD
    else:
        return False
    if parameter.size != size or (parameter.kind != kind and parameter.kind != other):
        return False
    memcpy(to, &(<PyLongScalarObject *>value).obval, size)
    return True


cdef bint store_double(double value, size_t size, void *to) noexcept:
    if size == 4:
        (<float *>to)[0] = <float>value
    else:
        (<double *>to)[0] = value
    return True


cdef bint store_whole(long long value, const KernelParameter *parameter, void *to) noexcept:
    """Stores an integer that fits its parameter; returns False for one that does not."""
    cdef int kind = parameter.kind
    cdef int64_t half  # of the range of a type with a sign
    cdef bint fits
    if kind == BOOL:
        fits = value == 0 or value == 1
    elif kind != SIGNED and kind != UNSIGNED and kind != INTEGER and kind != WORD:
        return False
    elif parameter.size >= 8:
        fits = parameter.size == 8 and (kind != UNSIGNED or value >= 0)
    else:
        half = <int64_t>1 << (8 * parameter.size - 1)
        fits = ((0 if kind == UNSIGNED else -half) <= value
                and value < (half if kind == SIGNED else 2 * half))
    if fits:
        memcpy(to, &value, parameter.size)  # hosts of CUDA are little-endian
    return fits


cdef bint store_value(object value, const KernelParameter *parameter, void *to) except -1:
    """Stores a value of any supported type; returns False for other objects, such as arrays."""
    if store_plain_number(value, parameter, to):
        return True
    if value is None and takes_pointer(parameter) and parameter.kind != UNKNOWN:
        (<uint64_t *>to)[0] = 0
        return True
    value = value_of_ctypes(value)
    if isinstance(value, np.generic):
        store_scalar_of_numpy(value, parameter, to)
    elif isinstance(value, (bytes, bytearray)):
        store_bytes(bytes(value), parameter, to)
    elif isinstance(value, (int, float, complex)):
        store_number(value, parameter, to)
    else:
        return False
    return True


cdef object value_of_ctypes(object value):
    """A NumPy scalar or bytes for an object of ctypes, which has a size as well."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None:
        return value
    if isinstance(value, ctypes._SimpleCData):
        try:
            return np.frombuffer(value, np.dtype(type(value)))[0]
        except TypeError:  # a type that NumPy does not have: a string, a Python object
            return value
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        return bytes(value)
    return value


cdef int refuse(object value, const KernelParameter *parameter, str hint="") except -1:
    kind = type(value).__name__
    if isinstance(value, np.generic):
        kind = f"numpy.{value.dtype} of {value.dtype.itemsize} bytes"
    elif isinstance(value, bytes):
        kind = f"{len(value)} bytes"
    raise GpukernTypeError(
        f"{what(parameter)} must be {name_of_parameter(parameter)}, got {kind}{hint}")


cdef int store_bytes(bytes value, const KernelParameter *parameter, void *to) except -1:
    if parameter.kind not in (BYTES, HALF, BFLOAT, UNKNOWN) or <size_t>len(value) != parameter.size:
        refuse(value, parameter)
    memcpy(to, <const char *>value, parameter.size)
    return 0


cdef int store_scalar_of_numpy(object value, const KernelParameter *parameter, void *to) except -1:
    cdef gpukern_dtype dtype
    describe_dtype(value.dtype, &dtype)
    if parameter.kind == POINTER and dtype.code != GPUKERN_UINT:
        refuse(value, parameter, "; pass an address as numpy.uintp")
    if <size_t>value.dtype.itemsize != parameter.size or value.dtype.hasobject:
        refuse(value, parameter)
    if parameter.kind in CODES and not CODES[parameter.kind] & (1 << dtype.code):
        refuse(value, parameter)
    if parameter.kind in (SIGNED, UNSIGNED):
        return store_number(int(value), parameter, to)
    data = value.tobytes()
    memcpy(to, <const char *>data, parameter.size)
    return 0


cdef int store_number(object value, const KernelParameter *parameter, void *to) except -1:
    """Stores a Python number, or a subclass of one."""
    if parameter.kind == UNKNOWN:
        refuse(value, parameter, "; pass a NumPy scalar, which has a size and a kind")
    if parameter.kind == POINTER:
        refuse(value, parameter, "; pass an address as numpy.uintp")
    if isinstance(value, int) and parameter.kind in (INTEGER, SIGNED, UNSIGNED, BOOL, WORD):
        data = integer_bytes(int(value), parameter)
    elif isinstance(value, (int, float)) and parameter.kind in (FLOAT, HALF, BFLOAT):
        data = float_bytes(value, parameter)
    elif isinstance(value, complex) and parameter.kind == BYTES and parameter.size in (8, 16):
        with np.errstate(over="ignore"):
            data = np.array(value, f"c{parameter.size}").tobytes()
    else:
        refuse(value, parameter)
    memcpy(to, <const char *>data, parameter.size)
    return 0


cdef bytes integer_bytes(object value, const KernelParameter *parameter):
    bits = 1 if parameter.kind == BOOL else 8 * parameter.size
    low = 0 if parameter.kind in (UNSIGNED, BOOL) else -(1 << (bits - 1))
    high = 1 << (bits - 1 if parameter.kind == SIGNED else bits)
    if not low <= value < high:
        raise GpukernOverflowError(
            f"{what(parameter)} must fit {name_of_parameter(parameter)}, got {shown(value)}")
    return value.to_bytes(parameter.size, "little", signed=value < 0)


cdef bytes float_bytes(object value, const KernelParameter *parameter):
    """Rounded to the parameter's type; a float too large for it is infinity, as in NumPy."""
    cdef bint infinite
    try:
        narrow = isinstance(value, int) and parameter.size < 8
        number = float_of_int(value) if narrow else float(value)
    except OverflowError:
        number = np.inf
    if parameter.kind == BFLOAT:
        data = bfloat16_bits(number)
        infinite = int(data) & 0x7FFF == 0x7F80
    else:
        with np.errstate(over="ignore"):
            data = np.array(number, f"f{parameter.size}")
        infinite = isinf(float(data))
    if isinstance(value, int) and infinite:
        raise GpukernOverflowError(
            f"{what(parameter)} must fit {name_of_parameter(parameter)}, got {shown(value)}")
    return data.tobytes()


def argument_bytes(value, parameter, str function="kernel"):
    """The bytes that argument 0 becomes for a Parameter of gpukern._program.signature."""
    cdef KernelParameter known
    cdef str type_ = parameter.description()
    fill_parameter(&known, function, 0, 0, parameter, type_)
    cdef bytearray made = bytearray(known.size)
    cdef unsigned char[::1] view = made
    if not store_value(value, &known, &view[0]):
        refuse(value, &known)
    return bytes(made)
