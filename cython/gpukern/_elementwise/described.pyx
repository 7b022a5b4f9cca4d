# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The arguments and outputs of element-wise calls, with all checks and their words."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uintptr_t

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.specialization cimport (
    NO_TYPE, Numbers, Signature, number_argument, signature_of, type_number,
)
from gpukern._interop.convert cimport as_output, as_tensor
from gpukern._memory.device_array cimport DeviceArray, new_device_array
from gpukern._interop.dtype cimport is_native, numpy_dtype
from gpukern._interop.array_type cimport ArrayType, array_type_of
from gpukern._elementwise.loop_plan cimport MAX_RANK, broadcast
from gpukern._elementwise.loop_plan cimport require_output as require_shape
from gpukern._streams.stream cimport Launch
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray

import numpy as np

from gpukern._elementwise.numpy_codegen import host_dtype

from gpukern._interop import numpy_subclasses
from gpukern._elementwise.specialization import TYPE_NAMES
from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()


cdef Tensor as_operand(object array, str what, Launch where):
    if type(array) is not cnp.ndarray and numpy_subclasses.is_masked(array):
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
        if (tensor.host != first.host
                or tensor.c.device.device_id != first.c.device.device_id):
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


cdef Tensor broadcast_shape(object function, const gpukern_tensor *const *operands, int count):
    """The shape of the result."""
    cdef int64_t sizes[MAX_RANK + 1]
    cdef int d, k, ndim = 0
    cdef Tensor shape = Tensor.__new__(Tensor)
    for k in range(1, count):
        if not broadcast(operands[k].ndim, operands[k].shape, &ndim, sizes):
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
    cdef ArrayType kind
    cdef Tensor made
    shape.c.dtype = signature.out_dtype
    shape.dtype = numpy_dtype(signature.out_dtype)
    shape.itemsize = signature.out_dtype.bits // 8
    if like.library is not None:
        kind = array_type_of(array)
        if kind.allocate is not None:
            result = kind.allocate(array, shape.shape(), like.c.device.device_id,
                                   signature.out_name)
            made = as_output(result, "the result", where)
            made.made = result
            return made
    shape.host = like.host
    return as_output(new_device_array(shape, like.c.device, where), "the result", where)


cdef bint is_plain(Tensor first) noexcept:
    """Whether a result beside an array is an ndarray."""
    return first is None or (first.library is None and not isinstance(first.owner, DeviceArray))


cdef Signature require_output(object function, dict signatures, char *types, Tensor target,
                              Tensor shape, Tensor first):
    """The signature with the type of an output that was given, if that can be written to."""
    if target.shape() != shape.shape():
        raise GpukernValueError(
            f"{function.name}: out must have shape {shape.shape()}, got {target.shape()}")
    if first is None or first.host:
        if not target.host:
            raise GpukernValueError(f"{function.name}: out must lie on the host like the arrays")
    elif target.host or target.c.device.device_id != first.c.device.device_id:
        raise GpukernValueError(
            f"{function.name}: out must lie on cuda:{first.c.device.device_id} like the arrays")
    require_shape(function.name, target.c.ndim, target.c.shape, target.c.strides, shape.c.ndim,
                  shape.c.shape)
    types[len(function.inputs)] = <char>require_type(function, target)
    return signature_of(function, signatures, types, -1)


cdef tuple strides_of(Tensor target):
    """Strides in any unit: those of an odd tensor are no whole elements."""
    if target.odd:
        return target.owner.strides
    return tuple([target.c.strides[d] for d in range(target.c.ndim)])


cdef int require_type(object function, Tensor target) except -1:
    cdef int type_ = type_number(&target.c.dtype)
    if type_ == NO_TYPE:
        raise GpukernTypeError(
            f"{function.name}: out must be of a dtype that elementwise computes with, "
            f"got {target.dtype}")
    return type_


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
    dtype = host_dtype(TYPE_NAMES[type_number(&tensor.c.dtype)])
    strides = tuple([tensor.c.strides[d] * tensor.itemsize for d in range(tensor.c.ndim)])
    address = <uintptr_t>tensor.c.data + tensor.c.byte_offset
    if tensor.count() == 0:
        return np.empty(tensor.shape(), dtype)
    return np.asarray(HostView(tensor, {
        "version": 3, "shape": tensor.shape(), "typestr": f"|V{tensor.itemsize}",
        "data": (address, tensor.readonly), "strides": strides,
    })).view(dtype)
