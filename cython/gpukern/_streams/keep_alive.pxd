# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libcpp.atomic cimport atomic

from gpukern._capi cimport gpukern_device, gpukern_event

cdef class KeepAlive:
    cdef object owner
    cdef gpukern_device device
    cdef gpukern_event *event

# The number of objects that are kept alive: all that a call reads if there are none.
cdef atomic[int] keepalive_count

cdef int keep_until_done(object owner, gpukern_device device, void *stream) except -1
cdef void release_completed() noexcept
