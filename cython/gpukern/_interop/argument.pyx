# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The describers of arrays, one per protocol."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer
from cpython.ref cimport Py_INCREF, PyObject, PyTypeObject
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST,
    GPUKERN_CUDA_MANAGED, GPUKERN_INT, GPUKERN_MAX_NDIM, GPUKERN_UINT, gpukern_device,
    gpukern_pointer_device, gpukern_tensor,
)
from gpukern._interop.array_type cimport (
    BY_ATTRIBUTES, BY_DEVICE_ARRAY, BY_DLPACK, BY_EXCHANGE, BY_INTERFACE, BY_NDARRAY, BY_NUMPY,
    PROTOCOLS, ArrayType, Protocol, array_type_of,
)
from gpukern._interop.descriptor cimport get
from gpukern._interop.dlpack cimport (
    Import, capsule_of, dltensor_of_import, exchange_stream, import_by_exchange, import_capsule,
)
from gpukern._interop.dtype cimport describe_dtype, is_native, numpy_dtype
from gpukern._runtime.error cimport check
from gpukern._streams.call cimport (
    INLINE_NDIM, Argument, CallContext, keep, link, new_memory, what,
)
from gpukern._streams.stream cimport handle_of

import numpy as np

from gpukern._interop import libraries
from gpukern.errors import (
    GpukernBufferError, GpukernError, GpukernTypeError, GpukernValueError,
)

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference
    object PyArray_FROM_OF(object array, int flags)
    # Steals the reference to the dtype, which numpy's own .pxd leaves to the caller.
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype dtype, int ndim,
                                const cnp.npy_intp *shape, const cnp.npy_intp *strides,
                                void *data, int flags, PyObject *like)

cnp.import_array()

cdef Describer describers[<int>PROTOCOLS]


# ---- any array ----

cdef int describe(CallContext *call, object array, object name, Argument *argument) except -1:
    """Describes an array that is read."""
    prepare(argument, array, name)
    return describe_prepared(call, array, argument)


cdef int prepare(Argument *argument, object array, object name) except -1:
    memset(argument, 0, sizeof(Argument) - sizeof(argument.sizes))
    argument.array = <PyObject *>array
    if type(name) is int:
        argument.position = name
    else:
        argument.name = <PyObject *>name
    return 0


cdef int describe_prepared(CallContext *call, object array, Argument *argument) except -1:
    cdef ArrayType type_
    if type(array) is cnp.ndarray:
        return describe_ndarray(call, None, array, argument)
    type_ = array_type_of(array)
    argument.type = <PyObject *>type_
    if type_.refusal is not None:
        raise GpukernBufferError(f"{what(call, argument)} {type_.refusal}")
    return describers[<int>type_.protocol](call, type_, array, argument)


cdef int describe_operand(CallContext *call, object array, object name,
                          Argument *argument) except -1:
    """Describes an array that is computed with."""
    describe(call, array, name, argument)
    refuse_masked(call, argument)
    if is_ndarray(argument) and not is_plain(argument):
        made = native_like(argument)
        made[...] = <object>argument.owner
        keep(call, made)
        fill_from_ndarray(call, argument, made)
    return 0


cdef int refuse_masked(CallContext *call, const Argument *argument) except -1:
    if argument.type != NULL and (<ArrayType>argument.type).is_masked:
        raise GpukernTypeError(f"{what(call, argument)} must not be a masked array")
    return 0


