# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise calls on arrays of any kind, with all checks and their words."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport getenv

from gpukern._capi cimport (
    GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, GPUKERN_SUCCESS, gpukern_copy, gpukern_device_count,
    gpukern_tensor,
)
from gpukern._compiled cimport (
    MAX_ARGUMENTS, NO_TYPE, Numbers, Signature, number_argument, signature_of, type_number,
)
from gpukern._convert cimport as_output, as_tensor, finished, used_by
from gpukern._device_array cimport DeviceArray, new_device_array
from gpukern._dtype cimport is_native, numpy_dtype
from gpukern._error cimport check
from gpukern._kind cimport Kind, kind_of
from gpukern._layout cimport MAX_OPERANDS, MAX_RANK, broadcast, overlap, same_place
from gpukern._lend cimport note_write
from gpukern._stream cimport Launch, new_launch
from gpukern._tensor cimport Tensor, tensor_of_ndarray

import math

import numpy as np

from gpukern import _host, _numpy_rules
from gpukern._compiled import TYPE_NAMES
from gpukern._create import empty, to_device
from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()

cdef enum:
    # Elements that host arrays send to a GPU at once, which bounds the memory they take there.
    PARCEL = 1 << 25


cdef object long_way(object function, dict signatures, tuple arguments, object out, object device,
                     object stream):
    """The call, on the caller's arguments as they are."""
    cdef Launch where = new_launch(function.name, device, stream)
    cdef list tensors = []  # None for a number
    cdef Tensor tensor, first = None
    cdef Numbers numbers
    for argument, name in zip(arguments, function.inputs):
        tensor = None
        if number_argument(argument, &numbers.slot[0]) == NO_TYPE:
            tensor = as_operand(argument, f"{function.name}: {name}", where)
            if first is None or first.host and not tensor.host:
                first = tensor
        tensors.append(tensor)
    if first is None or first.host:
        return on_host(function, signatures, arguments, tensors, first, out, where, stream)
    return on_gpu(function, signatures, arguments, tensors, first, out, where)


cdef Tensor as_operand(object array, str what, Launch where):
    if type(array) is not cnp.ndarray and _numpy_rules.is_masked(array):
        raise GpukernTypeError(f"{what} must not be a masked array")
    cdef Tensor tensor = as_tensor(array, what, where)
    if isinstance(tensor.owner, cnp.ndarray) and (not is_native(tensor.dtype) or tensor.odd):
        made = np.empty(tensor.shape(), tensor.dtype.newbyteorder("="))
        made[...] = tensor.owner
        tensor = tensor_of_ndarray(made)
    if type_number(&tensor.c.dtype) == NO_TYPE:
        raise GpukernTypeError(
            f"{what} must be of a dtype that elementwise computes with, got {tensor.dtype}")
    return tensor


cdef object position_of(list tensors, Tensor wanted):
    """Where a tensor is among the arguments."""
    for i, tensor in enumerate(tensors):
        if tensor is wanted:
            return i
    return None


# ---- on a GPU ----

cdef object on_gpu(object function, dict signatures, tuple arguments, list tensors, Tensor first,
                   object out, Launch where):
    cdef char types[MAX_ARGUMENTS + 1]
    cdef const gpukern_tensor *operands[MAX_OPERANDS]
    cdef Numbers numbers
    cdef Signature signature
    cdef Tensor tensor, written, target = None
    cdef int count = describe_call(function, arguments, tensors, first, types, operands, &numbers)
    require_device(function, first, where)
    signature = signature_of(function, signatures, types)
    cdef Tensor shape = broadcast_shape(function, operands, count)
    like = arguments[position_of(tensors, first)]
    if out is None:
        written = new_output(like, first, shape, signature, where)
    else:
        target = written = as_output(out, f"{function.name}: out", where)
        signature = require_output(function, signatures, types, target, shape, first)
        for k in range(1, count):
            if overlap(&target.c, operands[k]) and not same_place(&target.c, operands[k]):
                written = contiguous_like(target, where)
                break
    operands[0] = &written.c
    signature.enqueue(operands, count, &numbers, first.c.device.device_id, &where.c)
    if written is not target and target is not None:
        with nogil:
            check(gpukern_copy(&written.c, &target.c, &where.c))
        used_by(written, where, True)
    for tensor in tensors:
        if tensor is not None:
            used_by(tensor, where, False)
    used_by(written if target is None else target, where, True)
    where.finish()
    if out is None:
        return finished(first, written)
    note_write(out)
    return out


