# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The describers of other libraries' arrays, one per protocol."""

from cpython.number cimport PyNumber_Index
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t

from gpukern._capi cimport (
    GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_CUDA_HOST,
    GPUKERN_CUDA_MANAGED, GPUKERN_INT, GPUKERN_UINT, gpukern_device, gpukern_pointer_device,
    gpukern_tensor,
)
from gpukern._interop.argument cimport new_sizes, set_describer
from gpukern._interop.array_type cimport (
    BY_ATTRIBUTES, BY_DLPACK, BY_EXCHANGE, BY_INTERFACE, ArrayType,
)
from gpukern._interop.dlpack cimport (
    Import, capsule_of, dltensor_of_import, exchange_stream, import_by_exchange, import_capsule,
    layout_fault,
)
from gpukern._interop.dtype cimport describe_dtype
from gpukern._interop.library_internals cimport PLAIN, REFUSED, REQUIRES_GRAD, TensorState, get
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport (
    INLINE_NDIM, Argument, CallContext, keep, link, link_host, what,
)
from gpukern._streams.stream cimport handle_of

import numpy as np

from gpukern._interop import libraries
from gpukern.errors import (
    GpukernBufferError, GpukernError, GpukernTypeError, GpukernValueError,
)


# ---- DLPack's C exchange API ----

cdef int describe_exchange(CallContext *call, ArrayType type_, object array,
                           Argument *argument) except -1:
    cdef gpukern_tensor tensor
    cdef TensorState state = REFUSED
    # Only of torch is it known that the memory may be written to, and what DLPack does not tell.
    if type_.torch is None or type_.api.dltensor_from_py_object_no_sync == NULL:
        return describe_managed(call, type_, array, argument)
    # Once a call: all its tensors are of one thread.
    if call.checked_type != <PyObject *>type_:
        if type_.torch.is_plain():
            call.checked_type = <PyObject *>type_
        else:
            require_accepted(call, type_, array, argument)
    if type_.torch.c_to_dlpack != NULL:
        state = type_.torch.describe(array, &tensor, &argument.torch)
    if state == REFUSED:
        state = describe_by_api(call, type_, array, argument, &tensor)
    if state == REQUIRES_GRAD or (may_be_lazy(&tensor) and (array.is_conj() or array.is_neg())):
        require_accepted(call, type_, array, argument)
    argument.owner = <PyObject *>array
    fill_from_dltensor(call, argument, &tensor)
    if argument.host:
        link_host(call, argument)
        return 0
    return link_of_library(call, type_, argument)


cdef TensorState describe_by_api(CallContext *call, ArrayType type_, object array,
                                 Argument *argument, gpukern_tensor *tensor) except REFUSED:
    """Describes a torch tensor by the exchange API."""
    try:
        type_.api.dltensor_from_py_object_no_sync(<PyObject *>array, tensor)
        if not may_require_grad(tensor.dtype.code) or get(type_.requires_grad, array) is False:
            return PLAIN
        return REQUIRES_GRAD
    except libraries.FOREIGN_ERRORS as error:
        raise refusal(call, type_, array, argument, error) from error


cdef inline bint may_require_grad(int code) noexcept:
    """Whether torch has gradients for a dtype: it has none for integers and bool."""
    return code != GPUKERN_INT and code != GPUKERN_UINT and code != GPUKERN_BOOL


