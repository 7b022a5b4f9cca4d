# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.pystate cimport PyThreadState
from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from gpukern._capi cimport gpukern_exec

# Progress callbacks and signals between the parts of the call's work.
cdef struct Watch:
    PyObject *progress     # borrowed, NULL for none
    PyObject *error        # what stopped the call, owned
    double next_report     # in seconds
    double next_look       # at signals
    uint64_t reported      # bytes
    PyThreadState *thread  # of the call

# Whether the time of the next report has come, which is then moved on.
cdef bint is_due(double *next_report) noexcept nogil
cdef void watch(Watch *watch, gpukern_exec *exec_) noexcept