cdef int describe_call(object function, tuple arguments, list tensors, Tensor first, char *types,
                       const gpukern_tensor **operands, Numbers *numbers) except -1:
    """The types of the arguments, the arrays behind a place for the output, and the numbers."""
    cdef Tensor tensor
    cdef int i, count = 1
    numbers.count = 0
    for i in range(len(tensors)):
        tensor = tensors[i]
        argument = arguments[i]
        if tensor is not None and tensor.host and tensor.c.ndim == 0:
            tensor, argument = None, host_view(tensor)[()]
        if tensor is None:
            types[i] = <char>number_argument(argument, &numbers.slot[numbers.count])
            numbers.count += 1
            continue
        if (tensor.host or tensor.c.device.device_id != first.c.device.device_id):
            place = "cpu" if tensor.host else f"cuda:{tensor.c.device.device_id}"
            raise GpukernValueError(
                f"{function.name}: {function.inputs[i]} must lie on "
                f"cuda:{first.c.device.device_id} like "
                f"{function.inputs[position_of(tensors, first)]}, got {place}")
        types[i] = <char>type_number(&tensor.c.dtype)
        operands[count] = &tensor.c
        count += 1
    types[len(tensors)] = NO_TYPE
    return count


cdef int require_device(object function, Tensor first, Launch where) except -1:
    cdef int32_t kind = where.c.device.device_type
    if kind != GPUKERN_DEVICE_DEFAULT and (
            kind != GPUKERN_CUDA or where.c.device.device_id != first.c.device.device_id):
        given = "cpu" if kind != GPUKERN_CUDA else f"cuda:{where.c.device.device_id}"
        raise GpukernValueError(
            f"{function.name}: device must be that of the arrays, "
            f"cuda:{first.c.device.device_id}, got {given}")
    # A stream is all that the launch is to be told.
    where.c.device.device_type = GPUKERN_DEVICE_DEFAULT
    return 0


cdef Tensor broadcast_shape(object function, const gpukern_tensor *const *operands, int count):
    """The shape of the result."""
    cdef int64_t sizes[MAX_RANK + 1]
    cdef int d, k, ndim = 0
    cdef Tensor shape = Tensor.__new__(Tensor)
    for k in range(1, count):
        if not broadcast(operands[k], &ndim, sizes):
            shapes = [tuple([operands[k].shape[d] for d in range(operands[k].ndim)])
                      for k in range(1, count)]
            raise GpukernValueError(
                f"{function.name}: shapes {', '.join(map(str, shapes))} do not broadcast")
    shape.resize(ndim)
    for d in range(ndim):
        shape.c.shape[d] = sizes[d]
    return shape


cdef Tensor new_output(object array, Tensor like, Tensor shape, Signature signature, Launch where):
    """Uninitialised memory beside `like`, which describes `array`."""
    cdef Kind kind
    cdef Tensor made
    shape.c.dtype = signature.out_dtype
    shape.dtype = numpy_dtype(signature.out_dtype)
    shape.itemsize = signature.out_dtype.bits // 8
    if like.library is not None:
        kind = kind_of(array)
        if kind.allocate is not None:
            result = kind.allocate(array, shape.shape(), like.c.device.device_id,
                                   signature.out_name)
            made = as_output(result, "the result", where)
            made.made = result
            return made
    shape.host = like.host
    return as_output(new_device_array(shape, like.c.device, where), "the result", where)


cdef Tensor contiguous_like(Tensor target, Launch where):
    return as_output(new_device_array(target, target.c.device, where), "the result", where)


cdef Signature require_output(object function, dict signatures, char *types, Tensor target,
                              Tensor shape, Tensor first):
    """The signature with the type of an output that was given, if that can be written to."""
    cdef int d
    if target.shape() != shape.shape():
        raise GpukernValueError(
            f"{function.name}: out must have shape {shape.shape()}, got {target.shape()}")
    if target.host or target.c.device.device_id != first.c.device.device_id:
        raise GpukernValueError(
            f"{function.name}: out must lie on cuda:{first.c.device.device_id} like the arrays")
    for d in range(target.c.ndim):
        if target.c.strides[d] == 0 and target.c.shape[d] > 1:
            raise GpukernValueError(f"{function.name}: out must not have a stride of 0")
    types[len(function.inputs)] = <char>require_type(function, target)
    return signature_of(function, signatures, types)


cdef int require_type(object function, Tensor target) except -1:
    cdef int type_ = type_number(&target.c.dtype)
    if type_ == NO_TYPE:
        raise GpukernTypeError(
            f"{function.name}: out must be of a dtype that elementwise computes with, "
            f"got {target.dtype}")
    return type_


# ---- on the host ----