cdef object describe_output(CallContext *call, object array, object name, Argument *argument,
                            bint temporary=False):
    """Describes an array that is written to, and returns it."""
    cdef ArrayType type_
    prepare(argument, array, name)
    argument.written = True
    if type(array) is not cnp.ndarray:
        type_ = array_type_of(array)
        argument.type = <PyObject *>type_
        if type_.adopts:
            raise GpukernTypeError(
                f"{what(call, argument)} must not be a JAX array, which cannot be written to")
        if (type_.protocol == BY_NUMPY and not PyObject_CheckBuffer(array)
                and not hasattr(array, "__cuda_array_interface__")):
            raise GpukernTypeError(
                f"{what(call, argument)} must be an array, got {type(array).__name__}")
        call.has_duties |= type_.torch is not None
    describe_prepared(call, array, argument)
    if argument.readonly:
        raise GpukernValueError(f"{what(call, argument)} is read-only")
    if temporary and is_ndarray(argument) and not is_plain(argument):
        argument.target = argument.owner
        made = native_like(argument)
        keep(call, <object>argument.owner)
        keep(call, made)
        fill_from_ndarray(call, argument, made)
        call.has_duties = True
    return array


cdef bint is_plain(const Argument *argument):
    """Whether the C side can compute with the elements of an ndarray."""
    return (not argument.byte_strided
            and is_native(<cnp.dtype>PyArray_DTYPE(<cnp.ndarray>argument.owner)))


cdef object native_like(const Argument *argument):
    """An uninitialised ndarray of the shape of an ndarray and the native form of its dtype."""
    array = <object>argument.owner
    return np.empty(array.shape, array.dtype.newbyteorder("="))


# ---- NumPy ----

cdef int describe_ndarray(CallContext *call, ArrayType type_, object array,
                          Argument *argument) except -1:
    fill_from_ndarray(call, argument, <cnp.ndarray>array)
    # As link(), for an argument on the host.
    argument.previous = call.arguments
    call.arguments = argument
    return 0


cdef int fill_from_ndarray(CallContext *call, Argument *argument, cnp.ndarray array) except -1:
    """Fills in the memory of an ndarray that the caller or the context holds."""
    cdef int d, ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(array)
    cdef int64_t *sizes = new_sizes(call, argument, ndim)
    describe_dtype(<cnp.dtype>PyArray_DTYPE(array), &argument.c.dtype)
    argument.c.data = cnp.PyArray_DATA(array)
    argument.c.device.device_type = GPUKERN_CPU
    argument.c.device.device_id = 0
    argument.c.byte_offset = 0
    argument.c.ndim = ndim
    argument.c.shape = sizes
    argument.c.strides = NULL
    argument.itemsize = size
    argument.host = True
    argument.readonly = not cnp.PyArray_ISWRITEABLE(array)
    argument.byte_strided = argument.c.dtype.lanes == 0
    argument.owner = <PyObject *>array
    for d in range(ndim):
        sizes[d] = shape[d]
    # NumPy's strides mean nothing where sizes are 0 or 1.
    if cnp.PyArray_IS_C_CONTIGUOUS(array) or size == 0:
        return 0
    sizes += ndim
    argument.c.strides = sizes
    for d in range(ndim):
        sizes[d] = 0
        if shape[d] > 1:
            sizes[d] = strides[d] // size
            argument.byte_strided |= strides[d] % size != 0
    return 0


