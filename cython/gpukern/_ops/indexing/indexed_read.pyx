# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The call of an operation that reads items of a source by an index."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongAndOverflow
from cpython.object cimport PyObject_TypeCheck, PyTypeObject
from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport (
    GPUKERN_AXIS_NONE, GPUKERN_INDEX_FILL, GPUKERN_MAX_NDIM, GPUKERN_OPAQUE, gpukern_copy,
    gpukern_gather_options, gpukern_tensor,
)
from gpukern._interop.argument cimport (
    as_bytes, count_of, describe, describe_output, dtype_of, is_ndarray, shape_of,
)
from gpukern._interop.array_type cimport BY_NDARRAY, ArrayType
from gpukern._interop.dtype cimport require_plain
from gpukern._interop.result cimport new_result
from gpukern._interop.scalar cimport elements_of
from gpukern._ops.indexing.index_argument cimport (
    Indices, describe_index, describe_indices, describe_own,
)
from gpukern._runtime.runtime cimport check, shown
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, new_memory, pin, start, what,
)
from gpukern._streams.keep_alive cimport keep_until_done

import operator

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import GpukernAxisError, GpukernTypeError, GpukernValueError

cnp.import_array()

cdef enum:
    MAX_RESULT_NDIM = 2 * GPUKERN_MAX_NDIM

cdef tuple MODES = ("raise", "wrap", "clip", "fill")  # by gpukern_index_mode


cdef IndexedRead new_indexed_read(str name, IndexedFunction function, ResultSizes result_sizes,
                                  object numpys, bint aligned=False):
    cdef IndexedRead made = IndexedRead.__new__(IndexedRead)
    made.name = name
    made.function = function
    made.result_sizes = result_sizes
    made.numpys = numpys
    made.aligned = aligned
    return made


cdef class IndexedRead:
    """An operation, by its C function and the shape of its result."""

    cdef object run(self, object source, object index, object axis, object mode, object fill_value,
                    object out, object device, object stream, object progress,
                    object device_memory):
        cdef CallContext call
        cdef Argument src, idx, dst
        cdef Indices indices
        cdef const gpukern_tensor *index_shape = &idx.c
        cdef Work work
        cdef object result
        cdef bint several = isinstance(index, tuple)
        if several and self.aligned and not is_distributed(source):
            raise GpukernTypeError(f"{self.name}: index must be one array, got a tuple")
        if is_special(source):
            if several and not is_distributed(source):  # that one refuses it on all ranks
                raise GpukernTypeError(
                    f"{self.name}: with a tuple of indices, source must not be a masked array or "
                    f"have Python objects or a StringDType, got {type(source).__name__}")
            return numpy_subclasses.special_gather(source)(
                self.name, self.numpys, source, index, axis=axis, mode=mode, fill_value=fill_value,
                out=out, device=device, stream=stream, progress=progress,
                device_memory=device_memory)
        begin_call(&call, self.name, device, stream, progress, device_memory)
        work.options.struct_size = sizeof(gpukern_gather_options)
        work.options.mode = as_mode(&call, mode)
        work.options.path = 0  # GPUKERN_GATHER_AUTO
        work.options.out_may_change = out is None
        work.options.further_index_count = 0
        describe_source(&call, source, &src)
        if several:
            describe_indices(&call, tuple(index), axis, &src, &idx, &indices)
            work.options.further_index_count = indices.count
            work.options.further_indices = indices.further
            index_shape = &indices.shape
        else:
            describe_index(&call, index, &src, &idx, "index", not self.aligned)
        work.axis = as_axis(&call, axis, src.c.ndim)
        if out is None:
            result = new_gathered(&call, self.result_sizes, &src, &idx, index_shape, &work, &dst)
        else:
            result = out
            describe_output(&call, out, "out", &dst)
            require_same_dtype(&call, &src, &dst)
        prepare_work(&call, &work, self.aligned, fill_value, &src, &idx, &dst)
        start(&call, &dst)
        finish(&call, self.function(work.source, work.index, work.axis, work.out, &work.options,
                                    &call.c))
        if src.host and not idx.host and call.c.explanation == NULL:
            # The producer of pinned memory does not know of the stream that is to read it.
            keep_until_done(<object>src.owner, idx.c.device, call.c.stream)
        if is_subclass(&src) and out is None and dst.host and call.c.explanation == NULL:
            end_call(&call, result, &dst)
            return numpy_subclasses.like(source, result)
        return end_call(&call, result, &dst)


# NumPy's NPY_ITEM_REFCOUNT: elements are or hold references, to Python objects or to strings.
cdef enum:
    HOLDS_REFERENCES = 1


