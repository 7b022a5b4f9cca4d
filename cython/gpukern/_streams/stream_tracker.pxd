# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport cython
from libc.stdint cimport uint64_t
from libcpp.atomic cimport atomic

from gpukern._capi cimport gpukern_device, gpukern_event
from gpukern._streams.stream cimport Stream

cdef class PendingUse:
    cdef Stream stream
    cdef gpukern_event *event
    cdef bint wrote
    cdef uint64_t version

cdef class StreamTracker:
    cdef gpukern_device device
    cdef Stream owner
    cdef bint busy
    cdef bint wrote
    cdef uint64_t version
    cdef atomic[uint64_t] changes  # uses that began, and those enqueued after a look at them
    cdef atomic[uint64_t] writes   # those of them that write
    cdef atomic[uint64_t] looks    # at the uses, to order others behind them
    cdef list pending
    cdef list consumers
    cdef list retired             # released by drop_retired()
    cdef bint retires             # whether there are any
    cdef int forks                # when this was made
    cdef list elsewhere
    cdef Stream joined
    cdef uint64_t joined_changes
    cdef Stream reader            # behind reader_writes writes elsewhere
    cdef uint64_t reader_writes
    cdef gpukern_event *written   # behind written_writes writes here
    cdef uint64_t written_writes
    cdef cython.pymutex lock
    cdef int begin(self, Stream stream, bint writes, uint64_t *number=*) except -1
    cdef int end(self, Stream stream, bint writes, uint64_t number=*) except -1
    cdef Stream current_owner(self)
    cdef void mark_complete(self, Stream stream, uint64_t number) noexcept
    cdef void mark_new_complete(self) noexcept
    cdef int add_consumers(self, list streams) except -1
    cdef void release(self, void *data) noexcept
    cdef void await_uses(self) noexcept
    cdef void wait_for_others(self, void *waiter) noexcept
    cdef int synchronize(self) except -1
    cdef int join(self, Stream stream) except -1
    cdef int join_writes(self, Stream stream) except -1
    cdef int order_behind_writes(self, gpukern_device device, Stream stream) except -1
    cdef gpukern_event *mark(self) except? NULL
    cdef Stream capturing(self)
    cdef int begin_on_owner(self, bint writes) except -1
    cdef int begin_on_other(self, Stream stream, bint writes) except -1
    cdef int note_on_other(self, Stream stream, bint writes) except -1
    cdef int require_process(self) except -1
    cdef int drop_retired(self) except -1
    cdef int retire(self, object replaced) except -1
    cdef bint has_pending_write(self) noexcept
    cdef int change_owner(self, Stream stream) except -1
    cdef int remember(self, PendingUse use) except -1
    cdef PendingUse use_of(self, Stream stream)
    cdef int wait(self, Stream stream, PendingUse use, bint captured) except -1

cdef StreamTracker new_stream_tracker(gpukern_device device, Stream stream)
