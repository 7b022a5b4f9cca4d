# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""DLPack 1.x: capsules with and without versions, and the C exchange API."""

cimport cython
from cpython.long cimport PyLong_AsVoidPtr
from cpython.pycapsule cimport (
    PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

from gpukern._capi cimport GPUKERN_CUDA, gpukern_tensor

from gpukern.errors import GpukernBufferError

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef enum:
    READ_ONLY = 1
    IS_COPIED = 2
    MAJOR_VERSION = 1

cdef tuple MAX_VERSION = (1, 1)
# Bytes that no memory has; far enough below 2**63 for the rounding of doubles.
cdef double END = 2.0**62


@cython.final
cdef class Import:
    """A tensor that another library exported; its deleter is called with the last reference."""

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


cdef object capsule_of(object array, object stream):
    """A capsule of an array whose data are ready on `stream` (DLPack's number; None on the CPU)."""
    cdef dict options = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=MAX_VERSION, **options)
    except TypeError as error:
        text = str(error)
        if "max_version" not in text and "argument" not in text:
            raise
        return array.__dlpack__(**options)  # a producer from before DLPack 1.0


cdef Import import_capsule(object capsule):
    """Takes the tensor out of a capsule, which is marked as used. Returns None for an object that
    is not a fresh capsule."""
    cdef Import owner = Import.__new__(Import)
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        owner.versioned = <DLManagedTensorVersioned *>PyCapsule_GetPointer(
            capsule, "dltensor_versioned")
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
    elif PyCapsule_IsValid(capsule, "dltensor"):
        owner.plain = <DLManagedTensor *>PyCapsule_GetPointer(capsule, "dltensor")
        PyCapsule_SetName(capsule, "used_dltensor")
    else:
        return None
    return owner


cdef const gpukern_tensor *dltensor_of_import(Import owner, bint *readonly) noexcept:
    """The tensor; NULL for another major version, of which only the deleter may be touched."""
    readonly[0] = False
    if owner.versioned == NULL:
        return &owner.plain.dl_tensor
    if owner.versioned.version.major != MAJOR_VERSION:
        return NULL
    readonly[0] = owner.versioned.flags & READ_ONLY
    return &owner.versioned.dl_tensor


cdef str layout_fault(const gpukern_tensor *tensor, Py_ssize_t itemsize):
    """Why no memory can have the layout of a tensor, as the end of a sentence; None if it can.

    The C side checks layouts, too. But results are allocated, and element-wise functions computed,
    by what Python's side has described.
    """
    cdef double bytes_ = itemsize, below = 0, above = 0, reach
    cdef bint empty = False
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] < 0:
            return f"must have no negative size, got {tensor.shape[d]} in dimension {d}"
        empty |= tensor.shape[d] == 0
        reach = bytes_ if tensor.strides == NULL else <double>tensor.strides[d] * itemsize
        reach *= <double>tensor.shape[d] - 1
        below, above = below + min(reach, 0), above + max(reach, 0)
        bytes_ *= tensor.shape[d]
    if empty:
        return None
    if tensor.data == NULL:
        return "must have data, got NULL"
    below += <double><uintptr_t>tensor.data + tensor.byte_offset
    if below < 0 or not max(bytes_, above, <double>tensor.byte_offset) < END:
        return "must be in memory, got sizes, strides or an offset beyond all addresses"
    return None


# ---- the C exchange API ----

cdef const ExchangeApi *exchange_api(object type_) except? NULL:
    """The API that a type of arrays offers, of a known version; NULL if there is none."""
    cdef const ExchangeHeader *header = NULL
    offered = getattr(type_, "__dlpack_c_exchange_api__", None)
    if PyCapsule_IsValid(offered, "dlpack_exchange_api"):
        header = <ExchangeHeader *>PyCapsule_GetPointer(offered, "dlpack_exchange_api")
    else:
        # The spelling from before DLPack 1.3: torch 2.10.
        offered = getattr(type_, "__c_dlpack_exchange_api__", None)
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


cdef void *exchange_stream(const ExchangeApi *api, int device_id) except? NULL:
    """The current stream of the library on a CUDA device."""
    cdef void *stream = NULL
    if api.current_work_stream == NULL:
        raise GpukernBufferError("a DLPack C exchange API must have a function for the stream")
    api.current_work_stream(GPUKERN_CUDA, device_id, &stream)
    return stream


# ---- exports ----

# A consumer may call a deleter from any thread, and when Python is gone already; the process is
# about to end then, and the memory with it.
cdef void delete_plain(DLManagedTensor *managed) noexcept nogil:
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object>managed.manager_ctx)
        free(managed)


cdef void delete_versioned(DLManagedTensorVersioned *managed) noexcept nogil:
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object>managed.manager_ctx)
        free(managed)


cdef void destroy_capsule(object capsule) noexcept:
    """Deletes a tensor that no consumer took."""
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        delete_versioned(<DLManagedTensorVersioned *>PyCapsule_GetPointer(
            capsule, "dltensor_versioned"))
    elif PyCapsule_IsValid(capsule, "dltensor"):
        delete_plain(<DLManagedTensor *>PyCapsule_GetPointer(capsule, "dltensor"))


cdef object export_dlpack(object owner, const gpukern_tensor *tensor, bint versioned, bint copied):
    """A capsule of a tensor whose memory and shape `owner` keeps alive."""
    cdef void *memory = calloc(1, sizeof(DLManagedTensorVersioned))
    cdef DLManagedTensorVersioned *managed = <DLManagedTensorVersioned *>memory
    cdef DLManagedTensor *plain = <DLManagedTensor *>memory  # which is smaller
    if memory == NULL:
        raise MemoryError()
    if versioned:
        managed.version.major = 1
        managed.flags = IS_COPIED if copied else 0
        managed.dl_tensor, managed.manager_ctx = tensor[0], <void *>owner
        managed.deleter = delete_versioned
    else:
        plain.dl_tensor, plain.manager_ctx = tensor[0], <void *>owner
        plain.deleter = delete_plain
    Py_INCREF(owner)
    try:
        return PyCapsule_New(memory, "dltensor_versioned" if versioned else "dltensor",
                             destroy_capsule)
    except BaseException:
        if versioned:
            delete_versioned(managed)
        else:
            delete_plain(plain)
        raise
