# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""DeviceArray: memory of a device, and the protocols that hand it to other libraries."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST, GPUKERN_CUDA_MANAGED, GPUKERN_OPAQUE,
    gpukern_allocate, gpukern_copy, gpukern_device, gpukern_exec, gpukern_release,
)
from gpukern._interop.argument cimport dtype_of, set_describer
from gpukern._interop.array_type cimport BY_DEVICE_ARRAY, ArrayType, register_device_array
from gpukern._interop.dlpack cimport export_dlpack
from gpukern._interop.dtype cimport describe
from gpukern._runtime.error cimport check
from gpukern._streams.call cimport Argument, CallContext, link, stream_of_call
from gpukern._streams.stream cimport (
    Launch, Stream, consumer_stream, current_streams, legacy_stream, new_launch,
)
from gpukern._interop.tensor cimport Tensor, new_ndarray, tensor_of_ndarray
from gpukern._streams.stream_tracker cimport new_stream_tracker

import numpy as np

from gpukern.errors import GpukernBufferError, GpukernTypeError, GpukernValueError

cnp.import_array()


cdef Tensor nothing():
    cdef Tensor tensor = Tensor.__new__(Tensor)
    tensor.resize(1)
    tensor.c.shape[0] = 0
    tensor.set_contiguous()
    tensor.c.device.device_type = GPUKERN_CPU
    tensor.dtype = np.dtype(np.uint8)
    describe(tensor.dtype, &tensor.c.dtype)
    tensor.itemsize = 1
    tensor.host = True
    return tensor


cdef Tensor NOTHING = nothing()


