# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""gather: the Python function."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_AsLongLongAndOverflow
from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport (
    GPUKERN_AXIS_NONE, GPUKERN_CPU, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL, GPUKERN_INDEX_RAISE,
    GPUKERN_INDEX_WRAP, GPUKERN_INT, GPUKERN_MAX_NDIM, GPUKERN_OPAQUE, GPUKERN_UINT, gpukern_copy,
    gpukern_gather, gpukern_gather_options, gpukern_index_mode, gpukern_tensor,
)
from gpukern._interop.argument cimport (
    as_bytes, describe, describe_output, dtype_of, fill_from_ndarray, is_ndarray, prepare, shape_of,
)
from gpukern._interop.array_type cimport BY_NDARRAY, ArrayType
from gpukern._interop.dtype cimport is_native, require_plain
from gpukern._interop.result cimport new_result
from gpukern._interop.scalar cimport fill_array
from gpukern._memory.device_array cimport copy_to_device
from gpukern._runtime.error cimport check
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, keep, link, new_memory, start,
)
from gpukern._streams.keepalive cimport keep_until_done

import operator

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern._ops.call_options import describe_call_options
from gpukern.errors import (
    GpukernAxisError, GpukernIndexError, GpukernTypeError, GpukernValueError,
)

cnp.import_array()

cdef enum:
    # As many dimensions as tensors of one more than GPUKERN_MAX_NDIM make.
    MAX_RESULT_NDIM = 2 * (GPUKERN_MAX_NDIM + 1)

cdef dict MODES = {"raise": GPUKERN_INDEX_RAISE, "wrap": GPUKERN_INDEX_WRAP,
                   "clip": GPUKERN_INDEX_CLIP, "fill": GPUKERN_INDEX_FILL}


# What the C function takes besides the index.
cdef struct Gather:
    gpukern_gather_options options
    int32_t axis
    gpukern_tensor source
    gpukern_tensor out
    Argument fill


def gather(source, index, *, axis=0, mode="raise", fill_value=0, out=None, device=None,
           stream=None, progress=None, device_memory=None):
    """Takes items of an array along an axis: ``out[a, i, b] = source[a, index[i], b]``.

    Parameters
    ----------
    source : array
        Of any fixed-width dtype. A host array: a NumPy array, an object that exports the buffer
        protocol, or a list. A device array: a DeviceArray, or an object with ``__dlpack__`` or
        ``__cuda_array_interface__``. With an index on a GPU, also a host array in pinned memory
        (:func:`pinned_empty`, or pinned by another library), which the GPU reads in place; CPU
        threads gather a share of large calls.
    index : array of an integer dtype, or int
        Any shape. With a device source, a host index is copied to the device.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened source.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        What to do with an index outside [0, n). 'raise': [-n, 0) counts from the end, anything else
        is an IndexError. 'wrap': modulo n. 'clip': to the nearest of 0 and n - 1. 'fill': [-n, 0)
        counts from the end, anything else gives `fill_value`.
    fill_value : scalar or array
        For mode 'fill'; other modes ignore it. Converts to the source's dtype by NumPy's rule
        'same_kind'. The shape of an array is a suffix of the shape of an item. The default 0 fills
        with zero bytes for every dtype.
    out : array, optional
        Written to and returned: of the source's dtype, and of shape
        ``source.shape[:axis] + index.shape + source.shape[axis+1:]``. May overlap the inputs.
    {call_options}

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the library of the source, or of the index if that is
        on a GPU and the source is not. As in :func:`numpy.take`, a 0-d result of NumPy arrays is a
        scalar, and subclasses of ndarray are preserved.

    Raises
    ------
    IndexError
        In mode 'raise', naming the first bad index; `out` is unchanged then. In every mode, for an
        index into an empty axis, and for a Python int that no integer dtype holds.
    AxisError, TypeError, ValueError
        For invalid arguments.

    Notes
    -----
    On a GPU the call enqueues its work; mode 'raise' also waits for the stream.
    Ctrl-C stops long calls on host arrays between the parts of their work.
    """
    cdef CallContext call
    cdef Argument src, idx, dst
    cdef Gather work
    cdef object result = out
    if is_special(source):
        return numpy_subclasses.special_gather(source)(
            source, index, axis=axis, mode=mode, fill_value=fill_value, out=out, device=device,
            stream=stream, progress=progress, device_memory=device_memory)
    begin_call(&call, "gather", device, stream, progress, device_memory)
    work.options.struct_size = sizeof(gpukern_gather_options)
    work.options.mode = as_mode(mode)
    work.options.path = 0  # GPUKERN_GATHER_AUTO
    work.options.out_may_change = out is None
    describe_source(&call, source, &src)
    describe_index(&call, index, &src, &idx)
    work.axis = as_axis(axis, src.c.ndim)
    if out is None:
        result = new_gathered(&call, &src, &idx, work.axis, &dst)
    else:
        describe_output(&call, out, "out", &dst)
        require_same_dtype(&src, &dst)
    prepare_work(&call, &work, fill_value, &src, &dst)
    start(&call, &dst)
    finish(&call, gpukern_gather(&work.source, &idx.c, work.axis, &work.out, &work.options,
                                 &call.c))
    if src.host and not idx.host and call.c.explanation == NULL:
        # The producer of pinned memory does not know of the stream that is to read it.
        keep_until_done(<object>src.owner, idx.c.device, call.c.stream)
    answer = end_call(&call, result, &dst)
    if out is None and is_subclass(&src) and answer is not None:
        return numpy_subclasses.like(source, result)
    return answer