cdef int64_t *new_sizes(CallContext *call, Argument *argument, int ndim) except NULL:
    """Room for the shape and the strides of an argument."""
    if 0 <= ndim <= INLINE_NDIM:
        return argument.sizes
    # One more than the C side takes, which refuses it in its own words.
    if ndim < 0 or ndim > GPUKERN_MAX_NDIM + 1:
        raise GpukernValueError(
            f"{what(call, argument)} must have 0 to {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    return <int64_t *>new_memory(call, 2 * ndim * sizeof(int64_t))


cdef cnp.ndarray new_ndarray(cnp.dtype dtype, int ndim, const int64_t *shape, void *data=NULL):
    """A C-contiguous ndarray, uninitialised or of memory that the caller makes its base."""
    if ndim > GPUKERN_MAX_NDIM:
        raise GpukernValueError(
            f"the result must have at most {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    Py_INCREF(dtype)
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, <const cnp.npy_intp *>shape, NULL,
                                data, 0 if data == NULL else cnp.NPY_ARRAY_CARRAY, NULL)


cdef int describe_converted(CallContext *call, ArrayType type_, object array,
                            Argument *argument) except -1:
    """Describes what NumPy converts to an array: an object that exports the buffer protocol, a
    list, a number."""
    # An object may have the interface without its type: a proxy, a namespace.
    if not type_.is_builtin and hasattr(array, "__cuda_array_interface__"):
        return describe_interface(call, type_, array, argument)
    cdef cnp.ndarray made
    try:
        made = PyArray_FROM_OF(array, cnp.NPY_ARRAY_ENSUREARRAY)
    except ValueError as error:  # a ragged list
        raise GpukernValueError(f"{what(call, argument)}: {error}") from error
    except TypeError as error:
        raise GpukernTypeError(f"{what(call, argument)}: {error}") from error
    if made.dtype.hasobject and not type_.is_sequence:
        raise GpukernTypeError(
            f"{what(call, argument)} must be an array, got {type(array).__name__}")
    keep(call, made)
    return describe_ndarray(call, type_, made, argument)


# ---- DLPack's C exchange API ----

cdef int describe_exchange(CallContext *call, ArrayType type_, object array,
                           Argument *argument) except -1:
    cdef gpukern_tensor tensor
    cdef bint accepted
    # Only of torch is it known that the memory may be written to, and what DLPack does not tell.
    if type_.torch is None or type_.api.dltensor_from_py_object_no_sync == NULL:
        return describe_managed(call, type_, array, argument)
    # Once a call: all its tensors are of one thread.
    if call.checked_type != <PyObject *>type_:
        if type_.torch.is_plain():
            call.checked_type = <PyObject *>type_
        else:
            require_accepted(call, type_, array, argument)
    try:
        accepted = describe_tensor(type_, array, &tensor, &argument.torch)
    except libraries.FOREIGN_ERRORS as error:
        raise refusal(call, type_, array, argument, error) from error
    if not accepted or (may_be_lazy(&tensor) and (array.is_conj() or array.is_neg())):
        require_accepted(call, type_, array, argument)
    argument.owner = <PyObject *>array
    fill_from_dltensor(call, argument, &tensor)
    return link_of_library(call, type_, argument)


cdef bint describe_tensor(ArrayType type_, object array, gpukern_tensor *tensor,
                          void **implementation) except -1:
    """Describes a torch tensor; returns False for one that requires gradients."""
    if type_.torch.c_to_dlpack != NULL:
        return type_.torch.describe(array, tensor, implementation)
    type_.api.dltensor_from_py_object_no_sync(<PyObject *>array, tensor)
    return (not may_require_grad(tensor.dtype.code)
            or get(type_.requires_grad, array) is False)


cdef inline bint may_require_grad(int code) noexcept:
    """Whether torch has gradients for a dtype: it has none for integers and bool."""
    return code != GPUKERN_INT and code != GPUKERN_UINT and code != GPUKERN_BOOL


cdef bint may_be_lazy(const gpukern_tensor *tensor) noexcept:
    """Whether torch may have left a conjugation or a negation of the elements for later.

    A tensor with a pending negation is the imaginary part of a complex one: its strides are even.
    """
    cdef int64_t stride = 1
    cdef int d
    if tensor.dtype.code == GPUKERN_COMPLEX:
        return True
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] != 1 and tensor.strides[d] != stride:
            return True
        stride *= tensor.shape[d]
    return stride == 1


cdef int describe_managed(CallContext *call, ArrayType type_, object array,
                          Argument *argument) except -1:
    """Imports an array of a library whose arrays may be read-only; it is held during the call."""
    cdef Import owner
    require_accepted(call, type_, array, argument)
    try:
        owner = import_by_exchange(array, type_.api)
    except libraries.FOREIGN_ERRORS as error:
        raise refusal(call, type_, array, argument, error) from error
    if owner.versioned == NULL:
        raise GpukernBufferError(
            f"{what(call, argument)} came as nothing from {type(array).__name__}")
    fill_from_import(call, argument, owner)
    return link_of_library(call, type_, argument)


