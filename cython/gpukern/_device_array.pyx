# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""DeviceArray: memory of a device, and the protocols that hand it to other libraries."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport uintptr_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST, GPUKERN_CUDA_MANAGED, GPUKERN_DEVICE_DEFAULT,
    GPUKERN_OPAQUE, gpukern_allocate, gpukern_copy, gpukern_device, gpukern_exec, gpukern_release,
)
from gpukern._dlpack cimport export_dlpack
from gpukern._dtype cimport describe
from gpukern._error cimport check
from gpukern._stream cimport Launch, Stream, as_stream, new_launch, stream_of_handle
from gpukern._tensor cimport Tensor, new_ndarray, tensor_of_ndarray

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

    Made by :func:`to_device`, :func:`empty` and the operations. Memory is stream-ordered: it is
    released behind the work on the stream that last used the array, be it gpukern's or the one
    that a DLPack consumer named. Whoever uses the memory on another stream without telling the
    array must keep the array until that work is done, as for any CUDA array.

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
        cdef gpukern_exec where
        if self.tensor is None or self.tensor.c.data == NULL:
            return
        where.struct_size = sizeof(gpukern_exec)
        where.device.device_type = GPUKERN_DEVICE_DEFAULT
        where.device.device_id = 0
        where.stream = NULL if self.stream is None else self.stream.handle
        # A destructor must not raise. Only a broken context or the end of the process refuses,
        # and then the memory is lost or given back anyway.
        gpukern_release(self.tensor.c.device, self.tensor.c.data, &where)

    cdef int order(self, Launch launch) except -1:
        """Orders a call behind the work on this array."""
        if not self.tensor.host:
            launch.follow(self.tensor.c.device, own_stream(self) if self.busy else None)
            if launch.stream is None and self.stream is not None:
                launch.follow(self.tensor.c.device, self.stream)
        return 0

    cdef int used_by(self, Launch launch) except -1:
        """Notes that a call has enqueued work on this array."""
        if not self.tensor.host:
            self.stream = launch.stream
            self.busy = True
        return 0

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
        return copy_to(self.tensor, self.tensor.c.device, new_launch(None, own_stream(self)))

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
        cdef Launch where = new_launch(None, own_stream(self) if stream is None else stream)
        cdef cnp.ndarray result
        cdef Tensor destination
        if self.busy:
            where.follow(self.tensor.c.device, own_stream(self))
        if out is None:
            result = new_ndarray(self.tensor.dtype, self.tensor.c.ndim, self.tensor.c.shape)
        else:
            result = checked_host_output(out, self.tensor)
        destination = tensor_of_ndarray(result)
        if destination.odd:  # a field of packed records, or huge items: by way of plain memory
            result[...] = self.numpy(stream=stream)
            return out
        copy_tensor(self.tensor, destination, where)
        self.busy = False
        return result

    def __dlpack_device__(self):
        return self.tensor.c.device.device_type, self.tensor.c.device.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Exports the memory for a consumer on `stream`, DLPack's number of it.

        If another stream than the consumer's has work on the array, the call waits for that work.
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
            exported = copy_to(self.tensor, target, new_launch(None, own_stream(self)))
            copied = True
        if target.device_type == GPUKERN_CUDA:
            exported.hand_over(consumer_stream(stream))
        elif stream is not None and self.tensor.host:
            raise GpukernValueError(f"stream must be None for an array on the CPU, got {stream}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        return export_dlpack(exported, &exported.tensor.c, versioned, copied)

    @property
    def __cuda_array_interface__(self):
        if self.tensor.host:
            raise AttributeError("an array on the CPU has no __cuda_array_interface__")
        handle = 0 if self.stream is None else <uintptr_t>self.stream.handle
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

    cdef int hand_over(self, Stream consumer) except -1:
        """Makes the data ready on the consumer's stream, which is the last user from now on."""
        cdef Launch where
        if consumer is None:  # -1: the consumer asks for no order
            return 0
        where = new_launch(None, consumer)
        if self.busy:
            where.follow(self.tensor.c.device, own_stream(self))
        self.stream = consumer
        self.busy = True
        return 0


cdef Stream own_stream(DeviceArray array):
    return stream_of_handle(0, None) if array.stream is None else array.stream


cdef Stream consumer_stream(object stream):
    """DLPack's number of a CUDA stream; None for -1."""
    if stream is None:
        return stream_of_handle(0, None)
    if stream == -1:
        return None
    if isinstance(stream, int) and stream == 0:
        raise GpukernValueError("DLPack's stream must be 1, 2 or a handle; 0 is ambiguous")
    return as_stream(stream)


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
        made.stream = launch.stream
        made.busy = True
    return made


cdef DeviceArray copy_to(Tensor source, gpukern_device device, Launch launch):
    cdef DeviceArray made = new_device_array(source, device, launch)
    copy_tensor(source, made.tensor, launch)
    if source.host:  # such a copy was waited for
        made.busy = False
    return made
