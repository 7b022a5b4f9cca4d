# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""to_device(), empty() and pinned_empty(), and memory of several GPUs."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from gpukern._capi cimport (
    GPUKERN_CUDA, GPUKERN_CUDA_HOST, GPUKERN_DEVICE_DEFAULT, GPUKERN_MAX_NDIM, gpukern_allocate,
    gpukern_device, gpukern_pin, gpukern_release, gpukern_table, gpukern_table_create,
    gpukern_table_data, gpukern_table_desc, gpukern_table_destroy, gpukern_table_export,
    gpukern_table_handle, gpukern_table_import, gpukern_unpin,
)
from gpukern._interop.argument cimport (
    describe, dtype_of, fill_from_ndarray, new_ndarray, refuse_masked,
)
from gpukern._interop.dtype cimport require_plain
from gpukern._memory.device_array cimport allocate_device_array, copy_to_device, new_array_at
from gpukern._runtime.runtime cimport check, shown
from gpukern._streams.call cimport Argument, CallContext, begin_call, keep, order_back
from gpukern._streams.stream cimport as_device, legacy_stream
from gpukern._streams.stream_tracker cimport StreamTracker, new_stream_tracker

import operator

import numpy as np

from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()

cdef gpukern_device PINNED = gpukern_device(GPUKERN_CUDA_HOST, 0)


def empty(shape, dtype=np.float64, device=0, stream=None):
    """Allocates an uninitialised array on a device.

    Parameters
    ----------
    shape : int or sequence of ints
    dtype : optional
        A fixed-width NumPy dtype without Python objects, or an object that converts to one.
    device : int or str
        The ordinal of a CUDA device, 'cuda', 'cuda:N' or 'cpu'.
    stream : optional
        The stream on which the memory is allocated and first used; see :func:`gather`. By default
        the legacy default stream.

    Returns
    -------
    DeviceArray
    """
    cdef CallContext call
    cdef int64_t[GPUKERN_MAX_NDIM] sizes
    cdef cnp.dtype kind = as_dtype(dtype, "empty")
    cdef int ndim = fill_sizes(sizes, shape, kind, "empty")
    require_device_dtype(kind, "empty: dtype")
    begin_call(&call, "empty", None, stream, None, None)
    return allocate_device_array(&call, concrete_device(device, "empty: device"), kind, ndim, sizes)


def to_device(array, device=0, stream=None):
    """Copies an array to a device.

    Parameters
    ----------
    array : array
        A NumPy array, an object that converts to one, or an array on the same device.
    device : int or str
        The ordinal of a CUDA device, 'cuda', 'cuda:N' or 'cpu'.
    stream : optional
        The stream to copy on; see :func:`gather`.

    Returns
    -------
    DeviceArray
        C-contiguous, of the same shape and dtype. Copies of host arrays are complete on return.
    """
    cdef gpukern_device target = concrete_device(device, "to_device: device")
    cdef CallContext call
    cdef Argument source
    begin_call(&call, "to_device", None, stream, None, None)
    describe(&call, array, "array", &source)
    refuse_masked(&call, &source)
    require_device_dtype(dtype_of(&source), "to_device: array")
    if source.byte_strided:
        packed = np.array(<object>source.owner, order="C")
        keep(&call, packed)
        fill_from_ndarray(&call, &source, packed)
    made = copy_to_device(&call, &source, target)
    order_back(&call)
    return made