cdef int link_of_library(CallContext *call, ArrayType type_, Argument *argument) except -1:
    """Links an array that is ordered on the current stream of its library."""
    cdef const Argument *known = call.arguments
    cdef int device_id = argument.c.device.device_id
    cdef void *stream
    if not argument.host:
        while known != NULL and not (known.type == argument.type and not known.host
                                     and known.c.device.device_id == device_id):
            known = known.previous
        if known != NULL:
            argument.stream = known.stream
        else:
            if type_.protocol == BY_ATTRIBUTES:
                stream = type_.attributes.current_stream(device_id)
            else:
                stream = exchange_stream(type_.api, device_id)
            # 1 is another name of the legacy default stream.
            argument.stream = NULL if stream == <void *>1 else stream
    return link(call, argument)


# ---- CuPy's attributes ----

cdef int describe_attributes(CallContext *call, ArrayType type_, object array,
                             Argument *argument) except -1:
    cdef gpukern_tensor *tensor = &argument.c
    tensor.shape = argument.sizes
    tensor.strides = argument.sizes + INLINE_NDIM
    if not type_.attributes.fill(array, tensor, INLINE_NDIM, call.addresses_only):
        return describe_dlpack(call, type_, array, argument)
    argument.itemsize = tensor.dtype.bits // 8
    argument.owner = <PyObject *>array
    return link_of_library(call, type_, argument)


# ---- DLPack ----

cdef int describe_dlpack(CallContext *call, ArrayType type_, object array,
                         Argument *argument) except -1:
    cdef Import owner
    require_accepted(call, type_, array, argument)
    try:
        kind, number = array.__dlpack_device__()
        argument.c.device.device_type, argument.c.device.device_id = int(kind), int(number)
        set_host(call, argument)
        stream = None
        if not argument.host:
            # The producer orders its work before the call's stream, which must be settled.
            number = None
            if type_.library is not None:
                number = libraries.current_stream(type_.library, argument.c.device.device_id)
            argument.unordered = number is None
            if number is not None:
                argument.stream = handle_of(number, "stream")
            link(call, argument)
            call.has_stream = True
            stream = <uintptr_t>call.c.stream or 1  # DLPack's legacy default stream
        capsule = capsule_of(array, stream)
    except GpukernError:
        raise
    except libraries.FOREIGN_ERRORS as error:
        raise refusal(call, type_, array, argument, error) from error
    owner = import_capsule(capsule)
    if owner is None:
        raise GpukernTypeError(f"{what(call, argument)} must give a fresh DLPack capsule, "
                               f"got {type(capsule).__name__}")
    fill_from_import(call, argument, owner)
    return link(call, argument) if argument.host else 0


cdef int fill_from_import(CallContext *call, Argument *argument, Import owner) except -1:
    cdef const gpukern_tensor *tensor = dltensor_of_import(owner, &argument.readonly)
    if tensor == NULL:
        raise GpukernBufferError(f"{what(call, argument)} must speak DLPack 1, "
                                 f"got {owner.versioned.version.major}")
    keep(call, owner)
    argument.owner = <PyObject *>owner
    return fill_from_dltensor(call, argument, tensor)


cdef int fill_from_dltensor(CallContext *call, Argument *argument,
                            const gpukern_tensor *tensor) except -1:
    cdef int d, bits = tensor.dtype.bits * tensor.dtype.lanes
    cdef int64_t *sizes
    if bits % 8 != 0 or bits == 0:
        raise GpukernTypeError(f"{what(call, argument)} must have elements of whole bytes, got "
                               f"{tensor.dtype.bits} bits in {tensor.dtype.lanes} lanes")
    argument.c = tensor[0]
    argument.itemsize = bits // 8
    set_host(call, argument)
    sizes = new_sizes(call, argument, tensor.ndim)
    argument.c.shape = sizes
    for d in range(tensor.ndim):
        sizes[d] = tensor.shape[d]
    if tensor.strides != NULL:
        argument.c.strides = sizes + tensor.ndim
        for d in range(tensor.ndim):
            argument.c.strides[d] = tensor.strides[d]
    return 0


