# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""From a status of the C ABI to an exception."""

from gpukern._capi cimport GPUKERN_SUCCESS, gpukern_last_error, gpukern_status

from gpukern.errors import ERROR_OF_STATUS, GpukernInternalError


cdef int check(gpukern_status status) except -1 nogil:
    """Raises the exception of a failed call of this thread, with the library's message."""
    if status == GPUKERN_SUCCESS:
        return 0
    with gil:
        message = gpukern_last_error().decode("utf-8", "replace")
        raise ERROR_OF_STATUS.get(<int>status, GpukernInternalError)(message)
