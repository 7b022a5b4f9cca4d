# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The allocation of results."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t

from gpukern._capi cimport GPUKERN_BFLOAT, GPUKERN_MAX_NDIM, gpukern_dtype, gpukern_tensor
from gpukern._interop.argument cimport (
    describe_prepared, dtype_of, is_device_array, is_ndarray, new_ndarray, new_ndarray_result,
    prepare,
)
from gpukern._interop.array_type cimport ArrayType
from gpukern._interop.dtype cimport numpy_dtype
from gpukern._memory.device_array cimport DeviceArray, allocate_device_array
from gpukern._streams.call cimport Argument, CallContext

import numpy as np

cnp.import_array()


cdef object new_result(CallContext *call, const Argument *like, object dtype, int ndim,
                       const int64_t *shape, Argument *result):
    cdef ArrayType type_
    cdef object from_library
    cdef DeviceArray made
    if dtype is not None and (like.type == NULL or (<ArrayType>like.type).allocate is None):
        dtype = as_numpy_dtype(dtype)
    if is_ndarray(like):
        return new_ndarray_result(call, like, dtype, ndim, shape, result)
    type_ = <ArrayType>like.type
    if type_.allocate is not None:
        from_library = allocate(type_, like, dtype, ndim, shape)
        if from_library is not None:
            describe_result(call, from_library, result)
            return from_library
    elif like.host and not type_.adopts and not is_device_array(like):
        return new_ndarray_result(call, like, dtype, ndim, shape, result)
    made = allocate_device_array(call, like.c.device,
                                 dtype_of(like) if dtype is None else as_numpy_dtype(dtype), ndim,
                                 shape)
    if dtype is None:  # which NumPy may not have
        made.c.dtype = like.c.dtype
    describe_result(call, made, result)
    if type_.adopts:
        result.type = like.type
    return made


cdef object new_result_of(CallContext *call, const Argument *like, object dtype, int ndim,
                          const int64_t *shape, const gpukern_tensor **operands, int count,
                          Argument *result):
    cdef int[GPUKERN_MAX_NDIM] order
    cdef int64_t[GPUKERN_MAX_NDIM] strides
    cdef int d
    cdef uint64_t stride
    cdef object made = None
    if (dtype is not None or is_like(&like.c, ndim, shape)
            or not sort_axes(operands, count, ndim, order)):
        return new_result(call, like, dtype, ndim, shape, result)
    if is_ndarray(like):
        stride = dtype_of(like).itemsize
        for d in range(ndim - 1, -1, -1):
            strides[order[d]] = <int64_t>stride
            stride *= <uint64_t>shape[order[d]]
        made = new_ndarray(dtype_of(like), ndim, shape, NULL, strides)
    elif (<ArrayType>like.type).allocate_permuted is not None:
        made = (<ArrayType>like.type).allocate_permuted(
            <object>like.array, tuple([shape[d] for d in range(ndim)]),
            [order[d] for d in range(ndim)], like.c.device.device_id)
    if made is None:
        return new_result(call, like, None, ndim, shape, result)
    describe_result(call, made, result)
    return made


cdef bint sort_axes(const gpukern_tensor **operands, int count, int ndim, int *order) noexcept:
    """Sets the axes of a result, the outermost first, as NumPy's iterator does: by the sizes of the
    strides, unless one of the operands is in C order there. False if that is C order."""
    cdef int d, behind, place, decided
    cdef bint sorted_ = False
    for d in range(ndim - 1, -1, -1):
        place = d
        for behind in range(d + 1, ndim):
            decided = compare_axes(operands, count, d - ndim, order[behind] - ndim)
            if decided < 0:
                break
            if decided > 0:
                place = behind
        for behind in range(d, place):
            order[behind] = order[behind + 1]
        order[place] = d
        sorted_ = sorted_ or place != d
    return sorted_


cdef int compare_axes(const gpukern_tensor **operands, int count, int outer, int inner) noexcept:
    """Positive if an axis before another one belongs behind it, 0 if no stride tells. Axes count
    from the end."""
    cdef int k, decided
    cdef int found = 0
    for k in range(count):
        decided = compare_strides(operands[k], operands[k].ndim + outer, operands[k].ndim + inner)
        if decided < 0:
            return decided
        found = max(found, decided)
    return found


cdef int compare_strides(const gpukern_tensor *tensor, int outer, int inner) noexcept:
    cdef int64_t before, behind
    if outer < 0 or inner < 0 or tensor.shape[outer] <= 1 or tensor.shape[inner] <= 1:
        return 0
    if tensor.strides == NULL:
        return -1
    before = tensor.strides[outer]
    behind = tensor.strides[inner]
    if before == 0 or behind == 0:
        return 0
    return -1 if magnitude(before) >= magnitude(behind) else 1


cdef inline uint64_t magnitude(int64_t number) noexcept nogil:
    return 0 - <uint64_t>number if number < 0 else <uint64_t>number


cdef int describe_result(CallContext *call, object array, Argument *result) except -1:
    """Describes an array that was made for the result."""
    prepare(result, array, "the result")
    result.written = result.is_new = True
    return describe_prepared(call, array, result)


cdef cnp.dtype as_numpy_dtype(object dtype):
    cdef gpukern_dtype described
    if isinstance(dtype, cnp.dtype):
        return dtype
    if isinstance(dtype, str) and dtype == "bfloat16":
        described.code, described.bits, described.lanes = GPUKERN_BFLOAT, 16, 1
        return numpy_dtype(described)
    return np.dtype(dtype)


cdef object allocate(ArrayType type_, const Argument *like, object dtype, int ndim,
                     const int64_t *shape):
    """An array of a library; None for a dtype that it does not have."""
    if dtype is None and type_.empty_like is not None and is_like(&like.c, ndim, shape):
        return type_.empty_like(<object>like.array)
    sizes = tuple([shape[d] for d in range(ndim)])
    return type_.allocate(<object>like.array, sizes, like.c.device.device_id, dtype)


cdef bint is_like(const gpukern_tensor *tensor, int ndim, const int64_t *shape) noexcept:
    """Whether a C-contiguous array of this shape has the layout of a tensor."""
    cdef int d
    if tensor.ndim != ndim:
        return False
    for d in range(ndim):
        if tensor.shape[d] != shape[d]:
            return False
    return is_c_order(tensor)


cdef bint is_c_order(const gpukern_tensor *tensor) noexcept:
    cdef uint64_t stride = 1
    cdef int d
    if tensor.strides == NULL:
        return True
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.strides[d] != <int64_t>stride:
            return False
        stride *= <uint64_t>tensor.shape[d]
    return True
