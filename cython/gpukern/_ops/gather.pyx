# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""gather: the Python function."""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongAndOverflow
from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport (
    GPUKERN_AXIS_NONE, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL, GPUKERN_INT, GPUKERN_MAX_NDIM, GPUKERN_OPAQUE,
    GPUKERN_INDEX_RAISE, GPUKERN_UINT, GPUKERN_INDEX_WRAP, gpukern_copy, gpukern_gather,
    gpukern_gather_options, gpukern_index_mode,
    gpukern_tensor,
)
from gpukern._interop.convert cimport (
    as_output, as_tensor, enqueued, finished, finished_beside, new_result, on_device,
)
from gpukern._interop.dtype cimport is_native, require_plain
from gpukern._runtime.error cimport check
from gpukern._streams.keepalive cimport keep_until_done
from gpukern._interop.lend cimport (
    Order, begin, end, is_long, is_short, lend, new_array_like, note_write, pinned, returned,
    together,
)
from gpukern._interop.operand cimport OPERAND_NDIM, Operand
from gpukern._interop.scalar cimport fill_tensor
from gpukern._streams.stream cimport Launch, new_launch
from gpukern._interop.tensor cimport Tensor, bytes_of, tensor_of_ndarray
from gpukern._streams.watch cimport Watch, watch, watch_signals, watched

import operator

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import (
    GpukernAxisError, GpukernIndexError, GpukernTypeError, GpukernValueError,
)

cnp.import_array()

cdef enum:
    # As many dimensions as tensors of one more than GPUKERN_MAX_NDIM make.
    MAX_RESULT_NDIM = 2 * (GPUKERN_MAX_NDIM + 1)

cdef dict MODES = {"raise": GPUKERN_INDEX_RAISE, "wrap": GPUKERN_INDEX_WRAP, "clip": GPUKERN_INDEX_CLIP,
                   "fill": GPUKERN_INDEX_FILL}


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
    device : {'cpu', 'cuda', 'cuda:N'} or int, optional
        Where host arrays are computed; by default $GPUKERN_DEVICE, or the CPU.
    stream : optional
        An int handle, or an object with ``__cuda_stream__``; by default the current stream of the
        library of the first array, or the legacy default stream.
    progress : callable, optional
        Called as ``progress(done_bytes, total_bytes)`` between the parts of a call on host arrays.
        An exception that it raises stops the call and propagates; `out` is then partially written.
    device_memory : int, optional
        Bytes of device memory for the chunks of host arrays; by default $GPUKERN_DEVICE_MEMORY, or
        1 GiB.

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
    cdef object quick = None
    if device is None and stream is None and progress is None and device_memory is None:
        quick = gather_quickly(source, index, axis, as_mode(mode), fill_value, out)
        if quick is not None:
            return quick
    cdef bint subclass = isinstance(source, cnp.ndarray) and type(source) is not cnp.ndarray
    if subclass or is_array_of_objects(source):
        special = numpy_subclasses.special_gather(source)
        if special is not None:
            return special(source, index, axis=axis, mode=mode, fill_value=fill_value, out=out,
                           device=device, stream=stream, progress=progress,
                           device_memory=device_memory)
    cdef Launch where = new_launch("gather", device, stream)
    where.limit_memory(device_memory, "gather: device_memory")
    cdef gpukern_index_mode c_mode = as_mode(mode)
    cdef Tensor src = as_tensor(source, "gather: source", where)
    cdef Tensor idx = as_index(index, where)
    cdef Tensor dst = None
    cdef int32_t c_axis = as_axis(axis, src)
    require_plain(src.dtype, "gather: source")
    idx = on_device(idx, src, where)
    cdef bint in_place = src.host and not idx.host
    if out is None:
        dst = new_result(source, src, result_shape(src, idx, c_axis), where,
                         index if in_place else None, idx)
    else:
        dst = as_output(out, "gather: out", where)
        # The C side sees no more than the size of what has no type code.
        if (src.c.dtype.code == GPUKERN_OPAQUE or dst.c.dtype.code == GPUKERN_OPAQUE or src.odd
                or dst.odd) and dst.dtype != src.dtype:
            raise GpukernTypeError(
                f"gather: out must have the source's dtype {src.dtype}, got {dst.dtype}")
    run(src, idx, c_axis, options_of(c_mode, out), fill_value, dst, where, progress)
    if where.c.explanation != NULL:
        return None  # there is no result
    if in_place:
        # Whoever pinned the memory does not know of the stream that is to read it.
        keep_until_done(src.owner, idx.c.device, where.c.stream)
    if out is not None:
        note_write(out)
        return out
    if in_place:
        return finished_beside(idx, dst)
    if subclass:
        return numpy_subclasses.like(source, dst.owner)
    return finished(src, dst)


