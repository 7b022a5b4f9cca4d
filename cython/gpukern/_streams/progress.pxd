# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject

from gpukern._capi cimport gpukern_exec

# Progress callbacks and signals between the parts of the call's work.
cdef struct Watch:
    PyObject *progress   # borrowed, NULL for none
    PyObject *error      # what stopped the call, owned
    double next_look     # in seconds

cdef void watch(Watch *watch, gpukern_exec *exec_) noexcept
