# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport uint64_t

from gpukern._capi cimport gpukern_device

cdef class Stream:
    cdef void *handle
    cdef readonly object owner
    cdef readonly bint lasting

cdef int wait_back(gpukern_device device, void *stream, void *call) except -1 nogil
cdef void *handle_of(object stream, str what) except? NULL
cdef Stream new_stream(void *handle, object owner)
cdef Stream as_stream(object stream, str what=*)
cdef Stream stream_of_handle(object handle, object owner, str what=*)
cdef Stream legacy_stream()
cdef bint same_stream(Stream a, Stream b) noexcept
cdef uint64_t capture_of(gpukern_device device, Stream stream) except? 0xffffffff
cdef bint captures(gpukern_device device, void *stream) noexcept
cdef int wait_for(gpukern_device device, Stream stream, Stream other, bint captured) except -1
cdef void wait_outside(gpukern_device device, void *stream, void *other) noexcept
cdef Stream consumer_stream(object stream, int device_id)
cdef list current_streams(int device_id)
cdef gpukern_device as_device(object device, str what=*) except *
