# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport uint32_t, uint64_t

from gpukern._capi cimport gpukern_dtype, gpukern_device, gpukern_tensor
from gpukern._interop.tensor cimport Tensor

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

cdef object capsule_of(object array, object stream)
cdef Import import_capsule(object capsule)
cdef const gpukern_tensor *dltensor_of_import(Import owner, bint *readonly) noexcept
cdef gpukern_device dlpack_device(object array, str what) except *
cdef Tensor import_dlpack(object array, gpukern_device device, object stream, str what)
cdef Tensor tensor_of_import(Import owner, str what)
cdef Tensor describe_lent(const gpukern_tensor *source, str what)
cdef object export_dlpack(object owner, const gpukern_tensor *tensor, bint versioned, bint copied)
