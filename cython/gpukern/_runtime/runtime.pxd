# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_status

cdef int check(gpukern_status status) except -1 nogil
# An int of an object that has __index__(); others are an error about `what`.
cdef object as_int(object given, str what, str expected=*)
cdef object shown(object number)
# Of this process and those it descends from: with another one, an object is of a parent.
cdef int fork_count() noexcept nogil
cdef str version_text(int32_t version)

# The device that $GPUKERN_DEVICE names.
cdef enum DefaultDevice:
    DEFAULT_NONE
    DEFAULT_CPU
    DEFAULT_CUDA
    DEFAULT_UNKNOWN

cdef DefaultDevice default_device() noexcept
cdef DefaultDevice checked_default_device() except *
