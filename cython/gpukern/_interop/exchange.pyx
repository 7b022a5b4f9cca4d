# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Finds the DLPack C exchange API that a type of arrays offers."""

from cpython.long cimport PyLong_AsVoidPtr
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport PyObject

from gpukern._capi cimport GPUKERN_CUDA
from gpukern._interop.dlpack cimport Import, tensor_of_import
from gpukern._interop.tensor cimport Tensor

from gpukern.errors import GpukernBufferError

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


cdef Import import_by_exchange(object array, const ExchangeApi *api):
    """Imports an array, which may be read-only; nothing (NULL) may come from it."""
    cdef Import owner = Import.__new__(Import)
    api.managed_tensor_from_py_object_no_sync(<PyObject *>array, &owner.versioned)
    return owner


cdef Tensor import_exchange(object array, const ExchangeApi *api, str what):
    """Imports an array, which may be read-only; it is held until the tensor is gone."""
    cdef Import owner = Import.__new__(Import)
    api.managed_tensor_from_py_object_no_sync(<PyObject *>array, &owner.versioned)
    if owner.versioned == NULL:
        raise GpukernBufferError(f"{what} came as nothing from {type(array).__name__}")
    return tensor_of_import(owner, what)


cdef void *exchange_stream(const ExchangeApi *api, int device_id) except? NULL:
    """The current stream of the library on a CUDA device."""
    cdef void *stream = NULL
    api.current_work_stream(GPUKERN_CUDA, device_id, &stream)
    return stream
