# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_device, gpukern_event

cdef class Kept:
    cdef object owner
    cdef gpukern_device device
    cdef gpukern_event *event

# How many objects are kept; a look at it is all that a call pays where there are none.
cdef int kept_count

cdef int keep_until_done(object owner, gpukern_device device, void *stream) except -1
cdef void let_go() noexcept
