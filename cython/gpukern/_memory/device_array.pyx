# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""DeviceArray: memory of a device, and the protocols that hand it to other libraries."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST, GPUKERN_CUDA_MANAGED, GPUKERN_MAX_NDIM,
    GPUKERN_OPAQUE, gpukern_allocate, gpukern_copy, gpukern_device, gpukern_release,
)
from gpukern._interop.argument cimport (
    count_of, describe, dtype_of, new_ndarray, set_describer, shape_of,
)
from gpukern._interop.array_type cimport BY_DEVICE_ARRAY, ArrayType, register_device_array
from gpukern._interop.dlpack cimport export_dlpack
from gpukern._interop.dtype cimport describe_dtype
from gpukern._interop.scalar cimport as_basic_index, is_number
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, finish, link, order_back, pin, start, stream_of_call, what,
)
from gpukern._streams.stream cimport Stream, consumer_stream, current_streams, legacy_stream
from gpukern._streams.stream_tracker cimport StreamTracker, new_stream_tracker

from types import SimpleNamespace

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import (
    GpukernBufferError, GpukernMemoryError, GpukernTypeError, GpukernValueError, as_own,
)

cnp.import_array()

cdef int64_t NO_ELEMENTS = 0
# Of the memory in layout_of(): not NULL, which NumPy would replace.
cdef char *LAYOUT_ADDRESS = <char *>4096


