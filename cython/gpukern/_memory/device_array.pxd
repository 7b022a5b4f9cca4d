# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_device
from gpukern._streams.call cimport Argument, CallContext
from gpukern._streams.stream cimport Launch, Stream
from gpukern._interop.tensor cimport Tensor
from gpukern._streams.stream_tracker cimport StreamTracker

cdef class DeviceArray:
    cdef Tensor tensor
    cdef StreamTracker uses
    cdef object __weakref__
    cdef int order(self, Launch launch, bint writes=*) except -1
    cdef int used_by(self, Launch launch, bint writes=*) except -1
    cdef Stream stream(self)
    cdef DeviceArray copy_at(self, gpukern_device device)
    cdef gpukern_device checked_target(self, object dl_device) except *

cdef DeviceArray new_device_array(Tensor like, gpukern_device device, Launch launch)
cdef DeviceArray allocate_device_array(CallContext *call, gpukern_device device, cnp.dtype dtype,
                                       int ndim, const int64_t *shape)
cdef DeviceArray copy_to_device(CallContext *call, const Argument *source, gpukern_device device)
cdef DeviceArray copy_to(Tensor source, gpukern_device device, Launch launch)
cdef int copy_tensor(Tensor source, Tensor destination, Launch where) except -1
