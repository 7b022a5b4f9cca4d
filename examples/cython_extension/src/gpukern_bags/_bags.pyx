# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=True
"""Sums of bags of rows, an operation on top of gpukern: on the CPU by its functions on typed
memoryviews, on a GPU by a separate kernel and calls of its C ABI, all on one stream."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memset

from gpukern cimport (
    GPUKERN_CUDA, GPUKERN_FLOAT, GPUKERN_INDEX_WRAP, check, gather_rows_into, gpukern_allocate,
    gpukern_device, gpukern_exec, gpukern_release, gpukern_saxpy, gpukern_synchronize,
    gpukern_tensor, saxpy_into,
)

import gpukern
import numpy as np


cdef extern from "bag_sum.h" nogil:
    ctypedef struct bag_sum_args:
        const float *table
        const int64_t *index
        float *sums
        int64_t rows, width, bags, bag_size

    const char *bag_sum_enqueue(const bag_sum_args *args, int device_id, void *stream)
    const char *bag_sum_device_of(const void *address, int32_t *device_id)


def add_bags(float scale, table, index, out, *, stream=None):
    """Adds the scaled sum of each bag: ``out[b] += scale * table[index[b]].sum(axis=0)``.

    The rows of a bag are added in their order, each sum rounded to float32; the multiply-add at the
    end is rounded once. So the CPU and all GPUs give the same bits.

    Parameters
    ----------
    table : array of float32, shape (rows, width)
    index : array of int64, shape (bags, bag_size)
        Taken modulo the number of rows.
    out : array of float32, shape (bags, width)
        All three in host memory, or all on one GPU, C-contiguous and with
        ``__cuda_array_interface__``: arrays of CuPy, Numba, PyTorch, JAX (not `out`) and gpukern.
    stream : int or object with ``__cuda_stream__``, optional
        The stream of the work; by default the stream that `out` names, or the legacy default
        stream. Keep the arrays alive until the work is complete.

    Returns
    -------
    array
        `out` itself.
    """
    if hasattr(out, "__cuda_array_interface__"):
        add_bags_on_gpu(scale, table, index, out, stream)
    else:
        add_bags_on_cpu(scale, table, index, out)
    return out


def require_shapes(table, index, out):
    """Raises an exception unless the shapes fit together."""
    if len(table) != 2 or len(index) != 2 or out != (index[0], table[1]):
        raise ValueError(f"add_bags: shapes do not fit: table {table}, index {index}, out {out}")
    if table[0] == 0 and index[0] * index[1] > 0:
        raise IndexError("add_bags: table has no rows")


cdef int add_bags_on_cpu(float scale, const float[:, :] table, const int64_t[:, :] index,
                         float[:, :] out) except -1:
    require_shapes((table.shape[0], table.shape[1]), (index.shape[0], index.shape[1]),
                   (out.shape[0], out.shape[1]))
    cdef float[:, :] rows = np.empty((index.shape[1], table.shape[1]), np.float32)
    cdef float[:] sums = np.empty(table.shape[1], np.float32)
    cdef Py_ssize_t bag, k
    with nogil:
        for bag in range(index.shape[0]):
            gather_rows_into(table, index[bag], rows, GPUKERN_INDEX_WRAP)
            sums[:] = 0
            for k in range(index.shape[1]):
                saxpy_into(<float>1, rows[k], sums, sums)
            saxpy_into(scale, sums, out[bag], out[bag])
    return 0


cdef class DeviceMatrix:
    """A C-contiguous matrix on a GPU, borrowed from an array with __cuda_array_interface__."""
    cdef gpukern_tensor c
    cdef int64_t shape[2]
    cdef object stream  # the handle in the interface, or None

    def __init__(self, array, dtype, str what, *, writable=False):
        interface = array.__cuda_array_interface__
        if np.dtype(interface["typestr"]) != dtype:
            raise TypeError(f"add_bags: {what} must be {dtype}, got {interface['typestr']}")
        if len(interface["shape"]) != 2 or interface.get("strides") is not None:
            raise ValueError(f"add_bags: {what} must be a C-contiguous matrix")
        address, readonly = interface["data"]
        if writable and readonly:
            raise ValueError(f"add_bags: {what} is read-only")
        self.stream = interface.get("stream")
        self.shape[0], self.shape[1] = interface["shape"]
        self.c.data = <void *><uintptr_t>address
        self.c.shape = self.shape
        self.c.ndim = 2
        self.c.dtype.code = GPUKERN_FLOAT  # gpukern does not read the index
        self.c.dtype.bits = 8 * np.dtype(dtype).itemsize
        self.c.dtype.lanes = 1
        self.c.device.device_type = GPUKERN_CUDA
        if self.c.data != NULL:
            check_cuda(bag_sum_device_of(self.c.data, &self.c.device.device_id))


cdef int check_cuda(const char *error) except -1 nogil:
    """Raises the error that a function of bag_sum.h returned, if any."""
    if error != NULL:
        with gil:
            raise gpukern.errors.GpukernCudaError(f"add_bags: {error.decode()}")
    return 0


def handle_of(stream):
    """The handle of a stream."""
    if isinstance(stream, int):
        return stream
    return stream.__cuda_stream__()[1]


cdef int add_bags_on_gpu(float scale, table, index, out, stream) except -1:
    cdef DeviceMatrix t = DeviceMatrix(table, np.float32, "table")
    cdef DeviceMatrix i = DeviceMatrix(index, np.int64, "index")
    cdef DeviceMatrix o = DeviceMatrix(out, np.float32, "out", writable=True)
    require_shapes((t.shape[0], t.shape[1]), (i.shape[0], i.shape[1]), (o.shape[0], o.shape[1]))
    if o.c.data == NULL:
        return 0
    cdef gpukern_exec where = on_stream(o.c.device, o.stream if stream is None else stream)
    cdef DeviceMatrix other
    for other in (t, i, o):
        wait_for(other, where)
    cdef gpukern_tensor sums = o.c
    cdef size_t bytes_ = o.shape[0] * o.shape[1] * sizeof(float)
    cdef bag_sum_args args
    args.table, args.index = <const float *>t.c.data, <const int64_t *>i.c.data
    args.rows, args.width = t.shape[0], t.shape[1]
    args.bags, args.bag_size = i.shape[0], i.shape[1]
    with nogil:
        check(gpukern_allocate(o.c.device, bytes_, &where, &sums.data))
        try:
            args.sums = <float *>sums.data
            check_cuda(bag_sum_enqueue(&args, o.c.device.device_id, where.stream))
            check(gpukern_saxpy(&scale, &sums, &o.c, &o.c, &where))
        finally:
            # In stream order: the memory remains valid until the work above is complete.
            gpukern_release(o.c.device, sums.data, &where)
    return 0


cdef gpukern_exec on_stream(gpukern_device device, stream) except *:
    cdef gpukern_exec where
    memset(&where, 0, sizeof(where))  # zeros are the defaults of all other members
    where.struct_size = sizeof(gpukern_exec)
    where.device = device
    where.stream = NULL if stream is None else <void *><uintptr_t>handle_of(stream)
    return where


cdef int wait_for(DeviceMatrix matrix, gpukern_exec where) except -1:
    """Waits for the stream that an array names, unless it is the stream of the call.

    Raises an exception if the array is on another GPU, whether or not it names a stream.
    """
    if matrix.c.data == NULL:
        return 0
    if matrix.c.device.device_id != where.device.device_id:
        raise ValueError("add_bags: all arrays must be on one GPU")
    if matrix.stream is None:
        return 0
    cdef gpukern_exec theirs = on_stream(where.device, matrix.stream)
    if theirs.stream != where.stream:
        with nogil:
            check(gpukern_synchronize(where.device, &theirs))
    return 0
