# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_device, gpukern_exec

cdef class Stream:
    cdef void *handle
    cdef readonly object owner

cdef class Launch:
    cdef gpukern_exec c
    cdef Stream stream
    cdef bint any_cuda
    cdef int follow(self, gpukern_device device, Stream stream) except -1

cdef Stream as_stream(object stream)
cdef Stream stream_of_handle(object handle, object owner)
cdef Launch new_launch(object device, object stream)
cdef gpukern_device as_device(object device) except *