cdef object distributed_array = None  # the type, once gpukern.distributed is imported


def register_distributed_array(type_):
    """Tells which type DistributedArray is."""
    global distributed_array
    distributed_array = type_


cdef bint is_distributed(object array) noexcept:
    return distributed_array is not None and PyObject_TypeCheck(
        array, <PyTypeObject *>distributed_array)


cdef bint is_special(object source):
    """Whether one call makes several: for references, masked arrays and distributed arrays."""
    if not isinstance(source, cnp.ndarray):
        return is_distributed(source)
    if cnp.PyDataType_FLAGS(<cnp.dtype>cnp.PyArray_DESCR(source)) & HOLDS_REFERENCES:
        return True
    return type(source) is not cnp.ndarray and numpy_subclasses.is_masked(source)


cdef bint is_subclass(const Argument *argument) noexcept:
    return argument.type != NULL and (<ArrayType>argument.type).protocol == BY_NDARRAY


cdef int as_mode(const CallContext *call, object mode, tuple modes=MODES) except -1:
    cdef int value
    for value in range(4):
        # Literals are interned; comparing strings costs 10 ns each.
        if mode is MODES[value] and (modes is MODES or mode in modes):
            return value
    if isinstance(mode, str) and mode in modes:
        return MODES.index(mode)
    names = " or ".join(", ".join(map(repr, modes)).rsplit(", ", 1))
    raise GpukernValueError(f"{<object>call.function}: mode must be {names}, got {mode!r}")


cdef int32_t as_axis(const CallContext *call, object axis, int ndim) except? -1:
    cdef int overflow = 0
    cdef long value
    if axis is None:
        return GPUKERN_AXIS_NONE
    if type(axis) is not int:
        return as_axis(call, int_of(call, axis), ndim)
    value = PyLong_AsLongAndOverflow(axis, &overflow)
    if overflow or value != <int32_t>value or value == GPUKERN_AXIS_NONE:
        raise GpukernAxisError(
            f"axis {shown(axis)} is out of bounds for array of dimension {ndim}")
    return <int32_t>value


cdef object int_of(const CallContext *call, object axis):
    if not isinstance(axis, (bool, np.bool)):
        try:
            return int(operator.index(axis))
        except TypeError:
            pass
    raise GpukernTypeError(f"{<object>call.function}: axis must be an int or None, "
                           f"got {type(axis).__name__}")


# ---- the arguments ----

cdef int describe_source(CallContext *call, object source, Argument *src) except -1:
    describe(call, source, "source", src)
    if src.c.dtype.code == GPUKERN_OPAQUE:
        require_plain(dtype_of(src), what(call, src))
    return 0


cdef int require_same_dtype(const CallContext *call, const Argument *src,
                            const Argument *dst) except -1:
    # The C side sees no more than the size of a dtype without a type code.
    if not (src.c.dtype.code == GPUKERN_OPAQUE or dst.c.dtype.code == GPUKERN_OPAQUE
            or src.byte_strided or dst.byte_strided):
        return 0
    if dtype_of(dst) != dtype_of(src):
        raise GpukernTypeError(
            f"{what(call, dst)} must have the {<object>src.name}'s dtype {dtype_of(src)}, "
            f"got {dtype_of(dst)}")
    return 0


# ---- the result ----

cdef object new_gathered(CallContext *call, ResultSizes result_sizes, const Argument *src,
                         const Argument *idx, const gpukern_tensor *index_shape, const Work *work,
                         Argument *dst):
    """A new array of the source's kind; of the index's kind where only that is on a GPU."""
    cdef int64_t[MAX_RESULT_NDIM] sizes
    cdef int ndim = result_sizes(&src.c, index_shape, work.axis,
                                 1 + work.options.further_index_count, sizes)
    if not src.host or idx.host:
        return new_result(call, src, None, ndim, sizes, dst)
    library = library_of(src)
    same = library is not None and library == library_of(idx)
    return new_result(call, idx, (<object>src.array).dtype if same else dtype_of(src), ndim, sizes,
                      dst)


cdef int sizes_with(const gpukern_tensor *source, int32_t axis, int axes, const int64_t *inner,
                    int count, int64_t *sizes) noexcept:
    """Fills in the source's shape with `count` sizes in place of `axes` dimensions from the axis,
    and returns the number of sizes; any shape for an axis that the C side refuses."""
    cdef int ndim = source.ndim
    cdef int d, first = 0, last = ndim, put = 0
    if axis != GPUKERN_AXIS_NONE and ndim > 0 and -ndim <= axis < ndim:
        first = axis + ndim if axis < 0 else axis
        last = first + axes
    for d in range(first):
        sizes[put] = source.shape[d]
        put += 1
    for d in range(count):
        sizes[put] = inner[d]
        put += 1
    for d in range(last, ndim):
        sizes[put] = source.shape[d]
        put += 1
    return put


