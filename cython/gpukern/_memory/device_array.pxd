# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_device, gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext
from gpukern._streams.stream_tracker cimport StreamTracker

cdef class DeviceArray:
    cdef gpukern_tensor c
    cdef cnp.dtype element_dtype
    cdef StreamTracker tracker  # None on the CPU; views share that of the base
    cdef DeviceArray base       # whose memory a view is in, None for an array with memory
    cdef object memory          # what owns the memory of an array without base, None for the array
    cdef bint contiguous
    cdef object __weakref__
    cdef DeviceArray copy_at(self, gpukern_device device, str function)
    cdef DeviceArray view_of(self, object layout)
    cdef gpukern_device checked_target(self, object dl_device) except *

cdef DeviceArray allocate_device_array(CallContext *call, gpukern_device device, cnp.dtype dtype,
                                       int ndim, const int64_t *shape)
cdef DeviceArray new_array_at(void *data, object memory, StreamTracker tracker, cnp.dtype dtype,
                              int ndim, const int64_t *shape)
cdef DeviceArray copy_to_device(CallContext *call, const Argument *source, gpukern_device device)
