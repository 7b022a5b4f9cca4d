# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True

from libc.stdint cimport int64_t

from gpukern._capi cimport GPUKERN_DEVICE_DEFAULT, gpukern_dtype, gpukern_exec
from gpukern._memory.device_array cimport DeviceArray, new_device_array
from gpukern._interop.dtype cimport numpy_dtype
from gpukern._interop.operand cimport OPERAND_NDIM, Operand
from gpukern._streams.stream cimport Launch, Stream
from gpukern._interop.tensor cimport Tensor


cdef bint lend_own(DeviceArray array, Operand *operand) noexcept:
    """Describes an array on a GPU, whose sizes never change; False for one that takes the long
    way."""
    if array.uses is None or array.tensor.c.ndim > OPERAND_NDIM:
        return False
    operand.c = array.tensor.c
    operand.c.strides = NULL
    operand.readonly = False
    operand.kind = NULL
    operand.stream = NULL
    return True


cdef DeviceArray new_own(DeviceArray array, int ndim, const int64_t *shape, gpukern_dtype dtype):
    """An uninitialised array beside another one, on its stream."""
    cdef Launch where = Launch.__new__(Launch)
    cdef Tensor like = Tensor.__new__(Tensor)
    cdef int d
    where.c.struct_size = sizeof(gpukern_exec)
    where.c.device.device_type = GPUKERN_DEVICE_DEFAULT
    where.stream = array.uses.current_home()
    where.c.stream = where.stream.handle
    like.resize(ndim)
    for d in range(ndim):
        like.c.shape[d] = shape[d]
    like.c.dtype = dtype
    like.dtype = numpy_dtype(dtype)
    like.itemsize = dtype.bits // 8
    return new_device_array(like, array.tensor.c.device, where)


cdef Stream begin_own(tuple arguments, object result):
    """The stream for a call: the first array's, behind the work on the others."""
    cdef Stream stream = None
    for argument in arguments:
        if type(argument) is DeviceArray:
            if stream is None:
                stream = (<DeviceArray>argument).uses.current_home()
            (<DeviceArray>argument).uses.begin(stream, False)
    (<DeviceArray>result).uses.begin(stream, True)
    return stream


cdef int end_own(tuple arguments, object result, Stream stream) except -1:
    """Notes that the call has been enqueued."""
    for argument in arguments:
        if type(argument) is DeviceArray:
            (<DeviceArray>argument).uses.end(stream, False)
    return (<DeviceArray>result).uses.end(stream, True)
