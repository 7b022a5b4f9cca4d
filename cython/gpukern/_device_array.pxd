# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_device
from gpukern._stream cimport Launch, Stream
from gpukern._tensor cimport Tensor

cdef class DeviceArray:
    cdef Tensor tensor
    cdef Stream stream
    cdef bint busy
    cdef object __weakref__
    cdef int order(self, Launch launch) except -1
    cdef int used_by(self, Launch launch) except -1
    cdef gpukern_device checked_target(self, object dl_device) except *
    cdef int hand_over(self, Stream consumer) except -1

cdef DeviceArray new_device_array(Tensor like, gpukern_device device, Launch launch)
cdef DeviceArray copy_to(Tensor source, gpukern_device device, Launch launch)