cdef bint may_be_lazy(const gpukern_tensor *tensor) noexcept:
    """Whether torch may have left a conjugation or a negation of the elements for later.

    A tensor with a pending negation is the imaginary part of a complex one: its strides are even.
    """
    cdef uint64_t stride = 1
    cdef int d
    if tensor.dtype.code == GPUKERN_COMPLEX:
        return True
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] != 1 and tensor.strides[d] != <int64_t>stride:
            return True
        stride *= <uint64_t>tensor.shape[d]
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
    cdef bint host
    cdef int device_id
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
    host, device_id = argument.host, argument.c.device.device_id
    fill_from_import(call, argument, owner)
    if argument.host != host or not host and argument.c.device.device_id != device_id:
        raise GpukernBufferError(f"{what(call, argument)} must be on the device that its "
                                 "__dlpack_device__() names")
    return link(call, argument) if host else 0


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
    if tensor.shape == NULL and tensor.ndim > 0:
        raise GpukernValueError(f"{what(call, argument)} must have a shape, got NULL")
    argument.c.shape = sizes
    for d in range(tensor.ndim):
        sizes[d] = tensor.shape[d]
    if tensor.strides != NULL:
        argument.c.strides = sizes + tensor.ndim
        for d in range(tensor.ndim):
            argument.c.strides[d] = tensor.strides[d]
    return require_layout(call, argument)


cdef inline int set_host(CallContext *call, Argument *argument) except -1:
    cdef int kind = argument.c.device.device_type
    argument.host = kind == GPUKERN_CPU or kind == GPUKERN_CUDA_HOST
    if not (argument.host or kind == GPUKERN_CUDA or kind == GPUKERN_CUDA_MANAGED):
        raise GpukernValueError(f"{what(call, argument)} must be on the CPU or a CUDA device, "
                                f"got DLPack device type {kind}")
    return 0


# ---- __cuda_array_interface__ ----

cdef int describe_interface(CallContext *call, ArrayType type_, object array,
                            Argument *argument) except -1:
    """Describes an array by its __cuda_array_interface__, version 3 and before."""
    try:
        interface = array.__cuda_array_interface__
        if not isinstance(interface, dict):  # a proxy, such as that of torch.fx, has any attribute
            raise GpukernTypeError(
                f"{what(call, argument)} must be an array, got {type(array).__name__}")
        fill_from_interface(call, type_, interface, argument)
    except GpukernError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
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
        sizes[d] = PyNumber_Index(shape[d])  # a float would be truncated
    fill_byte_strides(call, argument, interface.get("strides"))
    argument.c.data = <void *><uintptr_t>(0 if pointer is None else PyNumber_Index(pointer))
    require_layout(call, argument)
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
    typestr = interface["typestr"]
    # To NumPy None is float64, and a subarray an element of the dtype but not of an array.
    if not isinstance(typestr, str) or np.dtype(typestr).subdtype is not None:
        raise TypeError(f"typestr must be a str that describes an element, got {typestr!r}")
    return np.dtype(typestr)


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
    cdef object stride
    if strides is None:
        return 0
    if len(strides) != argument.c.ndim:
        raise GpukernValueError(
            f"{what(call, argument)} must have a stride for each dimension, got {strides}")
    argument.c.strides = argument.c.shape + argument.c.ndim
    for d in range(argument.c.ndim):
        stride = PyNumber_Index(strides[d])
        if stride % argument.itemsize and argument.c.shape[d] > 1:
            raise GpukernValueError(f"{what(call, argument)} must have strides of whole elements "
                                    f"on a device, got {strides}")
        argument.c.strides[d] = stride // argument.itemsize
    return 0


# ---- refusals ----

cdef int require_layout(CallContext *call, const Argument *argument) except -1:
    fault = layout_fault(&argument.c, argument.itemsize)
    if fault is not None:
        raise GpukernValueError(f"{what(call, argument)} {fault}")
    return 0


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
        why = (f"could not be imported from {type(array).__name__}: {type(error).__name__}: "
               f"{first_line}")
        if hasattr(array, "__array__") and not hasattr(array, "__cuda_array_interface__"):
            why += " (numpy.asarray() may convert it)"
    return GpukernBufferError(f"{what(call, argument)} {why}")


set_describer(BY_EXCHANGE, describe_exchange)
set_describer(BY_ATTRIBUTES, describe_attributes)
set_describer(BY_DLPACK, describe_dlpack)
set_describer(BY_INTERFACE, describe_interface)
