# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Python's and NumPy's values as options of a call, and as elements of an array: fill_value,
scatter's values, factors."""

cimport numpy as cnp
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_Check
from cpython.object cimport PyObject_TypeCheck, PyTypeObject
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, gpukern_dtype,
)
from gpukern._interop.argument cimport dtype_of, new_ndarray
from gpukern._interop.array_type cimport (
    BY_DEVICE_ARRAY, BY_NDARRAY, ArrayType, array_type_of, refuse_own_arithmetic,
)
from gpukern._interop.dtype cimport bfloat16_bits, describe_dtype, numpy_dtype
from gpukern._runtime.runtime cimport shown
from gpukern._streams.call cimport Argument, CallContext

import math
import operator

import numpy as np

from gpukern._interop import libraries, numpy_subclasses
from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError

cnp.import_array()

# The order of kinds in which a scalar may move up, never down.
cdef enum:
    RANK_INT = 1
    RANK_FLOAT = 2
    RANK_COMPLEX = 3

cdef enum:
    HALF_MAX = 65504  # of float16; the largest value that every type holds
    EXACT = 0x20000000000000  # 2**53: float64 holds all integers up to it

cdef dict RANK_OF_CODE = {GPUKERN_INT: RANK_INT, GPUKERN_FLOAT: RANK_FLOAT,
                          GPUKERN_BFLOAT: RANK_FLOAT, GPUKERN_COMPLEX: RANK_COMPLEX}

# Python's types for the values of NumPy's scalar types. item() costs ten times as much.
cdef dict PYTHON_TYPES = {np.dtype(code).type: type(np.zeros((), code).item())
                          for code in "?bhilqBHILQefdFD"}


# The dtypes to which NumPy converts Python's numbers by the rule 'same_kind', but for long doubles,
# whose padding it leaves as it is.
cdef dict PLAIN_NUMBERS = {int: "bhilqBHILQefdFD", float: "efdFD"}


# ---- options ----

cdef bint as_bool(object given, object function, str name) except -1:
    if given is True or given is False:
        return given
    if isinstance(given, np.bool_):
        return bool(given)
    raise GpukernTypeError(f"{function}: {name} must be a bool, got {type(given).__name__}")


cdef object as_basic_index(object part):
    """A part of an index that gives views: of integers a Python int, for which NumPy reads no
    element."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if not isinstance(part, (bool, np.bool)):
        try:
            return operator.index(part)
        except TypeError:
            pass
    raise GpukernTypeError("a DeviceArray is indexed by ints, slices, ... and None, got "
                           f"{type(part).__name__}; gather and take index by arrays")


# ---- fill_value and values ----

cdef object elements_of(CallContext *call, object value, str name, const Argument *like):
    """A scalar, a list or an array as an ndarray whose bytes are elements of the dtype of `like`.
    `name` is that of the value in errors."""
    cdef cnp.ndarray element
    # Most values; NumPy warns of some larger ones.
    if ((type(value) is float or type(value) is int) and -1e38 < value < 1e38
            and like.c.dtype.lanes == 1):
        element = new_ndarray(dtype_of(like), 0, NULL)
        if store_number(value, like.c.dtype, cnp.PyArray_DATA(element)):
            return element
    if (type(value) is cnp.ndarray and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value)
            and (<cnp.ndarray>value).dtype is dtype_of(like)):
        return value
    name = f"{<object>call.function}: {name}"
    if numpy_subclasses.is_masked(value):
        raise GpukernTypeError(f"{name} must not be masked")
    value = on_host(value, name)
    try:
        if like.c.dtype.code == GPUKERN_BFLOAT:
            return bfloat16_array(value)
        return converted(value, dtype_of(like))
    except OverflowError as error:
        raise GpukernOverflowError(f"{name}: {error}") from None
    except TypeError as error:
        raise GpukernTypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise GpukernValueError(f"{name}: {error}") from None


cdef object on_host(object value, str what):
    """An array of a library as NumPy's, any other object as it is."""
    if type(value) is cnp.ndarray or isinstance(value, np.generic):
        return value
    cdef ArrayType kind = array_type_of(value)
    if kind.protocol == BY_NDARRAY:
        refuse_own_arithmetic(kind, what)
        return np.asarray(value)  # whatever the attributes of a subclass say
    if kind.protocol == BY_DEVICE_ARRAY and value.ndim == 0:
        return value.numpy()
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
    if value is None:
        raise TypeError("expected a number or an array, got None")
    if dtype.fields is not None and is_of_records(value):
        return np.array(value, dtype)
    if dtype.kind in "iufc" and isinstance(value, (list, tuple)) and is_of_integers(value, dtype):
        return integers_of(value, dtype)
    if dtype.char in PLAIN_NUMBERS.get(type(value), ""):
        return np.array(value, dtype)  # which takes a tenth of the time
    made = np.zeros(np.shape(value), dtype)
    np.copyto(made, value, casting="same_kind")
    return made