cdef int set_host(CallContext *call, Argument *argument) except -1:
    cdef int kind = argument.c.device.device_type
    argument.host = kind == GPUKERN_CPU or kind == GPUKERN_CUDA_HOST
    if not (argument.host or kind == GPUKERN_CUDA or kind == GPUKERN_CUDA_MANAGED):
        raise GpukernValueError(f"{what(call, argument)} must lie on the CPU or on a CUDA device, "
                                f"got DLPack device type {kind}")
    return 0


# ---- __cuda_array_interface__ ----

cdef int describe_interface(CallContext *call, ArrayType type_, object array,
                            Argument *argument) except -1:
    """Describes an array by its __cuda_array_interface__, version 3 and before."""
    try:
        fill_from_interface(call, type_, array.__cuda_array_interface__, argument)
    except GpukernError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise GpukernTypeError(
            f"{what(call, argument)} has a malformed __cuda_array_interface__: {error!r}"
        ) from error
    argument.owner = <PyObject *>array
    return link(call, argument)


cdef int fill_from_interface(CallContext *call, ArrayType type_, dict interface,
                             Argument *argument) except -1:
    cdef Py_ssize_t d
    cdef int64_t *sizes
    if interface.get("mask") is not None:
        raise GpukernBufferError(f"{what(call, argument)} must have no mask")
    shape = interface["shape"]
    pointer, argument.readonly = interface["data"]
    dtype = interface_dtype(interface)
    keep(call, dtype)
    argument.dtype = <PyObject *>dtype
    describe_dtype(dtype, &argument.c.dtype)
    argument.itemsize = dtype.itemsize
    argument.c.ndim = len(shape)
    sizes = new_sizes(call, argument, argument.c.ndim)
    argument.c.shape = sizes
    for d in range(argument.c.ndim):
        sizes[d] = shape[d]
        if sizes[d] < 0:
            raise GpukernValueError(
                f"{what(call, argument)} must have no negative size, got shape {shape}")
    fill_byte_strides(call, argument, interface.get("strides"))
    argument.c.data = <void *><uintptr_t>(pointer or 0)
    argument.c.device = device_of_address(argument.c.data)
    stream = interface.get("stream")
    if stream is not None and stream == 0:
        raise GpukernValueError(
            f"{what(call, argument)} must name stream 1 or 2, got 0, which is ambiguous")
    if stream is None and type_.library is not None:
        # Says nothing of the library's default stream, on which its next work may be.
        stream = libraries.current_stream(type_.library, argument.c.device.device_id)
    argument.unordered = stream is None
    if stream is not None:
        argument.stream = handle_of(stream, f"{what(call, argument)}: the stream of its interface")
    return 0


cdef object interface_dtype(dict interface):
    description = interface.get("descr")
    if description is not None and len(description) > 1:
        return np.dtype([tuple(field) for field in description])
    return np.dtype(interface["typestr"])


cdef gpukern_device device_of_address(const void *data) except *:
    """The interface does not name the device; CUDA knows it from the address."""
    cdef gpukern_device device
    check(gpukern_pointer_device(data, &device))
    if device.device_type not in (GPUKERN_CUDA, GPUKERN_CUDA_MANAGED):
        # No memory, or the host's that the GPU reads in place.
        device.device_type, device.device_id = GPUKERN_CUDA, 0
    return device


cdef int fill_byte_strides(CallContext *call, Argument *argument, object strides) except -1:
    cdef Py_ssize_t d
    if strides is None:
        return 0
    if len(strides) != argument.c.ndim:
        raise GpukernValueError(
            f"{what(call, argument)} must have a stride for each dimension, got {strides}")
    argument.c.strides = argument.c.shape + argument.c.ndim
    for d in range(argument.c.ndim):
        if strides[d] % argument.itemsize and argument.c.shape[d] > 1:
            raise GpukernValueError(f"{what(call, argument)} must have strides of whole elements "
                                    f"on a device, got {strides}")
        argument.c.strides[d] = strides[d] // argument.itemsize
    return 0