# The collector must not clear the tensor first: the memory would never be released.
@cython.no_gc_clear
@cython.final
cdef class DeviceArray:
    """A C-contiguous array in the memory of one device.

    Made by :func:`to_device`, :func:`empty` and the operations. Calls on several streams are put
    in order without a wait of the host, and the memory is released behind all of them, also behind
    the work on the stream that a DLPack consumer named, and on the streams that were current in
    CuPy and torch when ``__cuda_array_interface__`` was asked for. Whoever uses the memory on yet
    another stream must keep the array until that work is done, as for any CUDA array. A stream
    given as an object is kept alive by the array; one given as an int may be destroyed after the
    call, but for a DLPack consumer's.

    In a CUDA graph: what a graph works on must be kept as long as the graph; arrays made during the
    capture, or dropped during the capture on their stream, the graph itself keeps.

    The array goes to other libraries without a copy through DLPack (``torch.from_dlpack(array)``)
    and ``__cuda_array_interface__`` (``cupy.asarray(array)``), and to NumPy by :meth:`numpy`.
    """

    # NumPy's operators give a TypeError instead of treating the array as one object.
    __array_ufunc__ = None

    def __cinit__(self):
        # What __new__ alone gives is an empty array, of no memory.
        self.tensor = NOTHING

    def __init__(self):
        raise GpukernTypeError("DeviceArray is made by to_device(), empty() and the operations")

    def __dealloc__(self):
        if self.uses is not None and self.tensor.c.data != NULL:
            self.uses.release(self.tensor.c.data)
        elif self.tensor is not None and self.tensor.c.data != NULL:
            gpukern_release(self.tensor.c.device, self.tensor.c.data, NULL)

    cdef int order(self, Launch launch, bint writes=False) except -1:
        """Orders a call behind the work on this array that it conflicts with."""
        if self.uses is not None:
            launch.follow(self.tensor.c.device,
                          self.uses.current_home() if launch.stream is None else None)
            self.uses.begin(launch.stream, writes)
        return 0

    cdef int used_by(self, Launch launch, bint writes=True) except -1:
        """Notes that the call has been enqueued."""
        if self.uses is not None and launch.stream is not None:
            self.uses.end(launch.stream, writes)
        return 0

    cdef Stream stream(self):
        """The stream to work on unless another one is asked for."""
        return legacy_stream() if self.uses is None else self.uses.current_home()

    @property
    def shape(self):
        """The sizes of the dimensions."""
        return self.tensor.shape()

    @property
    def dtype(self):
        """NumPy's dtype of the elements."""
        return self.tensor.dtype

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.tensor.c.ndim

    @property
    def size(self):
        """The number of elements."""
        return self.tensor.count()

    @property
    def itemsize(self):
        """Bytes per element."""
        return self.tensor.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.tensor.count() * self.tensor.itemsize

    @property
    def strides(self):
        """Bytes from one element to the next, per dimension, as in NumPy."""
        cdef Tensor tensor = self.tensor
        return tuple([tensor.c.strides[d] * tensor.itemsize for d in range(tensor.c.ndim)])

    @property
    def device(self):
        """Where the memory lies: 'cuda:0', 'cuda:1', ..., or 'cpu'; any device= takes it."""
        return "cpu" if self.tensor.host else f"cuda:{self.tensor.c.device.device_id}"

    def __copy__(self):
        return self.copy_at(self.tensor.c.device)

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise GpukernTypeError("a DeviceArray cannot be pickled; pickle what its numpy() gives")

    def __len__(self):
        if self.tensor.c.ndim == 0:
            raise GpukernTypeError("len() of a 0-d DeviceArray")
        return self.tensor.c.shape[0]

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
        cdef Launch where = new_launch(
            "numpy", None, self.stream() if stream is None else stream)
        cdef cnp.ndarray result
        cdef Tensor destination
        cdef uint64_t begun = 0
        if out is None:
            result = new_ndarray(self.tensor.dtype, self.tensor.c.ndim, self.tensor.c.shape)
        else:
            result = checked_host_output(out, self.tensor)
        destination = tensor_of_ndarray(result)
        if destination.odd:  # a field of packed records, or huge items: by way of plain memory
            result[...] = self.numpy(stream=stream)
            return out
        self.order(where)
        if self.uses is not None:
            begun = self.uses.begun
        copy_tensor(self.tensor, destination, where)
        if self.uses is not None:
            self.uses.settle(where.stream, begun)
        return result

    def __dlpack_device__(self):
        return self.tensor.c.device.device_type, self.tensor.c.device.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Exports the memory for a consumer on `stream`, DLPack's number of it.

        The consumer's stream waits for the work on the array, and memory is released behind the
        consumer's work on it. The stream must exist until the array is released.
        """
        cdef gpukern_device target = self.tensor.c.device
        cdef DeviceArray exported = self
        cdef bint copied = False
        if self.tensor.c.dtype.code == GPUKERN_OPAQUE:
            raise GpukernBufferError(f"DLPack has no name for dtype {self.tensor.dtype}")
        if dl_device is not None:
            target = self.checked_target(dl_device)
        elsewhere = target.device_type != self.tensor.c.device.device_type
        if elsewhere and copy is not None and not copy:
            raise GpukernBufferError(f"an array on {self.device} goes to the CPU by a copy only")
        if copy or elsewhere:
            exported = self.copy_at(target)
            copied = True
        if target.device_type == GPUKERN_CUDA:
            consumer = consumer_stream(stream, target.device_id)
            if consumer is not None:  # None: the consumer asks for no order
                exported.uses.begin(consumer, True)
                exported.uses.lend([consumer])
        elif stream is not None and self.tensor.host:
            raise GpukernValueError(f"stream must be None for an array on the CPU, got {stream}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        return export_dlpack(exported, &exported.tensor.c, versioned, copied)

    @property
    def __cuda_array_interface__(self):
        if self.tensor.host:
            raise AttributeError("an array on the CPU has no __cuda_array_interface__")
        cdef Stream home = self.uses.current_home()
        # All work on the array is behind its home then, for which the consumer waits.
        self.uses.begin(home, True)
        self.uses.lend(current_streams(self.tensor.c.device.device_id))
        handle = <uintptr_t>home.handle
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr if self.dtype.fields is not None else [("", self.dtype.str)],
            "data": (<uintptr_t>self.tensor.c.data, False),
            "strides": None,
            "stream": handle or 1,  # the interface's number of the legacy default stream
            "version": 3,
        }

    cdef gpukern_device checked_target(self, object dl_device) except *:
        cdef gpukern_device target
        kind, number = dl_device
        target.device_type = int(kind)
        target.device_id = int(number)
        here = (self.tensor.c.device.device_type, self.tensor.c.device.device_id)
        if (target.device_type, target.device_id) not in (here, (GPUKERN_CPU, 0)):
            raise GpukernBufferError(
                f"an array on {self.device} goes to its own device or to the CPU, "
                f"got DLPack device {tuple(dl_device)}")
        return target

    cdef DeviceArray copy_at(self, gpukern_device device):
        cdef Launch where = new_launch("__dlpack__", None, self.stream())
        self.order(where)
        return copy_to(self.tensor, device, where)


cdef cnp.ndarray checked_host_output(object out, Tensor source):
    if not isinstance(out, np.ndarray):
        raise GpukernTypeError(f"numpy: out must be a numpy.ndarray, got {type(out).__name__}")
    if out.dtype != source.dtype:
        raise GpukernTypeError(f"numpy: out must have dtype {source.dtype}, got {out.dtype}")
    if out.shape != source.shape():
        raise GpukernValueError(f"numpy: out must have shape {source.shape()}, got {out.shape}")
    if not out.flags.writeable:
        raise GpukernValueError("numpy: out is read-only")
    return out


cdef int copy_tensor(Tensor source, Tensor destination, Launch where) except -1:
    cdef gpukern_exec c = where.c
    with nogil:
        check(gpukern_copy(&source.c, &destination.c, &c))
    return 0


cdef DeviceArray new_device_array(Tensor like, gpukern_device device, Launch launch):
    """An uninitialised array of the tensor's shape and dtype, allocated on the launch's stream."""
    cdef DeviceArray made = DeviceArray.__new__(DeviceArray)
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef size_t bytes_ = like.count() * like.itemsize
    cdef gpukern_exec c = launch.c
    cdef void *data
    tensor.resize(like.c.ndim)
    for d in range(like.c.ndim):
        tensor.c.shape[d] = like.c.shape[d]
    tensor.set_contiguous()
    tensor.c.dtype = like.c.dtype
    # Memory of our own is neither page-locked nor managed, whatever lay where `like` came from.
    tensor.c.device = device
    if device.device_type == GPUKERN_CUDA_HOST:
        tensor.c.device.device_type, tensor.c.device.device_id = GPUKERN_CPU, 0
    elif device.device_type == GPUKERN_CUDA_MANAGED:
        tensor.c.device.device_type = GPUKERN_CUDA
    tensor.dtype = like.dtype
    tensor.itemsize = like.itemsize
    tensor.host = tensor.c.device.device_type == GPUKERN_CPU
    with nogil:
        check(gpukern_allocate(tensor.c.device, bytes_, &c, &data))
    tensor.c.data = data
    made.tensor = tensor
    if not tensor.host:
        made.uses = new_stream_tracker(tensor.c.device,
                             legacy_stream() if launch.stream is None else launch.stream)
    return made


cdef DeviceArray allocate_device_array(CallContext *call, gpukern_device device, cnp.dtype dtype,
                                       int ndim, const int64_t *shape):
    """An uninitialised array, allocated on the call's stream."""
    cdef Launch launch = new_launch("allocate", None,
                                    stream_of_call(call) if call.has_stream else None)
    cdef Tensor like = Tensor.__new__(Tensor)
    like.resize(ndim)
    for d in range(ndim):
        like.c.shape[d] = shape[d]
    describe(dtype, &like.c.dtype)
    like.dtype = dtype
    like.itemsize = dtype.itemsize
    return new_device_array(like, device, launch)


