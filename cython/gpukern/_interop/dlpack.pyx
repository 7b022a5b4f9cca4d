# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""DLPack 1.x, with and without versions: arrays in and out without copies."""

cimport cython
from cpython.pycapsule cimport (
    PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport calloc, free

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST, GPUKERN_CUDA_MANAGED, gpukern_device,
    gpukern_tensor,
)
from gpukern._interop.dtype cimport numpy_dtype
from gpukern._interop.tensor cimport Tensor

from gpukern.errors import GpukernBufferError, GpukernTypeError, GpukernValueError

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef enum:
    READ_ONLY = 1
    IS_COPIED = 2

cdef tuple MAX_VERSION = (1, 1)


@cython.final
cdef class Import:
    """A tensor that another library lent us, given back when nobody needs it any more."""

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


cdef gpukern_device dlpack_device(object array, str what) except *:
    """The device of an array with __dlpack_device__."""
    cdef gpukern_device device
    kind, number = array.__dlpack_device__()
    device.device_type = int(kind)
    device.device_id = int(number)
    if device.device_type not in (GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST,
                                  GPUKERN_CUDA_MANAGED):
        raise GpukernValueError(
            f"{what} must lie on the CPU or on a CUDA device, got DLPack device type {int(kind)}")
    return device


cdef object capsule_of(object array, object stream):
    """A capsule of an array whose data are ready on `stream` (DLPack's number; None on the CPU)."""
    cdef dict options = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=MAX_VERSION, **options)
    except TypeError:  # a producer from before DLPack 1.0
        return array.__dlpack__(**options)


cdef Import take_over(object capsule, str what):
    """Takes the tensor out of a capsule, which is marked as used at once."""
    cdef Import owner = Import.__new__(Import)
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        owner.versioned = <DLManagedTensorVersioned *>PyCapsule_GetPointer(
            capsule, "dltensor_versioned")
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
    elif PyCapsule_IsValid(capsule, "dltensor"):
        owner.plain = <DLManagedTensor *>PyCapsule_GetPointer(capsule, "dltensor")
        PyCapsule_SetName(capsule, "used_dltensor")
    else:
        raise GpukernTypeError(
            f"{what} must give a fresh DLPack capsule, got {type(capsule).__name__}")
    return owner


cdef Import import_capsule(object capsule):
    """Takes the tensor out of a capsule, which is marked as used. Returns None for an object that
    is no fresh capsule."""
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
    if owner.versioned.version.major != 1:
        return NULL
    readonly[0] = owner.versioned.flags & READ_ONLY
    return &owner.versioned.dl_tensor


cdef Tensor import_dlpack(object array, gpukern_device device, object stream, str what):
    """Imports an array; its data are ready on `stream` (DLPack's number; None on the CPU)."""
    return tensor_of_import(take_over(capsule_of(array, stream), what), what)


cdef Tensor tensor_of_import(Import owner, str what):
    cdef Tensor tensor
    if owner.versioned == NULL:
        tensor = describe_lent(&owner.plain.dl_tensor, what)
    elif owner.versioned.version.major != 1:
        # Nothing but the deleter may be touched; the owner calls it.
        raise GpukernBufferError(
            f"{what} must speak DLPack 1, got {owner.versioned.version.major}")
    else:
        tensor = describe_lent(&owner.versioned.dl_tensor, what)
        tensor.readonly = owner.versioned.flags & READ_ONLY
    tensor.owner = owner
    return tensor


cdef Tensor describe_lent(const gpukern_tensor *source, str what):
    """A copy of the description, which has no owner yet."""
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef int d
    if source.dtype.bits * source.dtype.lanes % 8 or source.dtype.bits * source.dtype.lanes == 0:
        raise GpukernTypeError(f"{what} must have elements of whole bytes, got "
                               f"{source.dtype.bits} bits in {source.dtype.lanes} lanes")
    tensor.resize(source.ndim)
    for d in range(source.ndim):
        tensor.c.shape[d] = source.shape[d]
    if source.strides == NULL:
        tensor.set_contiguous()
    else:
        for d in range(source.ndim):
            tensor.c.strides[d] = source.strides[d]
    tensor.c.data = source.data
    tensor.c.byte_offset = source.byte_offset
    tensor.c.dtype = source.dtype
    tensor.c.device = source.device
    tensor.dtype = numpy_dtype(source.dtype)
    tensor.itemsize = source.dtype.bits * source.dtype.lanes // 8
    tensor.host = source.device.device_type in (GPUKERN_CPU, GPUKERN_CUDA_HOST)
    return tensor


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
    """Gives back what no consumer took."""
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        delete_versioned(<DLManagedTensorVersioned *>PyCapsule_GetPointer(
            capsule, "dltensor_versioned"))
    elif PyCapsule_IsValid(capsule, "dltensor"):
        delete_plain(<DLManagedTensor *>PyCapsule_GetPointer(capsule, "dltensor"))


cdef object export_dlpack(object owner, const gpukern_tensor *tensor, bint versioned, bint copied):
    """A capsule of a tensor whose memory and shape `owner` keeps alive."""
    cdef DLManagedTensor *plain
    cdef DLManagedTensorVersioned *managed
    if versioned:
        managed = <DLManagedTensorVersioned *>calloc(1, sizeof(DLManagedTensorVersioned))
        if managed == NULL:
            raise MemoryError()
        managed.version.major = 1
        managed.flags = IS_COPIED if copied else 0
        managed.dl_tensor = tensor[0]
        managed.manager_ctx = <void *>owner
        managed.deleter = delete_versioned
        Py_INCREF(owner)
        try:
            return PyCapsule_New(managed, "dltensor_versioned", destroy_capsule)
        except BaseException:
            delete_versioned(managed)
            raise
    plain = <DLManagedTensor *>calloc(1, sizeof(DLManagedTensor))
    if plain == NULL:
        raise MemoryError()
    plain.dl_tensor = tensor[0]
    plain.manager_ctx = <void *>owner
    plain.deleter = delete_plain
    Py_INCREF(owner)
    try:
        return PyCapsule_New(plain, "dltensor", destroy_capsule)
    except BaseException:
        delete_plain(plain)
        raise