cdef bint is_special(object source):
    """Whether NumPy's rules make several calls of one: arrays of objects and masked arrays."""
    if not isinstance(source, cnp.ndarray):
        return False
    if cnp.PyArray_TYPE(source) == cnp.NPY_OBJECT:
        return True
    return type(source) is not cnp.ndarray and numpy_subclasses.is_masked(source)


cdef bint is_subclass(const Argument *argument) noexcept:
    return argument.type != NULL and (<ArrayType>argument.type).protocol == BY_NDARRAY


cdef gpukern_index_mode as_mode(object mode) except *:
    found = MODES.get(mode) if isinstance(mode, str) else None
    if found is None:
        raise GpukernValueError(
            f"gather: mode must be 'raise', 'wrap', 'clip' or 'fill', got {mode!r}")
    return found


cdef int32_t as_axis(object axis, int ndim) except? -1:
    cdef int overflow = 0
    cdef long value
    cdef object number = axis
    if axis is None:
        return GPUKERN_AXIS_NONE
    if type(axis) is not int:
        if isinstance(axis, (bool, np.bool)):
            raise GpukernTypeError("gather: axis must be an int or None, got bool")
        try:
            number = operator.index(axis)
        except TypeError:
            raise GpukernTypeError(
                f"gather: axis must be an int or None, got {type(axis).__name__}") from None
    value = PyLong_AsLongAndOverflow(number, &overflow)
    if overflow or not -2**31 < value < 2**31:
        raise GpukernAxisError(f"axis {number} is out of bounds for array of dimension {ndim}")
    return <int32_t>value


# ---- the arguments ----

cdef int describe_source(CallContext *call, object source, Argument *src) except -1:
    describe(call, source, "source", src)
    if src.c.dtype.code == GPUKERN_OPAQUE:
        require_plain(dtype_of(src), "gather: source")
    return 0


cdef int describe_index(CallContext *call, object index, const Argument *src,
                        Argument *idx) except -1:
    """Describes the index as the C side takes it: native, of whole elements, and on the source's
    GPU if that is on one."""
    cdef int overflow = 0
    cdef long long value = 0
    if type(index) is int:
        value = PyLong_AsLongLongAndOverflow(index, &overflow)
        if not overflow:
            fill_scalar_index(call, index, value, idx)
            return copy_index(call, src, idx)
        require_held(index)
    describe(call, index, "index", idx)
    if is_ndarray(idx):
        fit_index(call, index, idx)
    return copy_index(call, src, idx)


cdef int fill_scalar_index(CallContext *call, object index, int64_t value, Argument *idx) except -1:
    """An int as a 0-d array, whose element is in the place of the sizes that it does not have."""
    prepare(idx, index, "index")
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
    if not isinstance(index, cnp.ndarray):
        array = index_of_numbers(index, array)
    if array.dtype.kind not in "iu":
        raise GpukernTypeError(f"gather: index must be of an integer dtype, got {array.dtype}")
    if not is_native(array.dtype):
        array = array.astype(array.dtype.newbyteorder("="))
    elif idx.byte_strided:
        array = array.copy()
    keep(call, array)
    return fill_from_ndarray(call, idx, array)


cdef cnp.ndarray index_of_numbers(object index, cnp.ndarray array):
    """Corrects the dtype that NumPy gave Python's numbers."""
    # An empty list has no dtype; NumPy's guess is float64.
    if array.size == 0 and isinstance(index, (list, tuple)):
        return array.astype(np.intp)
    if array.dtype.hasobject:
        for number in array.flat:
            require_held(number)
    elif array.dtype.kind == "f" and isinstance(index, (list, tuple)):
        # NumPy makes floats of negative ints and such from 2**63 on in one list.
        for number in np.array(index, object).flat:
            if isinstance(number, int) and number >= 2**63:
                raise GpukernIndexError(
                    f"index {number} fits no integer dtype together with negative ones")
    return array


cdef int require_held(object number) except -1:
    if isinstance(number, int) and not -2**63 <= number < 2**64:
        raise GpukernIndexError(f"index {number} fits no integer dtype")
    return 0


cdef int copy_index(CallContext *call, const Argument *src, Argument *idx) except -1:
    """Copies an index on the host to the GPU of the source."""
    if src.host or not idx.host:
        return 0
    copy = copy_to_device(call, idx, src.c.device)
    keep(call, copy)
    # It is the last one that was linked, and is replaced.
    call.arguments = idx.previous
    return describe(call, copy, "index", idx)