cdef DeviceArray copy_to_device(CallContext *call, const Argument *source, gpukern_device device):
    """A copy of a described array on a device, enqueued on the call's stream."""
    cdef DeviceArray made = allocate_device_array(call, device, dtype_of(source), source.c.ndim,
                                                  source.c.shape)
    with nogil:
        check(gpukern_copy(&source.c, &made.tensor.c, &call.c))
    if made.uses is None:
        return made
    if source.host:  # the host has waited for such a copy
        made.uses.settle_new()
    else:
        made.uses.end(stream_of_call(call), True)
    return made


cdef int describe_device_array(CallContext *call, ArrayType type_, object array,
                               Argument *argument) except -1:
    cdef DeviceArray own = array
    argument.c = own.tensor.c
    argument.c.strides = NULL
    argument.itemsize = own.tensor.itemsize
    argument.host = own.tensor.host
    argument.owner = <PyObject *>array
    argument.dtype = <PyObject *>own.tensor.dtype
    if own.uses is not None:
        argument.tracker = <PyObject *>own.uses
    return link(call, argument)


cdef DeviceArray copy_to(Tensor source, gpukern_device device, Launch launch):
    cdef DeviceArray made = new_device_array(source, device, launch)
    copy_tensor(source, made.tensor, launch)
    if not source.host:
        made.used_by(launch)
    elif made.uses is not None:  # such a copy was waited for
        made.uses.settle_new()
    return made


register_device_array(DeviceArray)
set_describer(BY_DEVICE_ARRAY, describe_device_array)
