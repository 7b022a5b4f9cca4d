# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise calls on arrays of any kind, with all checks and their words."""

from libc.stdint cimport int32_t

from gpukern._capi cimport (
    GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, gpukern_copy, gpukern_device_count,
    gpukern_tensor,
)
from gpukern._elementwise.specialization cimport (
    MAX_ARGUMENTS, NO_TYPE, Numbers, Signature, number_argument, signature_of, type_number,
)
from gpukern._interop.convert cimport as_output, finished, used_by
from gpukern._elementwise.described cimport (
    as_operand, broadcast_shape, describe_call, host_view, is_plain, new_output, position_of,
    require_output, require_type,
)
from gpukern._memory.device_array cimport new_device_array
from gpukern._runtime.error cimport check
from gpukern._elementwise.foreseen cimport foresee_on_cpu, foresee_on_gpu
from gpukern._elementwise.loop_plan cimport MAX_OPERANDS, overlap, same_elements
from gpukern._interop.lend cimport note_write
from gpukern._streams.stream cimport Launch, new_launch
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray
from gpukern._elementwise.through cimport through
from gpukern._runtime.default_device cimport WISH_CUDA, checked_wish

import numpy as np

from gpukern._elementwise import cpu_executor
from gpukern._elementwise.numpy_codegen import host_dtype
from gpukern.errors import GpukernTypeError, GpukernValueError


cdef object long_way(object function, dict signatures, tuple arguments, object out, object device,
                     object stream, object progress, object device_memory):
    """The call, on the caller's arguments as they are."""
    cdef Launch where = new_launch(function.name, device, stream)
    where.limit_memory(device_memory, f"{function.name}: device_memory")
    if progress is not None and not callable(progress):
        raise GpukernTypeError(f"{function.name}: progress must be callable or None, "
                               f"got {type(progress).__name__}")
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
        place = gpu_for_host(function, where)
        if place is None:
            return on_host(function, signatures, arguments, tensors, first, out, where, progress)
        return through_gpu(function, signatures, arguments, tensors, first, out, where, place,
                           progress)
    return on_gpu(function, signatures, arguments, tensors, first, out, where)


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
    signature = signature_of(function, signatures, types, first.c.device.device_id)
    cdef Tensor shape = broadcast_shape(function, operands, count)
    like = arguments[position_of(tensors, first)]
    if out is None:
        written = new_output(like, first, shape, signature, where)
    else:
        target = written = as_output(out, f"{function.name}: out", where)
        signature = require_output(function, signatures, types, target, shape, first)
        for k in range(1, count):
            if overlap(&target.c, operands[k]) and not same_elements(&target.c, operands[k]):
                written = contiguous_like(target, where)
                break
    operands[0] = &written.c
    if where.c.explanation != NULL:
        foresee_on_gpu(&where.c, signature, operands, count)
        where.finish()
        return None  # there is no result
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


cdef Tensor contiguous_like(Tensor target, Launch where):
    return as_output(new_device_array(target, target.c.device, where), "the result", where)


# ---- on the host ----

cdef object on_host(object function, dict signatures, tuple arguments, list tensors, Tensor first,
                    object out, Launch where, object progress):
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
    signature = signature_of(function, signatures, types, -1)
    if where.c.explanation != NULL:
        foresee_on_cpu(&where.c, signature, views, cpu_executor.broadcast_shape(function, views))
        return None
    if target is None and not is_plain(first):
        shape = tensor_of_ndarray(np.empty(cpu_executor.broadcast_shape(function, views), np.uint8))
        target = new_output(arguments[position_of(tensors, first)], first, shape, signature, where)
    view = None if target is None else host_view(target)
    result = signature.host_function().call(tuple(views), view, progress)
    if target is None:
        return result
    if out is None:
        return finished(first, target)
    note_write(out)
    return out


# ---- host arrays through a GPU ----

cdef object gpu_for_host(object function, Launch where):
    """The GPU that host arrays go to; None for the CPU."""
    if where.c.device.device_type == GPUKERN_CUDA:
        return where.c.device.device_id
    if where.c.device.device_type != GPUKERN_DEVICE_DEFAULT:
        return None
    if checked_wish() != WISH_CUDA and not function.device_names:
        return None
    # As a default it is a wish.
    return 0 if gpukern_device_count() > 0 else None


cdef object through_gpu(object function, dict signatures, tuple arguments, list tensors,
                        Tensor first, object out, Launch where, int32_t device, object progress):
    cdef char types[MAX_ARGUMENTS + 1]
    cdef const gpukern_tensor *operands[MAX_OPERANDS]
    cdef Numbers numbers
    cdef Signature signature
    cdef Tensor written, target = None
    cdef int count = describe_call(function, arguments, tensors, first, types, operands, &numbers)
    signature = signature_of(function, signatures, types, device)
    cdef Tensor shape = broadcast_shape(function, operands, count)
    if out is not None:
        target = as_output(out, f"{function.name}: out", where)
        signature = require_output(function, signatures, types, target, shape, first)
    if target is not None and not target.odd:
        written = target
    elif target is not None or is_plain(first):
        made = np.empty(shape.shape(), host_dtype(signature.out_name))
        written = tensor_of_ndarray(made)
    else:
        like = arguments[position_of(tensors, first)]
        written = new_output(like, first, shape, signature, where)
    operands[0] = &written.c
    through(signature, operands, count, &numbers, device, where, progress)
    if where.c.explanation != NULL:
        return None  # there is no result
    if target is None:
        return finished(first, written)
    if written is not target:
        target.owner[...] = written.owner
    note_write(out)
    return out
