# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uint32_t, uint64_t

from gpukern._capi cimport gpukern_tensor

# The structs of dlpack.h; gpukern_tensor has the layout of its DLTensor.
cdef struct DLManagedTensor:
    gpukern_tensor dl_tensor
    void *manager_ctx
    void (*deleter)(DLManagedTensor *) noexcept

cdef struct DLPackVersion:
    uint32_t major
    uint32_t minor

cdef struct DLManagedTensorVersioned:
    DLPackVersion version
    void *manager_ctx
    void (*deleter)(DLManagedTensorVersioned *) noexcept
    uint64_t flags
    gpukern_tensor dl_tensor

cdef class Import:
    cdef DLManagedTensor *plain
    cdef DLManagedTensorVersioned *versioned

# The C exchange API of DLPack 1.3. The functions return 0, or -1 with a Python exception. They
# synchronise nothing.
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

cdef object capsule_of(object array, object stream)
cdef Import import_capsule(object capsule)
cdef const gpukern_tensor *dltensor_of_import(Import owner, bint *readonly) noexcept
cdef str layout_fault(const gpukern_tensor *tensor, Py_ssize_t itemsize)
cdef object export_dlpack(object owner, const gpukern_tensor *tensor, bint versioned, bint copied)

cdef const ExchangeApi *exchange_api(object type_) except? NULL
cdef Import import_by_exchange(object array, const ExchangeApi *api)
cdef void *exchange_stream(const ExchangeApi *api, int device_id) except? NULL
