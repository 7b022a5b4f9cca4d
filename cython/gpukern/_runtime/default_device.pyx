# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True

from libc.stdlib cimport getenv
from libc.string cimport strcmp

from gpukern.errors import GpukernValueError


cdef DefaultDevice default_device() noexcept:
    """DEFAULT_UNKNOWN is left to whoever then says what is wrong."""
    cdef const char *name = getenv("GPUKERN_DEVICE")
    if name == NULL or name[0] == 0:
        return DEFAULT_NONE
    if strcmp(name, "cpu") == 0:
        return DEFAULT_CPU
    return DEFAULT_CUDA if strcmp(name, "cuda") == 0 else DEFAULT_UNKNOWN


cdef DefaultDevice checked_default_device() except *:
    """As default_device(), which raises for an unknown device."""
    cdef DefaultDevice found = default_device()
    if found == DEFAULT_UNKNOWN:
        name = (<bytes>getenv("GPUKERN_DEVICE")).decode("utf-8", "replace")
        raise GpukernValueError(f"GPUKERN_DEVICE must be cpu or cuda, got {name}")
    return found
