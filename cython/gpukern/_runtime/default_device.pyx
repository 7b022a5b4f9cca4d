# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True

from libc.stdlib cimport getenv
from libc.string cimport strcmp

from gpukern.errors import GpukernValueError


cdef Wish wished_device() noexcept:
    """WISH_UNKNOWN is left to whoever then says what is wrong."""
    cdef const char *name = getenv("GPUKERN_DEVICE")
    if name == NULL or name[0] == 0:
        return WISH_NONE
    if strcmp(name, "cpu") == 0:
        return WISH_CPU
    return WISH_CUDA if strcmp(name, "cuda") == 0 else WISH_UNKNOWN


cdef Wish checked_wish() except *:
    """Refuses what is no device."""
    cdef Wish wish = wished_device()
    if wish == WISH_UNKNOWN:
        name = (<bytes>getenv("GPUKERN_DEVICE")).decode("utf-8", "replace")
        raise GpukernValueError(f"GPUKERN_DEVICE must be cpu or cuda, got {name}")
    return wish
