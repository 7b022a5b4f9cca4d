# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Which element-wise calls the quick way is for, see dispatch.pyx."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport GPUKERN_CUDA, gpukern_device, gpukern_tensor
from gpukern._elementwise.loop_plan cimport overlap, same_elements
from gpukern._interop.operand cimport Operand
from gpukern._interop.own cimport is_own

cnp.import_array()


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
        if overlap(out, &operands[k].c) and not same_elements(out, &operands[k].c):
            return False
    return True