def pinned_empty(shape, dtype=float):
    """Allocates an uninitialised NumPy array in page-locked ("pinned") host memory.

    A GPU copies such arrays without staging, and :func:`gather` can read them in place from a GPU.
    Page-locking takes tens of milliseconds for each gigabyte, so reuse the arrays. Without a GPU
    the memory is pageable, aligned to at least 64 bytes.

    The child of a ``fork()`` cannot use CUDA but can read the array. With a GPU it shares the
    memory with the parent, and each sees what the other writes; pageable memory is not shared.

    Parameters
    ----------
    shape : int or sequence of ints
    dtype : optional
        A fixed-width NumPy dtype without Python objects, or an object that converts to one.

    Returns
    -------
    numpy.ndarray
        C-contiguous and writeable. The memory is freed with its last view; CUDA may wait until the
        GPU is idle.

    Raises
    ------
    MemoryError
        If memory is insufficient, or the limit of locked memory is exceeded.
    """
    cdef int64_t[GPUKERN_MAX_NDIM] sizes
    cdef cnp.dtype kind = as_dtype(dtype, "pinned_empty")
    cdef int ndim = fill_sizes(sizes, shape, kind, "pinned_empty")
    cdef size_t bytes_
    cdef PinnedMemory memory = PinnedMemory.__new__(PinnedMemory)
    require_plain(kind, "pinned_empty: dtype")
    if kind.itemsize == 0:
        kind = np.empty(0, kind).dtype  # strings get a character
    bytes_ = kind.itemsize
    for d in range(ndim):
        bytes_ *= sizes[d]
    if bytes_ == 0:
        return new_ndarray(kind, ndim, sizes)
    with nogil:
        check(gpukern_allocate(PINNED, bytes_, NULL, &memory.data))
    return new_ndarray(kind, ndim, sizes, memory.data, NULL, memory)


@cython.no_gc
@cython.final
cdef class PinnedMemory:
    """Page-locked memory, freed with the last array that views it."""

    cdef void *data
    cdef object __weakref__

    def __dealloc__(self):
        # CUDA may wait here for the GPU, and the GPU for a host function that acquires the GIL. At
        # the end of the process CUDA may be gone, and the memory with it, so errors are ignored.
        with nogil:
            gpukern_release(PINNED, self.data, NULL)


@cython.no_gc
@cython.final
cdef class PinnedView:
    """Memory of another object, page-locked until the last array that views it is gone."""

    cdef object owner
    cdef void *data

    def __dealloc__(self):
        if self.data != NULL:
            with nogil:
                gpukern_unpin(self.data)


def pinned_array(memory, int64_t size, dtype, shape):
    """An ndarray in a writable buffer, of which `size` bytes are page-locked."""
    cdef int64_t[GPUKERN_MAX_NDIM] sizes
    cdef cnp.dtype kind = np.dtype(dtype)
    cdef int ndim = fill_sizes(sizes, shape, kind, "host_table")
    cdef cnp.ndarray data = np.frombuffer(memory, np.uint8)
    cdef PinnedView view = PinnedView.__new__(PinnedView)
    cdef void *address = cnp.PyArray_DATA(data)
    view.owner = data
    with nogil:
        check(gpukern_pin(PINNED, address, size))
    view.data = address
    return new_ndarray(kind, ndim, sizes, address, NULL, view)