cdef object gather_quickly(object source, object index, object axis, gpukern_index_mode mode,
                           object fill_value, object out):
    """The call on plain arrays, see lend.pxd; None for one that takes the long way."""
    cdef Operand src, idx, dst
    cdef Watch eye
    cdef int32_t c_axis
    cdef gpukern_gather_options options = options_of(mode, out)
    if mode == GPUKERN_INDEX_FILL and not (type(fill_value) is int and fill_value == 0):
        return None
    if not (plain_axis(axis, &c_axis) and lend(source, &src, NULL) and lend(index, &idx, &src)):
        return None
    # NumPy's index of another dtype has its own words on the long way.
    if idx.c.dtype.code != GPUKERN_INT and idx.c.dtype.code != GPUKERN_UINT:
        return None
    cdef object result = new_result_like(source, &src, &idx, c_axis) if out is None else out
    if result is None or not lend(result, &dst, &src) or dst.readonly:
        return None
    if not together(&src, &idx, &dst):
        return None
    cdef Order order
    begin(&order, &src, &idx, &dst)
    if is_short(&dst):
        check(gpukern_gather(&src.c, &idx.c, c_axis, &dst.c, &options, &order.c))
    else:
        _pins = pinned(source, index, out, &dst.c.device)
        eye.error = NULL
        if is_long(&dst):
            watch_signals(&eye, &order.c)
        with nogil:
            watched(&eye, gpukern_gather(&src.c, &idx.c, c_axis, &dst.c, &options, &order.c))
    end(&order, &src)
    if out is None:
        return returned(result, &dst)
    note_write(out, &dst)
    return out


cdef bint plain_axis(object axis, int32_t *number) except -1:
    if axis is None:
        number[0] = GPUKERN_AXIS_NONE
        return True
    cdef int overflow = 0
    cdef long value
    if type(axis) is not int:
        return False
    value = PyLong_AsLongAndOverflow(axis, &overflow)
    number[0] = <int32_t>value
    return not overflow and -GPUKERN_MAX_NDIM <= value <= GPUKERN_MAX_NDIM


cdef object new_result_like(object source, const Operand *src, const Operand *idx, int32_t axis):
    cdef int64_t[MAX_RESULT_NDIM] sizes
    cdef int ndim = result_sizes(&src.c, &idx.c, axis, sizes)
    return new_array_like(source, src, ndim, sizes) if ndim <= OPERAND_NDIM else None


cdef bint is_array_of_objects(object source):
    return isinstance(source, cnp.ndarray) and cnp.PyArray_TYPE(source) == cnp.NPY_OBJECT


cdef gpukern_index_mode as_mode(object mode) except *:
    found = MODES.get(mode) if isinstance(mode, str) else None
    if found is None:
        raise GpukernValueError(
            f"gather: mode must be 'raise', 'wrap', 'clip' or 'fill', got {mode!r}")
    return found


cdef gpukern_gather_options options_of(gpukern_index_mode mode, object out) noexcept:
    cdef gpukern_gather_options options
    options.struct_size = sizeof(options)
    options.mode = mode
    options.path = 0  # GPUKERN_GATHER_AUTO
    options.fill_value = NULL
    options.out_may_change = out is None
    return options