cdef bint is_of_records(object value):
    """Whether it is a tuple or a list of tuples, the fields of records."""
    if isinstance(value, list):
        return all([isinstance(record, tuple) for record in value])
    return isinstance(value, tuple)


cdef bint is_of_integers(object numbers, object dtype) except -1:
    """Whether a list holds integers alone, which NumPy does not convert by the rule 'same_kind'."""
    array = np.asarray(numbers)
    if array.dtype.kind in "iu" or array.size == 0:
        return dtype.kind in "iu"
    # Of integers from 2**63 on, NumPy makes floats, which a float target takes, or objects.
    return array.dtype.kind in ("O" if dtype.kind in "fc" else ("f", "O")) and all(
        [type(number) is int or isinstance(number, np.integer)
         for number in np.asarray(numbers, object).flat])


cdef object integers_of(object numbers, object dtype):
    made = np.array(numbers, dtype)  # checks the range of Python's integers
    if dtype.kind in "iu" and not np.array_equal(made, np.asarray(numbers)):
        raise OverflowError(f"an integer of the list is out of bounds for {dtype}")
    return made


cdef object bfloat16_array(object value):
    array = np.asarray(float_of_int(value) if type(value) is int else value)
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


# ---- factors of arithmetic ----

cdef object numpy_number = np.number
cdef object numpy_bool = np.bool_
cdef object numpy_scalar = np.generic


cdef bint is_number(object value) noexcept:
    """Whether it is a number of Python's or NumPy's, not an array."""
    if type(value) is cnp.ndarray:
        return False
    if type(value) is float or type(value) is int:
        return True
    if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        return True
    return PyObject_TypeCheck(value, <PyTypeObject *>numpy_scalar) and (
        PyObject_TypeCheck(value, <PyTypeObject *>numpy_number)
        or PyObject_TypeCheck(value, <PyTypeObject *>numpy_bool)
        or type(value).__name__ == "bfloat16")


cdef int store_scalar(object number, str name, gpukern_dtype dtype, void *stored) except -1:
    """Stores a number, or a 0-d array on the host, as one element; stores nothing for a dtype that
    the C side refuses. `name` is that of the argument in errors, after that of the function."""
    cdef object value = number_of(number, name)
    if store_number(value, dtype, stored):
        return 0
    rank = RANK_OF_CODE.get(dtype.code)
    if rank is None or dtype.lanes != 1 or dtype.bits < 16 or dtype.bits > 128:
        return 0
    if dtype.code == GPUKERN_COMPLEX and dtype.bits < 64:
        return 0
    if rank_of(value) > rank:
        raise GpukernTypeError(
            f"{name} must convert to {name_of(dtype)} without changing kind, "
            f"got {type(value).__name__}")
    data = element_bytes(value, name, rank, dtype)
    memcpy(stored, <const char *>data, len(data))
    return 0