cdef int64_t axis_length(const gpukern_tensor *source, int32_t axis) noexcept:
    cdef int ndim = source.ndim
    if axis == GPUKERN_AXIS_NONE or not -ndim <= axis < ndim:
        return count_of(source)
    return source.shape[axis + ndim if axis < 0 else axis]


cdef object library_of(const Argument *argument):
    return None if argument.type == NULL else (<ArrayType>argument.type).library


# ---- layouts and items for the C side ----

cdef int prepare_work(CallContext *call, Work *work, bint aligned, object fill_value,
                      const Argument *src, const Argument *idx, const Argument *dst) except -1:
    cdef bint zeros = type(fill_value) is int and fill_value == 0
    cdef Argument *fill = NULL
    work.source, work.index, work.out = &src.c, &idx.c, &dst.c
    work.options.fill_value = NULL
    if src.itemsize == 0:
        # Items without bytes: one byte stands for each, since the indices are still checked.
        work.source = &stand_in(call, np.broadcast_to(np.uint8(0), shape_of(&src.c))).c
        work.out = &stand_in(call, np.empty(shape_of(&dst.c), np.uint8)).c
        return 0
    if work.options.mode == GPUKERN_INDEX_FILL and not zeros:
        fill = stand_in(call, elements_of(call, fill_value, "fill_value", src))
        fill.c.dtype = src.c.dtype
        work.options.fill_value = &fill.c
    if src.byte_strided or dst.byte_strided:
        prepare_bytes(call, work, aligned, src, dst)
        if fill != NULL:
            work.options.fill_value = as_bytes(call, fill)
    return 0


cdef int prepare_bytes(CallContext *call, Work *work, bint aligned, const Argument *src,
                       const Argument *dst) except -1:
    """Moves bytes, by one more dimension behind the last."""
    cdef int ndim = src.c.ndim if aligned else max(src.c.ndim, 1)
    if work.axis == GPUKERN_AXIS_NONE:
        work.axis = 0
        ndim = 1
    if not -ndim <= work.axis < ndim:
        raise GpukernAxisError(
            f"axis {work.axis} is out of bounds for array of dimension {ndim}")
    if ndim == 1 and src.c.ndim != 1:
        if not src.host:
            raise GpukernValueError(f"{what(call, dst)} must be on cuda:{src.c.device.device_id} "
                                    "like source, got cpu")
        src = stand_in(call, flat(call, src))
    if work.axis < 0:
        work.axis += ndim
    work.source, work.out = as_bytes(call, src), as_bytes(call, dst)
    if aligned:
        work.index = with_last_dimension(call, work.index)
    return 0


cdef gpukern_tensor *with_last_dimension(CallContext *call,
                                         const gpukern_tensor *tensor) except NULL:
    """The tensor with one more dimension, of length 1."""
    cdef gpukern_tensor *made = <gpukern_tensor *>new_memory(call, sizeof(gpukern_tensor))
    cdef int d, ndim = tensor.ndim
    cdef int64_t *sizes = <int64_t *>new_memory(call, 2 * (ndim + 1) * sizeof(int64_t))
    cdef int64_t *strides = sizes + ndim + 1
    for d in range(ndim):
        sizes[d] = tensor.shape[d]
        if tensor.strides != NULL:
            strides[d] = tensor.strides[d]
    sizes[ndim] = strides[ndim] = 1
    made[0] = tensor[0]
    made.ndim, made.shape = ndim + 1, sizes
    if tensor.strides != NULL:
        made.strides = strides
    return made


cdef Argument *stand_in(CallContext *call, object array) except NULL:
    """Describes an ndarray of ours in place of a source, an output or a fill value."""
    cdef Argument *made = <Argument *>new_memory(call, sizeof(Argument))
    describe_own(call, array, "source", made)
    return made


cdef object flat(CallContext *call, const Argument *src):
    """The source as one dimension, copied if need be."""
    cdef const gpukern_tensor *origin
    cdef const gpukern_tensor *to
    if is_ndarray(src):
        return np.asarray(<object>src.owner).reshape(-1)
    array = np.empty(shape_of(&src.c), dtype_of(src))
    if call.c.explanation == NULL:
        origin, to = as_bytes(call, src), as_bytes(call, stand_in(call, array))
        pin(call)
        with nogil:
            check(gpukern_copy(origin, to, NULL))
    return array.reshape(-1)
