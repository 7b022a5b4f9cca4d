# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Python's and NumPy's scalars as elements of an array: fill_value and saxpy's a."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject
from libc.math cimport INFINITY, NAN, ldexp
from libc.stdint cimport uint16_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, gpukern_dtype,
)
from gpukern._interop.argument cimport dtype_of
from gpukern._interop.array_type cimport ArrayType, array_type_of
from gpukern._interop.dtype cimport FLOAT16, bfloat16_bits, describe_dtype, numpy_dtype
from gpukern._streams.call cimport Argument, CallContext

import math

import numpy as np

from gpukern._interop import libraries, numpy_subclasses
from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyBoolArrType_Type, PyHalfArrType_Type, PyFloatArrType_Type
    PyTypeObject PyDoubleArrType_Type, PyCFloatArrType_Type, PyCDoubleArrType_Type
    PyTypeObject PyByteArrType_Type, PyShortArrType_Type, PyIntArrType_Type, PyLongArrType_Type
    PyTypeObject PyUByteArrType_Type, PyUShortArrType_Type, PyUIntArrType_Type

cnp.import_array()

# The order of kinds in which a scalar may move up, never down.
cdef enum:
    RANK_INT = 1
    RANK_FLOAT = 2
    RANK_COMPLEX = 3

cdef dict RANK_OF_CODE = {GPUKERN_INT: RANK_INT, GPUKERN_FLOAT: RANK_FLOAT,
                          GPUKERN_BFLOAT: RANK_FLOAT, GPUKERN_COMPLEX: RANK_COMPLEX}

# A number as C has it.
cdef struct Number:
    int rank
    long long whole
    double real
    double imag


# ---- fill_value ----

cdef object fill_array(CallContext *call, object fill_value, const Argument *source):
    """The fill value as an ndarray whose bytes are elements of the source's dtype."""
    name = f"{<object>call.function}: fill_value"
    if numpy_subclasses.is_masked(fill_value):
        raise GpukernTypeError(f"{name} must not be masked")
    fill_value = on_host(fill_value, name)
    try:
        if source.c.dtype.code == GPUKERN_BFLOAT:
            return bfloat16_array(fill_value)
        return converted(fill_value, dtype_of(source))
    except OverflowError as error:
        raise GpukernOverflowError(f"{name}: {error}") from None
    except TypeError as error:
        raise GpukernTypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise GpukernValueError(f"{name}: {error}") from None


cdef object on_host(object value, str what):
    """An array of a library as NumPy's, any other object as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    cdef ArrayType kind = array_type_of(value)
    if kind.library is None:
        return value
    why = kind.refusal or libraries.why_no_value(kind.library, value)
    if why is not None:
        raise GpukernTypeError(f"{what} {why}")
    try:
        return libraries.host_array(kind.library, value)
    except (TypeError, ValueError, RuntimeError):
        dtype = getattr(value, "dtype", None)
        raise GpukernTypeError(
            f"{what} must be of a dtype that NumPy has, on the host; got {dtype}") from None


cdef object converted(object value, object dtype):
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype == dtype:
        # As it is, down to the padding of a structure, which a conversion leaves out.
        return np.asarray(value, order="C")
    if dtype.fields is not None and isinstance(value, tuple):
        return np.array(value, dtype)
    made = np.zeros(np.shape(value), dtype)
    np.copyto(made, value, casting="same_kind")
    return made


cdef object bfloat16_array(object value):
    array = np.asarray(value)
    cdef gpukern_dtype described
    describe_dtype(array.dtype, &described)
    if described.code == GPUKERN_BFLOAT:
        # As it is, down to the payload of a NaN.
        return np.array(array, order="C").view(np.uint16)
    if array.dtype.kind not in "biuf":
        raise GpukernTypeError(f"cannot cast {array.dtype} to bfloat16 by the rule 'same_kind'")
    made = np.empty(array.shape, np.uint16)
    for position, element in enumerate(array.flat):
        made.flat[position] = bfloat16_bits(float(element))
    return made


# ---- saxpy's a ----

cdef int store_scalar(object a, gpukern_dtype dtype, void *stored) except -1:
    """Stores saxpy's `a` as one element; stores nothing for a dtype that the C side refuses."""
    cdef Number number
    if read_number(a, &number) and store_number(&number, dtype, stored):
        return 0
    rank = RANK_OF_CODE.get(dtype.code)
    if rank is None or dtype.lanes != 1 or dtype.bits < 16 or dtype.bits > 128:
        return 0
    if dtype.code == GPUKERN_COMPLEX and dtype.bits < 64:
        return 0
    value = number_of(a)
    if rank_of(value) > rank:
        raise GpukernTypeError(
            f"saxpy: a must convert to {name_of(dtype)} without changing kind, "
            f"got {type(value).__name__}")
    data = element_bytes(value, rank, dtype)
    memcpy(stored, <const char *>data, len(data))
    return 0