cdef object number_of(object given, str name):
    """A Python number of the same value; NumPy's long doubles stay what they are."""
    cdef gpukern_dtype described
    if type(given) is float or type(given) is int:
        return given
    convert = PYTHON_TYPES.get(type(given))
    if convert is not None:
        return convert(given)
    if isinstance(given, (int, float, complex)):
        return given
    if type(given) is cnp.ndarray and cnp.PyArray_NDIM(<cnp.ndarray>given) == 0:
        convert = PYTHON_TYPES.get((<cnp.ndarray>given).dtype.type)
        if convert is not None:
            return (<cnp.ndarray>given).item()
    if numpy_subclasses.is_masked(given):
        raise GpukernTypeError(f"{name} must not be masked")
    given = on_host(given, name)
    try:
        array = np.asarray(given)
    except TypeError as error:
        raise GpukernTypeError(f"{name}: {error}") from None
    if array.ndim != 0:
        raise GpukernTypeError(f"{name} must be a scalar, got an array of shape {array.shape}")
    describe_dtype(array.dtype, &described)
    if described.code == GPUKERN_BFLOAT:
        return float(array[()])
    if array.dtype.kind not in "biufc":
        raise GpukernTypeError(f"{name} must be a number, got {type(given).__name__}")
    return array.item()


cdef int rank_of(object value):
    if isinstance(value, int):
        return RANK_INT
    return RANK_FLOAT if isinstance(value, (float, np.longdouble)) else RANK_COMPLEX


cdef bint store_number(object value, gpukern_dtype dtype, void *stored) except -1:
    """Stores a Python number where C rounds it as NumPy does; returns False for all others, right
    or wrong."""
    cdef int overflow = 0
    cdef long long whole
    cdef double real, imag = 0
    if type(value) is float:
        real = value
    elif type(value) is int or type(value) is bool:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
        if dtype.code == GPUKERN_INT:
            return store_integer(whole, dtype.bits, stored)
        # Integers that float64 does not hold would be rounded twice.
        if not -EXACT <= whole <= EXACT:
            return False
        real = <double>whole
    elif type(value) is complex and dtype.code == GPUKERN_COMPLEX:
        real, imag = value.real, value.imag
    else:
        return False
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
    if bits == 32 and whole == <int>whole:
        (<int *>stored)[0] = <int>whole
        return True
    return False


cdef str name_of(gpukern_dtype dtype):
    return "bfloat16" if dtype.code == GPUKERN_BFLOAT else str(numpy_dtype(dtype))


cdef object float_of_int(object value):
    """A float64 that rounds to any narrower type as the int itself does: rounded to odd."""
    nearest = float(value)
    if nearest == value or np.float64(nearest).view(np.int64) & 1:  # Python compares exactly
        return nearest
    return math.nextafter(nearest, math.inf if value > nearest else -math.inf)


cdef bytes element_bytes(object value, str name, int rank, gpukern_dtype dtype):
    if rank == RANK_INT:
        limit = 1 << <object>(dtype.bits - 1)
        if not -limit <= value < limit:
            raise GpukernOverflowError(f"{name} must fit {name_of(dtype)}, got {shown(value)}")
    elif isinstance(value, int):
        try:
            wide = dtype.bits == (128 if rank == RANK_COMPLEX else 64)
            value = float(value) if wide else float_of_int(value)
        except OverflowError:
            raise GpukernOverflowError(
                f"{name} must fit {name_of(dtype)}, got {shown(value)}") from None
    if dtype.code == GPUKERN_BFLOAT:
        return bfloat16_bits(float(value)).tobytes()
    if isinstance(value, (int, float)) and -HALF_MAX <= value <= HALF_MAX:
        return np.array(value, numpy_dtype(dtype)).tobytes()
    # Too large for the type is infinity, as for a result that overflows; no warning for either.
    with np.errstate(over="ignore"):
        return np.array(value, numpy_dtype(dtype)).tobytes()