cdef int32_t as_axis(object axis, Tensor source) except *:
    if axis is None:
        return GPUKERN_AXIS_NONE
    if isinstance(axis, (bool, np.bool)):
        raise GpukernTypeError("gather: axis must be an int or None, got bool")
    try:
        number = operator.index(axis)
    except TypeError:
        raise GpukernTypeError(
            f"gather: axis must be an int or None, got {type(axis).__name__}") from None
    if not -2**31 < number < 2**31:
        raise GpukernAxisError(
            f"axis {number} is out of bounds for array of dimension {source.c.ndim}")
    return number


cdef Tensor as_index(object index, Launch where):
    """The index as the C side takes it: native, and of a layout that elements can express."""
    if isinstance(index, int):
        require_held(index)
    cdef Tensor tensor = as_tensor(index, "gather: index", where)
    cdef cnp.ndarray array
    if not isinstance(tensor.owner, cnp.ndarray):
        return tensor
    array = tensor.owner
    if not isinstance(index, cnp.ndarray):
        array = index_of_numbers(index, array)
    if array.dtype.kind not in "iu":
        raise GpukernTypeError(f"gather: index must be of an integer dtype, got {array.dtype}")
    if not is_native(array.dtype):
        array = array.astype(array.dtype.newbyteorder("="))
    elif tensor.odd:
        array = array.copy()
    return tensor if array is tensor.owner else tensor_of_ndarray(array)


cdef cnp.ndarray index_of_numbers(object index, cnp.ndarray array):
    """Settles what NumPy made of Python's numbers."""
    # An empty list has no dtype of its own; NumPy's guess is float64.
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


cdef Tensor result_shape(Tensor source, Tensor index, int32_t axis):
    cdef Tensor shape = Tensor.__new__(Tensor)
    cdef int64_t[MAX_RESULT_NDIM] sizes
    cdef int d, ndim = result_sizes(&source.c, &index.c, axis, sizes)
    shape.resize(ndim)
    for d in range(ndim):
        shape.c.shape[d] = sizes[d]
    return shape


cdef int result_sizes(const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
                      int64_t *sizes) noexcept:
    """The result's shape, and as value how many dimensions it has; for an axis that the C side
    refuses any shape."""
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


cdef int run(Tensor source, Tensor index, int32_t axis, gpukern_gather_options options,
             object fill_value, Tensor out, Launch where, object progress) except -1:
    cdef Watch eye
    cdef Tensor fill = None
    if source.itemsize == 0:
        # Items without bytes; stand-ins of one byte, since the indices are to be checked still.
        source = tensor_of_ndarray(np.broadcast_to(np.uint8(0), source.shape()))
        out = tensor_of_ndarray(np.empty(out.shape(), np.uint8))
    elif options.mode == GPUKERN_INDEX_FILL:
        fill = fill_tensor(fill_value, source)
    if source.odd or out.odd:
        source, axis = along_axis(source, axis)
        source, out = bytes_of(source), bytes_of(out)
        fill = None if fill is None else bytes_of(fill)
    if fill is not None:
        options.fill_value = &fill.c
    watch(&eye, &where.c, progress, out.count() * out.itemsize, "gather")
    with nogil:
        watched(&eye, gpukern_gather(&source.c, &index.c, axis, &out.c, &options, &where.c))
    return enqueued(where, source, index, out)


cdef tuple along_axis(Tensor source, int32_t axis):
    """The source and axis made ready for one more dimension behind the last."""
    cdef int ndim = max(source.c.ndim, 1)
    if axis == GPUKERN_AXIS_NONE:
        axis = 0
        ndim = 1
    if not -ndim <= axis < ndim:
        raise GpukernAxisError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    if ndim == 1 and source.c.ndim != 1:
        source = flat(source)
    return source, axis + ndim if axis < 0 else axis


cdef Tensor flat(Tensor source):
    """The source as one dimension, by a copy if need be."""
    if isinstance(source.owner, cnp.ndarray):
        return tensor_of_ndarray(np.asarray(source.owner).reshape(-1))
    cdef Tensor whole = bytes_of(source)
    cdef cnp.ndarray array = np.empty(source.count(), source.dtype)
    cdef Tensor copy = bytes_of(tensor_of_ndarray(array.reshape(source.shape())))
    with nogil:
        check(gpukern_copy(&whole.c, &copy.c, NULL))
    return tensor_of_ndarray(array)
