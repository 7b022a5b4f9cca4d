# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DLPack's C exchange API (DLPack 1.3): arrays described without a Python object between."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_tensor
from gpukern._interop.dlpack cimport DLManagedTensorVersioned, DLPackVersion, Import
from gpukern._interop.tensor cimport Tensor

# The structs of dlpack.h; gpukern_tensor has the layout of its DLTensor. The functions return 0, or
# -1 with a Python exception. They synchronise nothing.
cdef struct ExchangeHeader:
    DLPackVersion version
    ExchangeHeader *prev_api

cdef struct ExchangeApi:
    ExchangeHeader header
    void *managed_tensor_allocator
    int (*managed_tensor_from_py_object_no_sync)(PyObject *, DLManagedTensorVersioned **) except -1
    void *managed_tensor_to_py_object_no_sync
    int (*dltensor_from_py_object_no_sync)(PyObject *, gpukern_tensor *) except -1  # may be NULL
    int (*current_work_stream)(int, int32_t, void **) except -1

cdef const ExchangeApi *exchange_api(object kind) except? NULL
cdef Import import_by_exchange(object array, const ExchangeApi *api)
cdef Tensor import_exchange(object array, const ExchangeApi *api, str what)
cdef void *exchange_stream(const ExchangeApi *api, int device_id) except? NULL
