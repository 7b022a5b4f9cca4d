# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Which element-wise calls the quick way is for, see _elementwise.pyx."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport GPUKERN_CUDA, gpukern_device, gpukern_tensor
from gpukern._layout cimport overlap, same_place
from gpukern._operand cimport Operand
from gpukern._own cimport is_own

from gpukern import _host

cnp.import_array()

cdef cnp.npy_intp FEW = _host.FEW


cdef bint are_rows(tuple arguments, object out):
    """Whether the ndarrays have at most one dimension and few elements, and an output the shape of
    the result and an own place for each element."""
    cdef cnp.ndarray array
    cdef cnp.npy_intp size, wanted = -1
    cdef bint is_met = False
    if out is not None:
        if cnp.PyArray_NDIM(out) != 1 or cnp.PyArray_SIZE(out) > FEW:
            return False
        wanted = cnp.PyArray_SIZE(out)
        if wanted > 1 and cnp.PyArray_STRIDE(out, 0) == 0:
            return False
    for argument in arguments:
        if type(argument) is not cnp.ndarray:
            continue
        array = argument
        if cnp.PyArray_NDIM(array) == 0:
            continue
        size = cnp.PyArray_SIZE(array)
        if cnp.PyArray_NDIM(array) > 1 or size > FEW or (wanted >= 0 and size != wanted):
            return False
        is_met = True
    return is_met or wanted < 0


cdef bint on_one_gpu(const Operand *operands, int count) noexcept:
    """Whether all arguments are DeviceArrays of one GPU, or none is one."""
    cdef int k
    cdef const gpukern_device *device = &operands[1].c.device
    for k in range(1, count):
        if (operands[k].c.device.device_type != GPUKERN_CUDA
                or operands[k].c.device.device_id != device.device_id
                or is_own(&operands[k]) != is_own(&operands[1])):
            return False
    return True


cdef bint fits(const Operand *operands, int count, int ndim, const int64_t *shape) noexcept:
    """Whether an output can be written to as it is while the arguments are read."""
    cdef const gpukern_tensor *out = &operands[0].c
    cdef int d, k
    if operands[0].readonly or out.ndim != ndim or is_own(&operands[0]) != is_own(&operands[1]):
        return False
    if (out.device.device_type != GPUKERN_CUDA
            or out.device.device_id != operands[1].c.device.device_id):
        return False
    for d in range(ndim):
        if out.shape[d] != shape[d]:
            return False
        if out.strides != NULL and out.strides[d] == 0 and shape[d] > 1:
            return False
    for k in range(1, count):
        if overlap(out, &operands[k].c) and not same_place(out, &operands[k].c):
            return False
    return True
