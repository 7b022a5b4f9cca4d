# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_status

cdef int check(gpukern_status status) except -1 nogil
cdef void sleep_if_python_has_ended() noexcept nogil
