# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A call's word with Python between the parts of its work: progress, and Ctrl-C."""

from cpython.ref cimport PyObject

from gpukern._capi cimport gpukern_exec, gpukern_status

# One call's. It lives on the caller's stack.
cdef struct Watch:
    PyObject *callback  # the caller's progress=, borrowed; NULL for None
    PyObject *error     # what stopped the call, owned
    double next_look    # seconds

cdef enum:
    # Bytes of a result from which on somebody may want to stop its call: they are some ten
    # milliseconds of many cores, and a tenth of a second of one.
    LONG = 1 << 28

cdef int watch(Watch *self, gpukern_exec *exec_, object progress, Py_ssize_t bytes_,
               str function) except -1
cdef void watch_signals(Watch *self, gpukern_exec *exec_) noexcept
cdef int watched(Watch *self, gpukern_status status) except -1 nogil
