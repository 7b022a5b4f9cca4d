# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport cython
from libc.stdint cimport uint64_t

from gpukern._capi cimport gpukern_device, gpukern_event
from gpukern._streams.stream cimport Stream

cdef class Use:
    cdef Stream stream
    cdef gpukern_event *event
    cdef bint wrote
    cdef uint64_t version

cdef class StreamTracker:
    cdef gpukern_device device
    cdef Stream home
    cdef bint busy
    cdef bint wrote
    cdef uint64_t version
    cdef uint64_t begun
    cdef list elsewhere
    cdef list consumers
    cdef cython.pymutex lock
    cdef int begin(self, Stream stream, bint writes) except -1
    cdef int end(self, Stream stream, bint writes) except -1
    cdef Stream current_home(self)
    cdef void settle(self, Stream stream, uint64_t begun) noexcept
    cdef void settle_new(self) noexcept
    cdef int lend(self, list streams) except -1
    cdef void release(self, void *data) noexcept
    cdef Stream capturing(self)
    cdef int begin_at_home(self, bint writes) except -1
    cdef int begin_elsewhere(self, Stream stream, bint writes) except -1
    cdef bint written_elsewhere(self) noexcept
    cdef int move_home(self, Stream stream) except -1
    cdef int remember(self, Use use) except -1
    cdef Use use_of(self, Stream stream)
    cdef int wait(self, Stream stream, Use use, bint captured) except -1

cdef StreamTracker new_stream_tracker(gpukern_device device, Stream stream)
