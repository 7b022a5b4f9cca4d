# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Python's and NumPy's scalars as elements of an array: gather's fill_value and saxpy's a."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_COMPLEX, GPUKERN_FLOAT, GPUKERN_INT, gpukern_dtype,
)
from gpukern._interop.dtype cimport bfloat16_bits, describe, numpy_dtype
from gpukern._interop.array_type cimport ArrayType, array_type_of
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray

import math

import numpy as np

from gpukern._interop import libraries

from gpukern._interop import numpy_subclasses
from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError

cnp.import_array()

# The order of kinds in which a scalar may move up, never down.
cdef enum:
    RANK_INT = 1
    RANK_FLOAT = 2
    RANK_COMPLEX = 3

cdef dict RANK_OF_CODE = {GPUKERN_INT: RANK_INT, GPUKERN_FLOAT: RANK_FLOAT,
                          GPUKERN_BFLOAT: RANK_FLOAT, GPUKERN_COMPLEX: RANK_COMPLEX}


cdef Tensor fill_tensor(object fill_value, Tensor source):
    """The fill value in the source's dtype; None for the default, zero bytes."""
    cdef Tensor tensor
    if type(fill_value) is int and fill_value == 0:
        return None
    if numpy_subclasses.is_masked(fill_value):
        raise GpukernTypeError("gather: fill_value must not be masked")
    fill_value = on_host(fill_value, "gather: fill_value")
    try:
        if source.c.dtype.code == GPUKERN_BFLOAT:
            filled = bfloat16_array(fill_value)
        else:
            filled = converted(fill_value, source.dtype)
    except OverflowError as error:
        raise GpukernOverflowError(f"gather: fill_value: {error}") from None
    except TypeError as error:
        raise GpukernTypeError(f"gather: fill_value: {error}") from None
    except ValueError as error:
        raise GpukernValueError(f"gather: fill_value: {error}") from None
    tensor = tensor_of_ndarray(filled)
    tensor.c.dtype = source.c.dtype
    return tensor


cdef object on_host(object value, str what):
    """What NumPy understands, in place of an array of a library's."""
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
    describe(array.dtype, &described)
    if described.code != GPUKERN_BFLOAT and array.dtype.kind not in "biuf":
        raise GpukernTypeError(f"cannot cast {array.dtype} to bfloat16 by the rule 'same_kind'")
    made = np.empty(array.shape, np.uint16)
    for position, element in enumerate(array.flat):
        made.flat[position] = bfloat16_bits(float(element))
    return made


cdef int store_scalar(object a, gpukern_dtype dtype, void *stored) except -1:
    """Stores saxpy's `a` as one element; stores nothing for a dtype that the C side refuses."""
    if store_plainly(a, dtype, stored):
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


cdef bint store_plainly(object a, gpukern_dtype dtype, void *stored) except -1:
    """Stores a Python number where C rounds it as NumPy does; returns False for any other."""
    cdef double number
    cdef int overflow = 0
    cdef long long whole
    if type(a) is float:
        number = a
    elif type(a) is int:
        whole = PyLong_AsLongLongAndOverflow(a, &overflow)
        number = <double>whole
        # Integers that float64 does not hold would be rounded twice.
        if overflow or not -2**53 <= whole <= 2**53:
            return False
        if dtype.code == GPUKERN_INT and dtype.bits == 64:
            (<long long *>stored)[0] = whole
            return True
        if dtype.code == GPUKERN_INT and dtype.bits == 32 and -2**31 <= whole < 2**31:
            (<int *>stored)[0] = <int>whole
            return True
    else:
        return False
    if dtype.code == GPUKERN_FLOAT and dtype.bits == 32:
        (<float *>stored)[0] = <float>number
        return True
    if dtype.code == GPUKERN_FLOAT and dtype.bits == 64:
        (<double *>stored)[0] = number
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
    describe(array.dtype, &described)
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
