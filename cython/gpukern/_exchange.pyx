# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Finds the DLPack C exchange API that a type of arrays offers."""

from cpython.long cimport PyLong_AsVoidPtr
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid

cdef enum:
    MAJOR_VERSION = 1


cdef const ExchangeApi *exchange_api(object kind) except? NULL:
    """The type's API in a version that we know, NULL if there is none."""
    cdef const ExchangeHeader *header = NULL
    offered = getattr(kind, "__dlpack_c_exchange_api__", None)
    if PyCapsule_IsValid(offered, "dlpack_exchange_api"):
        header = <ExchangeHeader *>PyCapsule_GetPointer(offered, "dlpack_exchange_api")
    else:
        # The spelling from before DLPack 1.3: torch 2.10.
        offered = getattr(kind, "__c_dlpack_exchange_api__", None)
        if isinstance(offered, int):
            header = <ExchangeHeader *>PyLong_AsVoidPtr(offered)
    while header != NULL and header.version.major != MAJOR_VERSION:
        header = header.prev_api
    return <const ExchangeApi *>header
