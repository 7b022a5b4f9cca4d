# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DeviceArrays as operands on the stack, see lend.pxd; stream_tracker.pyx puts their calls in order."""

from libc.stdint cimport int64_t

from gpukern._capi cimport GPUKERN_CUDA, gpukern_dtype
from gpukern._memory.device_array cimport DeviceArray
from gpukern._interop.operand cimport Operand
from gpukern._streams.stream cimport Stream

cdef inline bint is_own(const Operand *operand) noexcept:
    """Whether it is a DeviceArray on a GPU."""
    return operand.kind == NULL and operand.c.device.device_type == GPUKERN_CUDA

cdef bint lend_own(DeviceArray array, Operand *operand) noexcept
cdef DeviceArray new_own(DeviceArray array, int ndim, const int64_t *shape, gpukern_dtype dtype)
cdef Stream begin_own(tuple arguments, object result)
cdef int end_own(tuple arguments, object result, Stream stream) except -1
