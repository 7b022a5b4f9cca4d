# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cdef class TorchState:
    cdef object count_modes
    cdef object tracing_state
    cdef dict forward_ad
    cdef object increment_version
    cdef bint is_plain(self) except -1
    cdef int note_write(self, object tensor) except -1

cdef TorchState torch_state()
