# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The index of a call: an array of integers, an int, or a tuple of them."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int64_t
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_INT, GPUKERN_MAX_NDIM, GPUKERN_UINT, gpukern_dtype, gpukern_tensor,
)
from gpukern._interop.argument cimport describe, fill_from_ndarray, is_ndarray, prepare
from gpukern._interop.dtype cimport is_native
from gpukern._memory.device_array cimport copy_to_device
from gpukern._runtime.runtime cimport shown
from gpukern._streams.call cimport Argument, CallContext, keep, link, new_memory, what

from collections.abc import Sequence

import numpy as np

from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

cnp.import_array()


cdef int describe_index(CallContext *call, object index, const Argument *src, Argument *idx,
                        str name="index", bint single_on_host=False) except -1:
    """Describes the index as the C side takes it: native, of whole elements, and on the source's
    GPU if that is on one, but for a single index that it takes on the host."""
    cdef int overflow = 0
    cdef long long value = 0
    if type(index) is int:
        value = PyLong_AsLongLongAndOverflow(index, &overflow)
        if not overflow:
            fill_scalar_index(call, index, name, value, idx)
            return 0 if single_on_host else copy_to_gpu_of(call, src, idx)
        require_held(call, name, index)
    describe(call, index, name, idx)
    if is_ndarray(idx):
        fit_index(call, index, idx)
    return 0 if single_on_host and idx.c.ndim == 0 else copy_to_gpu_of(call, src, idx)


cdef int fill_scalar_index(CallContext *call, object index, str name, int64_t value,
                           Argument *idx) except -1:
    """An int as a 0-d array, whose element is in the place of the sizes that it does not have."""
    prepare(idx, index, name)
    idx.sizes[0] = value
    idx.c.data = idx.c.shape = idx.sizes
    idx.c.device.device_type = GPUKERN_CPU
    idx.c.dtype.code, idx.c.dtype.bits, idx.c.dtype.lanes = GPUKERN_INT, 64, 1
    idx.itemsize = sizeof(int64_t)
    idx.host = True
    idx.owner = idx.array
    return link(call, idx)


cdef int fit_index(CallContext *call, object index, Argument *idx) except -1:
    """Converts what NumPy made of numbers, and what is not native or not of whole elements."""
    cdef cnp.ndarray array = <cnp.ndarray>idx.owner
    cdef int code = idx.c.dtype.code
    if (code == GPUKERN_INT or code == GPUKERN_UINT) and not idx.byte_strided:
        return 0
    # As a plain ndarray: a subclass may override attributes.
    array = np.asarray(array)
    if not isinstance(index, cnp.ndarray):
        array = index_of_numbers(call, <object>idx.name, index, array)
    if array.dtype.kind not in "iu":
        name, hint = what(call, idx), ""
        if array.dtype.kind == "b" and <object>idx.name != "offsets" and name != "bincount: index":
            hint = " (numpy.flatnonzero() gives the indices)"
        raise GpukernTypeError(f"{name} must be of an integer dtype, got {array.dtype}{hint}")
    if not is_native(array.dtype):
        array = array.astype(array.dtype.newbyteorder("="))
    elif idx.byte_strided:
        array = array.copy()
    keep(call, array)
    return fill_from_ndarray(call, idx, array)


cdef cnp.ndarray index_of_numbers(const CallContext *call, object name, object index,
                                  cnp.ndarray array):
    """Corrects the dtype that NumPy gave Python's numbers."""
    cdef bint is_sequence = isinstance(index, Sequence) and not PyObject_CheckBuffer(index)
    # An empty sequence has no dtype; NumPy's guess is float64.
    if array.size == 0 and is_sequence:
        return array.astype(np.intp)
    if array.dtype.hasobject:
        for number in array.flat:
            require_held(call, name, number)
    elif array.dtype.kind == "f" and is_sequence:
        # NumPy makes floats of ints where int64 does not hold all of them.
        numbers = np.array(index, object)
        if all([isinstance(number, int) for number in numbers.flat]):
            if numbers.min() >= 0:
                return numbers.astype(np.uint64)
            raise not_held(call, name, numbers.max(), " together with negative ones")
    return array


cdef int require_held(const CallContext *call, object name, object number) except -1:
    if isinstance(number, int) and not -2**63 <= number < 2**64:
        raise not_held(call, name, number, "")
    return 0


cdef object not_held(const CallContext *call, object name, object number, str end):
    """The error for a number that no dtype of an index holds."""
    if name == "offsets":
        return GpukernValueError(
            f"{<object>call.function}: offsets: {shown(number)} fits no integer dtype{end}")
    return GpukernIndexError(f"index {shown(number)} fits no integer dtype{end}")


cdef int copy_to_gpu_of(CallContext *call, const Argument *src, Argument *argument) except -1:
    """Copies an argument on the host, the last one that was described, to the GPU of `src`."""
    if src.host or not argument.host:
        return 0
    cdef gpukern_dtype dtype = argument.c.dtype
    copy = copy_to_device(call, argument, src.c.device)
    keep(call, copy)
    call.arguments = argument.previous  # it is linked again
    describe(call, copy, <object>argument.name, argument)
    argument.c.dtype = dtype  # which NumPy may not have
    return 0


cdef int describe_own(CallContext *call, object array, object name, Argument *argument) except -1:
    """Describes an ndarray of ours, which the call keeps."""
    keep(call, array)
    return describe(call, array, name, argument)


# ---- several indices ----

cdef int describe_indices(CallContext *call, tuple index, object axis, const Argument *src,
                          Argument *idx, Indices *indices) except -1:
    """Describes a tuple of indices, of which `idx` is the first."""
    cdef Py_ssize_t count = len(index)
    cdef Py_ssize_t k
    cdef Argument *further
    if count == 0:
        raise GpukernValueError(f"{<object>call.function}: index must not be an empty tuple")
    if axis is None:
        raise GpukernValueError(
            f"{<object>call.function}: axis must not be None with a tuple of indices")
    names = [f"index[{k}]" for k in range(count)]
    keep(call, (names, index))  # a new tuple, if that is of a subclass
    describe_index(call, index[0], src, idx, names[0])
    further = <Argument *>new_memory(call, count * sizeof(Argument))
    indices.further = <const gpukern_tensor **>new_memory(call, count * sizeof(void *))
    indices.count = count - 1
    start_shape(call, indices, &idx.c)
    for k in range(count - 1):
        describe_index(call, index[k + 1], src, &further[k], names[k + 1])
        indices.further[k] = &further[k].c
        broadcast_shape(indices, &further[k].c)
    return 0


cdef int start_shape(CallContext *call, Indices *indices, const gpukern_tensor *first) except -1:
    cdef int64_t *sizes = <int64_t *>new_memory(call, GPUKERN_MAX_NDIM * sizeof(int64_t))
    memset(&indices.shape, 0, sizeof(gpukern_tensor))
    indices.shape.shape = sizes
    broadcast_shape(indices, first)
    return 0


cdef void broadcast_shape(Indices *indices, const gpukern_tensor *index) noexcept:
    """Broadcasts the shape so far; any shape for indices that the C side refuses."""
    cdef int64_t *sizes = indices.shape.shape
    cdef int d, ndim = max(indices.shape.ndim, index.ndim)
    cdef int added = ndim - indices.shape.ndim
    for d in range(ndim - 1, -1, -1):
        sizes[d] = sizes[d - added] if d >= added else 1
        if sizes[d] == 1 and d >= ndim - index.ndim:
            sizes[d] = index.shape[d - (ndim - index.ndim)]
    indices.shape.ndim = ndim