cdef int require_same_dtype(const Argument *src, const Argument *dst) except -1:
    # The C side sees no more than the size of a dtype without a type code.
    if not (src.c.dtype.code == GPUKERN_OPAQUE or dst.c.dtype.code == GPUKERN_OPAQUE
            or src.byte_strided or dst.byte_strided):
        return 0
    if dtype_of(dst) != dtype_of(src):
        raise GpukernTypeError(
            f"gather: out must have the source's dtype {dtype_of(src)}, got {dtype_of(dst)}")
    return 0


# ---- the result ----

cdef object new_gathered(CallContext *call, const Argument *src, const Argument *idx, int32_t axis,
                         Argument *dst):
    """A new array of the source's kind; of the index's kind where only that is on a GPU."""
    cdef int64_t[MAX_RESULT_NDIM] sizes
    cdef int ndim = result_sizes(&src.c, &idx.c, axis, sizes)
    if not src.host or idx.host:
        return new_result(call, src, None, ndim, sizes, dst)
    library = library_of(src)
    same = library is not None and library == library_of(idx)
    return new_result(call, idx, (<object>src.array).dtype if same else dtype_of(src), ndim, sizes,
                      dst)


cdef object library_of(const Argument *argument):
    return None if argument.type == NULL else (<ArrayType>argument.type).library


cdef int result_sizes(const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
                      int64_t *sizes) noexcept:
    """Fills in the result's shape and returns its ndim; any shape for an axis that the C side
    refuses."""
    cdef int ndim = source.ndim
    cdef int d, first = 0, last = ndim, put = 0
    if axis != GPUKERN_AXIS_NONE and ndim > 0 and -ndim <= axis < ndim:
        first = axis + ndim if axis < 0 else axis
        last = first + 1
    for d in range(first):
        sizes[put] = source.shape[d]
        put += 1
    for d in range(index.ndim):
        sizes[put] = index.shape[d]
        put += 1
    for d in range(last, ndim):
        sizes[put] = source.shape[d]
        put += 1
    return put


# ---- layouts and items for the C side ----

cdef int prepare_work(CallContext *call, Gather *work, object fill_value, const Argument *src,
                      const Argument *dst) except -1:
    cdef bint zeros = type(fill_value) is int and fill_value == 0
    work.source, work.out = src.c, dst.c
    work.options.fill_value = NULL
    if src.itemsize == 0:
        # Items without bytes: one byte stands for each, since the indices are still checked.
        work.source = stand_in(call, np.broadcast_to(np.uint8(0), shape_of(&src.c))).c
        work.out = stand_in(call, np.empty(shape_of(&dst.c), np.uint8)).c
        return 0
    if work.options.mode == GPUKERN_INDEX_FILL and not zeros:
        filled = fill_array(fill_value, src)
        keep(call, filled)
        describe(call, filled, "fill_value", &work.fill)
        work.fill.c.dtype = src.c.dtype
        work.options.fill_value = &work.fill.c
    if src.byte_strided or dst.byte_strided:
        prepare_bytes(call, work, src, dst)
    return 0


cdef int prepare_bytes(CallContext *call, Gather *work, const Argument *src,
                       const Argument *dst) except -1:
    """Gathers bytes, by one more dimension behind the last."""
    cdef int ndim = max(src.c.ndim, 1)
    if work.axis == GPUKERN_AXIS_NONE:
        work.axis = 0
        ndim = 1
    if not -ndim <= work.axis < ndim:
        raise GpukernAxisError(
            f"axis {work.axis} is out of bounds for array of dimension {ndim}")
    if ndim == 1 and src.c.ndim != 1:
        src = stand_in(call, flat(call, src))
    if work.axis < 0:
        work.axis += ndim
    as_bytes(call, src, &work.source)
    as_bytes(call, dst, &work.out)
    if work.options.fill_value != NULL:
        as_bytes(call, &work.fill, &work.fill.c)
    return 0


cdef Argument *stand_in(CallContext *call, object array) except NULL:
    """Describes an ndarray that takes the place of an argument."""
    cdef Argument *made = <Argument *>new_memory(call, sizeof(Argument))
    keep(call, array)
    describe(call, array, "source", made)
    return made


cdef object flat(CallContext *call, const Argument *src):
    """The source as one dimension, copied if need be."""
    cdef gpukern_tensor origin, to
    cdef Argument *copy
    if is_ndarray(src):
        return np.asarray(<object>src.owner).reshape(-1)
    array = np.empty(shape_of(&src.c), dtype_of(src))
    copy = stand_in(call, array)
    as_bytes(call, src, &origin)
    as_bytes(call, copy, &to)
    with nogil:
        check(gpukern_copy(&origin, &to, NULL))
    return array.reshape(-1)


describe_call_options(gather)
