# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Names of C++ as they were written."""

from libc.stdlib cimport free

cdef extern from "<cxxabi.h>":
    char *demangle "abi::__cxa_demangle"(const char *name, char *, size_t *, int *status)


def demangled(str name):
    """The signature that a mangled name stands for; None for a name that is not mangled."""
    cdef int status = 0
    if not name.startswith("_Z"):
        return None
    cdef bytes encoded = name.encode()
    cdef char *text = demangle(encoded, NULL, NULL, &status)
    if text == NULL:
        return None
    try:
        return (<bytes>text).decode()
    finally:
        free(text)