@cython.no_gc
@cython.final
cdef class TableMemory:
    """Memory of several GPUs at one range of addresses; see gpukern/table.h.

    `part_devices` has -1 for the parts of other processes, `devices` access the memory. It is freed
    with the last array in it, after the work on that.
    """

    cdef gpukern_table *table
    cdef dict trackers  # by device

    def __cinit__(self, part_bytes, part_devices, devices, bint exported):
        # Not memoryviews, whose code takes 60 KB.
        cdef cnp.ndarray sizes = np.ascontiguousarray(part_bytes, np.int64)
        cdef cnp.ndarray owners = np.ascontiguousarray(part_devices, np.int32)
        cdef cnp.ndarray access = np.ascontiguousarray(devices, np.int32)
        cdef gpukern_table_desc desc
        cdef StreamTracker tracker
        desc.struct_size = sizeof(desc)
        desc.part_count, desc.device_count = <int32_t>len(owners), <int32_t>len(access)
        desc.part_bytes = <const int64_t *>cnp.PyArray_DATA(sizes)
        desc.part_devices = <const int32_t *>cnp.PyArray_DATA(owners)
        desc.devices = <const int32_t *>cnp.PyArray_DATA(access)
        desc.exported, desc.reserved = exported, 0
        with nogil:
            check(gpukern_table_create(&desc, &self.table))
        self.trackers = {
            device: new_stream_tracker(gpukern_device(GPUKERN_CUDA, device), legacy_stream())
            for device in access.tolist()}
        for tracker in self.trackers.values():
            tracker.mark_new_complete()
            tracker.elsewhere = [each for each in self.trackers.values() if each is not tracker]

    def __dealloc__(self):
        cdef StreamTracker tracker
        for tracker in (self.trackers or {}).values():
            tracker.await_uses()
            tracker.elsewhere = None  # a cycle, and the collector does not follow it
        with nogil:
            gpukern_table_destroy(self.table)

    def export_part(self, int32_t part, int32_t kind):
        """The kind of the handle, its file descriptor, which the caller closes, and its bytes."""
        cdef gpukern_table_handle handle
        with nogil:
            check(gpukern_table_export(self.table, part, kind, &handle))
        return handle.type, handle.file, (<char *>handle.fabric)[:sizeof(handle.fabric)]

    def import_part(self, int32_t part, int32_t kind, int32_t file, bytes fabric):
        cdef gpukern_table_handle handle
        cdef Py_ssize_t most = sizeof(handle.fabric)
        handle.type, handle.file = kind, file
        memcpy(handle.fabric, <char *>fabric, min(len(fabric), most))
        with nogil:
            check(gpukern_table_import(self.table, part, &handle))

    def synchronize(self):
        """Waits for the work on the memory by the devices of this process."""
        cdef StreamTracker tracker
        for tracker in self.trackers.values():
            tracker.synchronize()

    def array(self, int device, shape, dtype):
        """A C-contiguous array at the begin of the memory, as a device sees it."""
        cdef int64_t[GPUKERN_MAX_NDIM] sizes
        cdef cnp.dtype kind = as_dtype(dtype, "empty")
        cdef int ndim = fill_sizes(sizes, shape, kind, "empty")
        require_device_dtype(kind, "empty: dtype")
        return new_array_at(gpukern_table_data(self.table), self, self.trackers[device], kind, ndim,
                            sizes)


cdef cnp.dtype as_dtype(object dtype, str function):
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise GpukernTypeError(f"{function}: {error}") from None


cdef int fill_sizes(int64_t *sizes, object shape, cnp.dtype dtype, str function) except -1:
    """Fills in the shape of an array to be made, and returns its ndim."""
    cdef Py_ssize_t d
    try:
        given = [operator.index(size) for size in (shape if np.iterable(shape) else (shape,))]
    except (TypeError, ValueError) as error:
        raise GpukernTypeError(f"{function}: {error}") from None
    if len(given) > GPUKERN_MAX_NDIM:
        raise GpukernValueError(f"{function}: shape must have 0 to {GPUKERN_MAX_NDIM} dimensions, "
                                f"got {len(given)}")
    total = max(dtype.itemsize, 1)
    for d in range(len(given)):
        if given[d] < 0:
            raise GpukernValueError(f"{function}: shape must have no negative size, "
                                    f"got {shown(given[d])}")
        # Zeros count as one, so that no later product of the sizes overflows.
        total *= max(given[d], 1)
        if total >= 2**63:
            raise GpukernValueError(f"{function}: shape must take less than 2**63 bytes, "
                                    f"got ({', '.join([str(shown(each)) for each in given])})")
        sizes[d] = given[d]
    return <int>len(given)


cdef gpukern_device concrete_device(object device, str what) except *:
    cdef gpukern_device found = as_device(device, what)
    if found.device_type == GPUKERN_DEVICE_DEFAULT:
        raise GpukernTypeError(f"{what} must be an int or a str, got None")
    return found


cdef int require_device_dtype(cnp.dtype dtype, str what) except -1:
    require_plain(dtype, what)
    if dtype.subdtype is not None:
        raise GpukernTypeError(f"{what} must be no subarray, got {dtype}")
    if not 0 < dtype.itemsize <= 65535:
        raise GpukernTypeError(f"{what} must have an itemsize of 1 to 65535, got {dtype.itemsize}")
    return 0