# ---- any layout ----

cdef int as_bytes(CallContext *call, const Argument *argument, gpukern_tensor *bytes_) except -1:
    """Describes an argument as bytes, with a last dimension that runs through each element: so
    every layout and item size can be expressed, fields of packed records and huge items."""
    cdef gpukern_tensor made = argument.c
    cdef int d, ndim = argument.c.ndim
    cdef int64_t *sizes = <int64_t *>new_memory(call, 2 * (ndim + 1) * sizeof(int64_t))
    cdef int64_t stride = argument.itemsize
    made.ndim = ndim + 1
    made.dtype.code, made.dtype.bits, made.dtype.lanes = GPUKERN_UINT, 8, 1
    made.shape, made.strides = sizes, sizes + ndim + 1
    made.shape[ndim], made.strides[ndim] = argument.itemsize, 1
    for d in range(ndim - 1, -1, -1):
        made.shape[d] = argument.c.shape[d]
        if argument.c.strides == NULL:
            made.strides[d] = stride
            stride *= max(made.shape[d], 1)
        elif argument.byte_strided and made.shape[d] > 1:
            made.strides[d] = cnp.PyArray_STRIDES(<cnp.ndarray>argument.owner)[d]
        else:
            made.strides[d] = argument.c.strides[d] * argument.itemsize
    bytes_[0] = made
    return 0


# ---- refusals ----

cdef int require_accepted(CallContext *call, ArrayType type_, object array,
                          const Argument *argument) except -1:
    """Refuses an array that its library cannot share, such as one that requires gradients."""
    why = libraries.why_not(type_.library, array)
    if why is not None:
        raise GpukernBufferError(f"{what(call, argument)} {why}")
    return 0


cdef object refusal(CallContext *call, ArrayType type_, object array, const Argument *argument,
                    object error):
    """The exception for an array whose library raised `error`."""
    why = libraries.why_not(type_.library, array)
    if why is None:
        first_line = str(error).partition("\n")[0]
        why = f"could not be had from {type(array).__name__}: {first_line}"
    return GpukernBufferError(f"{what(call, argument)} {why}")


# ---- what an argument is ----

cdef object dtype_of(const Argument *argument):
    """NumPy's dtype of an argument."""
    if argument.dtype != NULL:
        return <object>argument.dtype
    if is_ndarray(argument):
        return <object>PyArray_DTYPE(<cnp.ndarray>argument.owner)
    return numpy_dtype(argument.c.dtype)


cdef tuple shape_of(const gpukern_tensor *tensor):
    return tuple([tensor.shape[d] for d in range(tensor.ndim)])


cdef Py_ssize_t count_of(const gpukern_tensor *tensor) noexcept nogil:
    """The number of elements."""
    cdef Py_ssize_t product = 1
    cdef int d
    for d in range(tensor.ndim):
        product *= tensor.shape[d]
    return product


cdef bint is_ndarray(const Argument *argument) noexcept:
    """Whether an ndarray holds the memory: the caller's, or one that NumPy made."""
    return isinstance(<object>argument.owner, cnp.ndarray)


cdef bint is_device_array(const Argument *argument) noexcept:
    return argument.type != NULL and (<ArrayType>argument.type).protocol == BY_DEVICE_ARRAY


cdef int set_describer(Protocol protocol, Describer describer) except -1:
    describers[<int>protocol] = describer
    return 0


set_describer(BY_NDARRAY, describe_ndarray)
set_describer(BY_NUMPY, describe_converted)
set_describer(BY_EXCHANGE, describe_exchange)
set_describer(BY_ATTRIBUTES, describe_attributes)
set_describer(BY_DLPACK, describe_dlpack)
set_describer(BY_INTERFACE, describe_interface)