# The collector must not clear the tracker first: the memory would never be released.
@cython.no_gc_clear
@cython.final
cdef class DeviceArray:
    """An array in the memory of one device, C-contiguous unless it is a view of another.

    Made by :func:`to_device`, :func:`empty` and the operations. Indexing by ints, slices, ``...``
    and ``None`` gives views, which keep the memory; :func:`gather` and :func:`take` index by
    arrays. ``copyto(array[...], values)`` assigns to a part. gpukern orders calls on several
    streams without a wait of the host, and releases the memory after all of them, also after the
    work on the stream that a DLPack consumer named, and on the streams that were current in CuPy
    and torch when ``__cuda_array_interface__`` was read. A caller that uses the memory on another
    stream must keep the array until that work is complete, as for any CUDA array. The array keeps a
    stream alive that was given as an object; one given as an int may be destroyed after the call,
    except that of a DLPack consumer.

    Keep the arrays that a CUDA graph uses as long as the graph. The graph itself keeps arrays made
    during the capture, or dropped during the capture on their stream.

    The array goes to other libraries without a copy through DLPack (``torch.from_dlpack(array)``)
    and ``__cuda_array_interface__`` (``cupy.asarray(array)``), and to NumPy by :meth:`numpy`.
    """

    # NumPy's operators leave the array to its own, and so give a TypeError.
    __array_ufunc__ = None

    def __cinit__(self):
        # What __new__ alone gives is an empty array, of no memory.
        set_layout(self, np.dtype(np.uint8), 1, &NO_ELEMENTS)
        self.c.device.device_type = GPUKERN_CPU

    def __init__(self):
        raise GpukernTypeError("DeviceArray is made by to_device(), empty() and the operations")

    def __dealloc__(self):
        if self.c.data != NULL and self.base is None and self.memory is None:
            if self.tracker is not None:
                self.tracker.release(self.c.data)
            else:
                gpukern_release(self.c.device, self.c.data, NULL)
        free(self.c.shape)

    @property
    def shape(self):
        """The sizes of the dimensions."""
        return shape_of(&self.c)

    @property
    def dtype(self):
        """NumPy's dtype of the elements."""
        return self.element_dtype

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.c.ndim

    @property
    def size(self):
        """The number of elements."""
        return count_of(&self.c)

    @property
    def itemsize(self):
        """Bytes per element."""
        return self.element_dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return count_of(&self.c) * self.element_dtype.itemsize

    @property
    def strides(self):
        """Bytes from one element to the next, per dimension, as in NumPy."""
        return tuple([self.c.strides[d] * self.element_dtype.itemsize for d in range(self.c.ndim)])

    @property
    def device(self):
        """The device of the memory, as device= accepts it: 'cuda:0', 'cuda:1', ..., or 'cpu'."""
        return "cpu" if self.tracker is None else f"cuda:{self.c.device.device_id}"

    def __copy__(self):
        return self.copy_at(self.c.device, "copy")

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise GpukernTypeError("a DeviceArray cannot be pickled; pickle what its numpy() gives")

    def __len__(self):
        if self.c.ndim == 0:
            raise GpukernTypeError("len() of a 0-d DeviceArray")
        return self.c.shape[0]

    def __iter__(self):
        if self.c.ndim == 0:
            raise GpukernTypeError("iteration over a 0-d DeviceArray")
        return map(self.__getitem__, range(self.c.shape[0]))

    def __eq__(self, other):
        if other is not self and (is_number(other) or isinstance(other, (list, tuple))
                                  or hasattr(other, "__dlpack__")):
            raise GpukernTypeError("a DeviceArray is not compared; call its numpy() method")
        return object.__eq__(self, other)

    def __hash__(self):
        return object.__hash__(self)

    def __getitem__(self, key):
        parts = [as_basic_index(each) for each in (key if isinstance(key, tuple) else (key,))]
        # With an Ellipsis, NumPy gives a view for a single element, too, and reads no memory.
        if not any([each is Ellipsis for each in parts]):
            parts.append(Ellipsis)
        try:
            return self.view_of(layout_of(self)[tuple(parts)])
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise as_own(error) from None

    def reshape(self, *shape):
        """The elements in C order as an array of another shape.

        Parameters
        ----------
        *shape : int, or a sequence of ints
            One size may be -1, which the others give.

        Returns
        -------
        DeviceArray
            A view, or a view of a copy if the array is not C-contiguous.
        """
        if not self.contiguous:
            return self.copy_at(self.c.device, "reshape").reshape(*shape)
        try:
            return self.view_of(layout_of(self).reshape(*shape or ((),)))
        except (OverflowError, TypeError, ValueError) as error:
            raise as_own(error) from None

    def __repr__(self):
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device='{self.device}')"

    def __array__(self, dtype=None, *, copy=None):
        raise GpukernTypeError(
            "a DeviceArray is not converted to NumPy silently; call its numpy() method")

    def numpy(self, out=None, stream=None):
        """Copies the array to host memory, and waits for the copy.

        Parameters
        ----------
        out : numpy.ndarray, optional
            Of the same shape and dtype; a new array by default.
        stream : optional
            The stream to copy on; by default the one that last used the array.

        Returns
        -------
        numpy.ndarray
            ``out`` if it was given.
        """
        cdef CallContext call
        cdef Argument source, destination
        begin_call(&call, "numpy", None, stream, None, None)
        if out is None:
            result = new_ndarray(self.element_dtype, self.c.ndim, self.c.shape)
        else:
            result = checked_host_output(out, self)
        describe(&call, result, "out", &destination)
        # A field of packed records or several, or huge items.
        if destination.byte_strided or (destination.c.dtype.code == GPUKERN_OPAQUE
                                        and numpy_subclasses.is_view_of_fields(result)):
            result[...] = self.numpy(stream=stream)
            return out
        describe(&call, self, "array", &source)
        start(&call, NULL)
        finish(&call, gpukern_copy(&source.c, &destination.c, &call.c))
        if self.tracker is not None:
            self.tracker.mark_complete(stream_of_call(&call), source.use)
        return result

    def __dlpack_device__(self):
        return self.c.device.device_type, self.c.device.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Exports the memory for a consumer on `stream`, DLPack's number of it.

        The consumer's stream waits for the work on the array, and memory is released behind the
        consumer's work on it. The stream must exist until the array is released.
        """
        cdef gpukern_device target = self.c.device
        cdef DeviceArray exported = self
        if self.c.dtype.code == GPUKERN_OPAQUE:
            raise GpukernBufferError(f"DLPack has no name for dtype {self.element_dtype}")
        if dl_device is not None:
            target = self.checked_target(dl_device)
        other = target.device_type != self.c.device.device_type
        if other and copy is not None and not copy:
            raise GpukernBufferError(f"an array on {self.device} goes to the CPU by a copy only")
        if copy or other:
            exported = self.copy_at(target, "__dlpack__")
        if target.device_type == GPUKERN_CUDA:
            consumer = consumer_stream(stream, target.device_id)
            if consumer is not None:  # None: the consumer requests no order
                exported.tracker.begin(consumer, True)
                exported.tracker.add_consumers([consumer])
        elif stream is not None and self.tracker is None:
            raise GpukernValueError(f"stream must be None for an array on the CPU, got {stream}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        return export_dlpack(exported, &exported.c, versioned, exported is not self)

    @property
    def __cuda_array_interface__(self):
        if self.tracker is None:
            raise AttributeError("an array on the CPU has no __cuda_array_interface__")
        cdef Stream owner = self.tracker.current_owner()
        # All work on the array is then before that of the owner, for which the consumer waits.
        self.tracker.begin(owner, True)
        self.tracker.add_consumers(current_streams(self.c.device.device_id))
        handle = <uintptr_t>owner.handle
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr if self.dtype.fields is not None else [("", self.dtype.str)],
            "data": (<uintptr_t>self.c.data, False),
            "strides": None if self.contiguous else self.strides,
            "stream": handle or 1,  # the interface's number of the legacy default stream
            "version": 3,
        }

    cdef gpukern_device checked_target(self, object dl_device) except *:
        cdef gpukern_device target
        kind, number = dl_device
        target.device_type = int(kind)
        target.device_id = int(number)
        here = (self.c.device.device_type, self.c.device.device_id)
        if (target.device_type, target.device_id) not in (here, (GPUKERN_CPU, 0)):
            raise GpukernBufferError(
                f"an array on {self.device} goes to its own device or to the CPU, "
                f"got DLPack device {tuple(dl_device)}")
        return target

    cdef DeviceArray view_of(self, object layout):
        """A view of the elements that a part of layout_of() has."""
        cdef DeviceArray made = DeviceArray.__new__(DeviceArray)
        cdef cnp.ndarray part = layout
        cdef int d
        set_layout(made, self.element_dtype, cnp.PyArray_NDIM(part),
                   <const int64_t *>cnp.PyArray_DIMS(part))
        made.c.device, made.tracker = self.c.device, self.tracker
        made.base = self if self.base is None else self.base
        made.contiguous = cnp.PyArray_IS_C_CONTIGUOUS(part)
        if cnp.PyArray_SIZE(part) > 0:
            made.c.data = <char *>self.c.data + (<char *>cnp.PyArray_DATA(part) - LAYOUT_ADDRESS)
        if not made.contiguous:
            for d in range(made.c.ndim):
                made.c.strides[d] = cnp.PyArray_STRIDES(part)[d] // self.element_dtype.itemsize
        return made

    cdef DeviceArray copy_at(self, gpukern_device device, str function):
        cdef CallContext call
        cdef Argument source
        begin_call(&call, function, None, None, None, None)
        describe(&call, self, "self", &source)
        made = copy_to_device(&call, &source, device)
        order_back(&call)
        return made


def address_for(DeviceArray array, stream):
    """The address of an array, for work of others on `stream`, DLPack's number of it, which is then
    ordered behind the work on the array."""
    cdef Stream consumer = consumer_stream(stream, array.c.device.device_id)
    array.tracker.begin(consumer, True)
    array.tracker.add_consumers([consumer])
    return <uintptr_t>array.c.data


cdef object layout_of(DeviceArray array):
    """An ndarray with the shape and the strides of an array, whose memory must not be touched."""
    return np.asarray(SimpleNamespace(__array_interface__={
        "shape": array.shape, "strides": array.strides,
        "typestr": f"|V{array.element_dtype.itemsize}", "data": (<uintptr_t>LAYOUT_ADDRESS, False),
        "version": 3,
    }))


cdef object checked_host_output(object out, DeviceArray source):
    if not isinstance(out, np.ndarray):
        raise GpukernTypeError(f"numpy: out must be a numpy.ndarray, got {type(out).__name__}")
    if numpy_subclasses.is_masked(out):
        raise GpukernTypeError("numpy: out must not be a masked array")
    if out.dtype != source.dtype:
        raise GpukernTypeError(f"numpy: out must have dtype {source.dtype}, got {out.dtype}")
    if out.shape != source.shape:
        raise GpukernValueError(f"numpy: out must have shape {source.shape}, got {out.shape}")
    if not out.flags.writeable:
        raise GpukernValueError("numpy: out is read-only")
    return out


cdef int set_layout(DeviceArray array, cnp.dtype dtype, int ndim, const int64_t *shape) except -1:
    """The shape, strides and dtype of a new array."""
    cdef int d
    cdef uint64_t stride = 1  # which may wrap for an array without elements
    cdef int64_t *sizes = <int64_t *>malloc(2 * (ndim + 1) * sizeof(int64_t))
    if sizes == NULL:
        raise GpukernMemoryError("no host memory for a shape")
    free(array.c.shape)
    array.c.shape, array.c.strides, array.c.ndim = sizes, sizes + ndim, ndim
    for d in range(ndim - 1, -1, -1):
        sizes[d] = shape[d]
        sizes[ndim + d] = <int64_t>stride
        stride *= <uint64_t>max(shape[d], 1)
    describe_dtype(dtype, &array.c.dtype)
    array.element_dtype = dtype
    array.contiguous = True
    return 0


cdef DeviceArray allocate_device_array(CallContext *call, gpukern_device device, cnp.dtype dtype,
                                       int ndim, const int64_t *shape):
    """An uninitialised array, allocated on the call's stream."""
    cdef DeviceArray made = DeviceArray.__new__(DeviceArray)
    cdef size_t bytes_
    cdef void *data = NULL
    if ndim > GPUKERN_MAX_NDIM:
        raise GpukernValueError(
            f"an array must have 0 to {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    set_layout(made, dtype, ndim, shape)
    require_addressable(made)
    bytes_ = count_of(&made.c) * made.element_dtype.itemsize
    # Our memory is neither page-locked nor managed, even if that of the argument is.
    made.c.device = device
    if device.device_type == GPUKERN_CUDA_HOST:
        made.c.device.device_type, made.c.device.device_id = GPUKERN_CPU, 0
    elif device.device_type == GPUKERN_CUDA_MANAGED:
        made.c.device.device_type = GPUKERN_CUDA
    with nogil:
        check(gpukern_allocate(made.c.device, bytes_, &call.c, &data))
    made.c.data = data
    if made.c.device.device_type != GPUKERN_CPU:
        made.tracker = new_stream_tracker(
            made.c.device, stream_of_call(call) if call.has_stream else legacy_stream())
    return made


cdef int require_addressable(DeviceArray array) except -1:
    """Raises for a shape whose number of bytes would overflow."""
    cdef double bytes_ = array.element_dtype.itemsize
    cdef int d
    for d in range(array.c.ndim):
        bytes_ *= array.c.shape[d]
    if bytes_ >= <double>(<uint64_t>1 << 63):
        raise GpukernMemoryError(f"no memory has 2**63 bytes, for an array of shape {array.shape}")
    return 0


cdef DeviceArray new_array_at(void *data, object memory, StreamTracker tracker, cnp.dtype dtype,
                              int ndim, const int64_t *shape):
    """An array in memory that another object owns, on the device of the tracker."""
    cdef DeviceArray made = DeviceArray.__new__(DeviceArray)
    set_layout(made, dtype, ndim, shape)
    made.c.device, made.c.data = tracker.device, data
    made.memory, made.tracker = memory, tracker
    return made


cdef DeviceArray copy_to_device(CallContext *call, const Argument *source, gpukern_device device):
    """A copy of a described array on a device, enqueued on the call's stream."""
    cdef DeviceArray made = allocate_device_array(call, device, dtype_of(source), source.c.ndim,
                                                  source.c.shape)
    if made.tracker and not source.host and source.c.device.device_id != device.device_id:
        raise GpukernValueError(f"{what(call, source)} must be on {made.device} or in host memory")
    pin(call)
    with nogil:
        check(gpukern_copy(&source.c, &made.c, &call.c))
    if made.tracker is None:
        return made
    if source.host:  # the host has waited for such a copy
        made.tracker.mark_new_complete()
    else:
        made.tracker.end(stream_of_call(call), True)
    return made


cdef int describe_device_array(CallContext *call, ArrayType type_, object array,
                               Argument *argument) except -1:
    cdef DeviceArray own = array
    argument.c = own.c
    if own.contiguous:
        argument.c.strides = NULL
    argument.itemsize = own.element_dtype.itemsize
    argument.host = own.tracker is None
    argument.owner = <PyObject *>array
    argument.dtype = <PyObject *>own.element_dtype
    if own.tracker is not None:
        argument.tracker = <PyObject *>own.tracker
    return link(call, argument)


register_device_array(DeviceArray)
set_describer(BY_DEVICE_ARRAY, describe_device_array)