cdef bint read_number(object a, Number *number) except -1:
    """Reads a number of Python's, a NumPy scalar or a 0-d array; returns False for one that needs
    more than C's types, and for all else."""
    cdef int overflow = 0
    number.rank = RANK_FLOAT
    number.imag = 0
    if type(a) is float:
        number.real = a
    elif type(a) is int:
        number.rank = RANK_INT
        number.whole = PyLong_AsLongLongAndOverflow(a, &overflow)
    elif type(a) is bool:
        number.rank = RANK_INT
        number.whole = a is True
    elif type(a) is complex:
        number.rank = RANK_COMPLEX
        number.real, number.imag = a.real, a.imag
    elif type(a) is cnp.ndarray:
        return (cnp.PyArray_NDIM(a) == 0 and cnp.PyArray_ISBEHAVED_RO(a)
                and read_element(cnp.PyArray_TYPE(a), cnp.PyArray_DATA(a), number))
    else:
        # NumPy's scalars hold their value behind the header of the object.
        return read_element(type_number_of(Py_TYPE(a)),
                            <const char *><PyObject *>a + sizeof(PyObject), number)
    return not overflow


cdef int type_number_of(PyTypeObject *type_) noexcept:
    """NumPy's type number of a type of its scalars, -1 for any other type."""
    if type_ == &PyFloatArrType_Type:
        return cnp.NPY_FLOAT
    if type_ == &PyDoubleArrType_Type:
        return cnp.NPY_DOUBLE
    if type_ == &PyLongArrType_Type:
        return cnp.NPY_LONG
    if type_ == &PyIntArrType_Type:
        return cnp.NPY_INT
    if type_ == &PyHalfArrType_Type:
        return FLOAT16
    if type_ == &PyCFloatArrType_Type:
        return cnp.NPY_CFLOAT
    if type_ == &PyCDoubleArrType_Type:
        return cnp.NPY_CDOUBLE
    if type_ == &PyBoolArrType_Type:
        return cnp.NPY_BOOL
    if type_ == &PyByteArrType_Type:
        return cnp.NPY_BYTE
    if type_ == &PyShortArrType_Type:
        return cnp.NPY_SHORT
    if type_ == &PyUByteArrType_Type:
        return cnp.NPY_UBYTE
    if type_ == &PyUShortArrType_Type:
        return cnp.NPY_USHORT
    return cnp.NPY_UINT if type_ == &PyUIntArrType_Type else -1


cdef bint read_element(int type_number, const void *data, Number *number) noexcept:
    """Reads an element of a NumPy type; returns False for a type that C's numbers do not hold."""
    cdef uint16_t half
    number.rank = RANK_FLOAT
    if type_number == cnp.NPY_FLOAT:
        number.real = (<const float *>data)[0]
        return True
    if type_number == cnp.NPY_DOUBLE:
        number.real = (<const double *>data)[0]
        return True
    if type_number == FLOAT16:
        memcpy(&half, data, 2)
        number.real = double_of_half(half)
        return True
    number.rank = RANK_COMPLEX
    if type_number == cnp.NPY_CFLOAT:
        number.real, number.imag = (<const float *>data)[0], (<const float *>data)[1]
        return True
    if type_number == cnp.NPY_CDOUBLE:
        number.real, number.imag = (<const double *>data)[0], (<const double *>data)[1]
        return True
    number.rank = RANK_INT
    return read_integer(type_number, data, &number.whole)


cdef bint read_integer(int type_number, const void *data, long long *whole) noexcept:
    if type_number == cnp.NPY_LONG:
        whole[0] = (<const long *>data)[0]
    elif type_number == cnp.NPY_INT:
        whole[0] = (<const int *>data)[0]
    elif type_number == cnp.NPY_UINT:
        whole[0] = (<const unsigned int *>data)[0]
    elif type_number == cnp.NPY_SHORT:
        whole[0] = (<const short *>data)[0]
    elif type_number == cnp.NPY_USHORT:
        whole[0] = (<const unsigned short *>data)[0]
    elif type_number == cnp.NPY_BYTE:
        whole[0] = (<const signed char *>data)[0]
    elif type_number == cnp.NPY_UBYTE or type_number == cnp.NPY_BOOL:
        whole[0] = (<const unsigned char *>data)[0]
    else:
        return False
    return True