class HostView:
    """Memory of the host as NumPy sees it, in plain bytes."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__array_interface__ = interface


cdef object host_view(Tensor tensor):
    """A host tensor as an ndarray."""
    if isinstance(tensor.owner, cnp.ndarray):
        return tensor.owner
    cdef int d
    dtype = _host.host_dtype(TYPE_NAMES[type_number(&tensor.c.dtype)])
    strides = tuple([tensor.c.strides[d] * tensor.itemsize for d in range(tensor.c.ndim)])
    address = <uintptr_t>tensor.c.data + tensor.c.byte_offset
    if tensor.count() == 0:
        return np.empty(tensor.shape(), dtype)
    return np.asarray(HostView(tensor, {
        "version": 3, "shape": tensor.shape(), "typestr": f"|V{tensor.itemsize}",
        "data": (address, tensor.readonly), "strides": strides,
    })).view(dtype)


cdef object on_host(object function, dict signatures, tuple arguments, list tensors, Tensor first,
                    object out, Launch where, object stream):
    cdef char types[MAX_ARGUMENTS + 1]
    cdef Numbers numbers
    cdef Tensor tensor, target = None
    cdef Signature signature
    cdef int i
    cdef list views = []
    for i in range(len(tensors)):
        tensor = tensors[i]
        types[i] = <char>(number_argument(arguments[i], &numbers.slot[0]) if tensor is None
                          else type_number(&tensor.c.dtype))
        views.append(arguments[i] if tensor is None else host_view(tensor))
    types[len(tensors)] = NO_TYPE
    if out is not None:
        target = as_output(out, f"{function.name}: out", where)
        if not target.host:
            raise GpukernValueError(f"{function.name}: out must lie on the host like the arrays")
        types[len(tensors)] = <char>require_type(function, target)
    signature = signature_of(function, signatures, types)
    device = gpu_for_host(function, where)
    plain = first is None or (
        first.library is None and not isinstance(first.owner, DeviceArray))
    if target is None and not plain:
        shape = tensor_of_ndarray(np.empty(_host.broadcast(function, views), np.uint8))
        target = new_output(arguments[position_of(tensors, first)], first, shape, signature, where)
    view = None if target is None else host_view(target)
    if device is None:
        result = signature.host_function().call(views, view)
    else:
        result = through_gpu(function, signatures, views, view, signature.out_name, device, stream)
    if target is None:
        return result
    if out is None:
        return finished(first, target)
    note_write(out)
    return out


cdef object gpu_for_host(object function, Launch where):
    """The GPU that host arrays go to; None for the CPU."""
    cdef int32_t devices = 0
    cdef const char *wanted = getenv("GPUKERN_DEVICE")
    if where.c.device.device_type == GPUKERN_CUDA:
        return where.c.device.device_id
    if where.c.device.device_type != GPUKERN_DEVICE_DEFAULT:
        return None
    name = b"" if wanted == NULL else <bytes>wanted
    if name not in (b"", b"cpu", b"cuda"):
        raise GpukernValueError(
            f"GPUKERN_DEVICE must be cpu or cuda, got {name.decode('utf-8', 'replace')}")
    if name != b"cuda" and not function.device_names():
        return None
    # As a default it is a wish.
    return 0 if gpukern_device_count(&devices) == GPUKERN_SUCCESS and devices > 0 else None


cdef object through_gpu(object function, dict signatures, list views, object out, object out_name,
                        int32_t device, object stream):
    """Sends ndarrays to a GPU and the result back, in parcels where the layout allows it."""
    shape = _host.broadcast(function, views)
    result = np.empty(shape, _host.host_dtype(out_name)) if out is None else out
    _host.require_shape(function, result, shape)
    whole = [isinstance(view, np.ndarray) and view.ndim > 0 for view in views]
    if shape and result.flags.c_contiguous and all([
            not along or (view.shape == shape and view.flags.c_contiguous)
            for view, along in zip(views, whole)]):
        size, parcel = math.prod(shape), PARCEL
        flat = [view.reshape(-1) if along else view for view, along in zip(views, whole)]
        places = result.reshape(-1)
    else:
        size, parcel, flat, places = 1, 1, views, result
        whole = [False] * len(views)
    for begin in range(0, size, parcel):
        part = slice(begin, begin + parcel)
        moved = [view[part] if along else view for view, along in zip(flat, whole)]
        target = places[part] if any(whole) else result
        send(function, signatures, moved, target, device, stream)
    return result[()] if out is None else out


cdef int send(object function, dict signatures, list parts, object out, int32_t device,
              object stream) except -1:
    moved = tuple([to_device(part, device, stream) if isinstance(part, np.ndarray) else part
                   for part in parts])
    if out.size == 0:
        return 0
    if not any([isinstance(part, DeviceArray) for part in moved]):
        moved = (to_device(np.asarray(parts[0]), device, stream), *moved[1:])
    target = empty(out.shape, out.dtype, device)
    long_way(function, signatures, moved, target, None, stream)
    target.numpy(out=out, stream=stream)
    return 0
