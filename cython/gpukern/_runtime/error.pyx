# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""From a status of the C ABI to an exception."""

from posix.unistd cimport pause

from gpukern._capi cimport GPUKERN_SUCCESS, gpukern_last_error, gpukern_status

from gpukern.errors import ERROR_OF_STATUS, GpukernInternalError

cdef extern from "Python.h":
    int Py_IsInitialized() nogil


cdef int check(gpukern_status status) except -1 nogil:
    """Raises the exception of a failed call of this thread, with the library's message."""
    # No variable here may be a Python object: at the end it would be released, for which Cython
    # takes the GIL, also behind a call that succeeded, and when Python has ended.
    if status == GPUKERN_SUCCESS:
        return 0
    sleep_if_python_has_ended()
    return raise_error(status)


cdef void sleep_if_python_has_ended() noexcept nogil:
    """Call this before a thread that may be a daemon acquires the GIL. After the interpreter has
    exited, acquiring it would end the process with a signal."""
    while not Py_IsInitialized():
        pause()


cdef int raise_error(gpukern_status status) except -1 with gil:
    message = gpukern_last_error().decode("utf-8", "replace")
    raise ERROR_OF_STATUS.get(<int>status, GpukernInternalError)(message)