cdef double double_of_half(uint16_t half) noexcept:
    cdef int exponent = (half >> 10) & 31
    cdef double value = half & 1023
    if exponent == 31:
        value = NAN if value != 0 else INFINITY
    elif exponent == 0:
        value = ldexp(value, -24)
    else:
        value = ldexp(value + 1024, exponent - 25)
    return -value if half >> 15 else value


cdef bint store_number(const Number *number, gpukern_dtype dtype, void *stored) noexcept:
    """Stores a number where C rounds it as NumPy does; returns False for all others, right or
    wrong."""
    cdef double real = number.real
    cdef double imag = number.imag
    if dtype.lanes != 1 or number.rank == RANK_COMPLEX and dtype.code != GPUKERN_COMPLEX:
        return False
    if number.rank == RANK_INT:
        if dtype.code == GPUKERN_INT:
            return store_integer(number.whole, dtype.bits, stored)
        # Integers that float64 does not hold would be rounded twice.
        if not -2**53 <= number.whole <= 2**53:
            return False
        real, imag = <double>number.whole, 0
    if dtype.code == GPUKERN_FLOAT and dtype.bits == 32:
        (<float *>stored)[0] = <float>real
    elif dtype.code == GPUKERN_FLOAT and dtype.bits == 64:
        (<double *>stored)[0] = real
    elif dtype.code == GPUKERN_COMPLEX and dtype.bits == 64:
        (<float *>stored)[0], (<float *>stored)[1] = <float>real, <float>imag
    elif dtype.code == GPUKERN_COMPLEX and dtype.bits == 128:
        (<double *>stored)[0], (<double *>stored)[1] = real, imag
    else:
        return False
    return True


cdef bint store_integer(long long whole, int bits, void *stored) noexcept:
    if bits == 64:
        (<long long *>stored)[0] = whole
        return True
    if bits == 32 and -2**31 <= whole < 2**31:
        (<int *>stored)[0] = <int>whole
        return True
    return False


cdef str name_of(gpukern_dtype dtype):
    return "bfloat16" if dtype.code == GPUKERN_BFLOAT else str(numpy_dtype(dtype))


cdef object number_of(object a):
    """A Python number of the same value; NumPy's long doubles stay what they are."""
    cdef gpukern_dtype described
    if isinstance(a, (int, float, complex)):
        return a
    if numpy_subclasses.is_masked(a):
        raise GpukernTypeError("saxpy: a must not be masked")
    array = np.asarray(on_host(a, "saxpy: a"))
    if array.ndim != 0:
        raise GpukernTypeError(f"saxpy: a must be a scalar, got an array of shape {array.shape}")
    describe_dtype(array.dtype, &described)
    if described.code == GPUKERN_BFLOAT:
        return float(array[()])
    if array.dtype.kind not in "biufc":
        raise GpukernTypeError(f"saxpy: a must be a number, got {type(a).__name__}")
    return array.item()


cdef int rank_of(object value):
    if isinstance(value, int):
        return RANK_INT
    return RANK_FLOAT if isinstance(value, (float, np.longdouble)) else RANK_COMPLEX


cdef object float_of_int(object value):
    """A float64 that rounds to any narrower type as the int itself does: rounded to odd."""
    nearest = float(value)
    if nearest == value or np.float64(nearest).view(np.int64) & 1:  # Python compares exactly
        return nearest
    return math.nextafter(nearest, math.inf if value > nearest else -math.inf)


cdef bytes element_bytes(object value, int rank, gpukern_dtype dtype):
    if rank == RANK_INT:
        limit = 1 << <object>(dtype.bits - 1)
        if not -limit <= value < limit:
            raise GpukernOverflowError(f"saxpy: a must fit {name_of(dtype)}, got {value}")
    elif isinstance(value, int):
        try:
            wide = dtype.bits == (128 if rank == RANK_COMPLEX else 64)
            value = float(value) if wide else float_of_int(value)
        except OverflowError:
            raise GpukernOverflowError(f"saxpy: a must fit {name_of(dtype)}, got an int of "
                                       f"{value.bit_length()} bits") from None
    if dtype.code == GPUKERN_BFLOAT:
        return bfloat16_bits(float(value)).tobytes()
    # Too large for the type is infinity, as for a result that overflows; no warning for either.
    with np.errstate(over="ignore"):
        return np.array(value, numpy_dtype(dtype)).tobytes()
