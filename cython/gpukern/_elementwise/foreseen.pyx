# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What element-wise calls would do where gpukern_pipeline_run() is not asked, for explain()."""

from libc.stdint cimport int64_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_PATH_CONTIGUOUS, GPUKERN_PATH_NONE, GPUKERN_PATH_STRIDED,
    GPUKERN_RULE_ARGUMENT, GPUKERN_RULE_ARRAYS, GPUKERN_RULE_ENVIRONMENT, GPUKERN_RULE_HOST,
    GPUKERN_RULE_NO_GPU, gpukern_exec, gpukern_explanation, gpukern_tensor,
)
from gpukern._elementwise.specialization cimport Signature
from gpukern._elementwise.loop_plan cimport CONTIGUOUS, ROWS, LoopPlan, plan_loop
from gpukern._runtime.default_device cimport WISH_CUDA, WISH_NONE, Wish, wished_device

import math

import numpy as np


cdef int foresee_on_gpu(const gpukern_exec *exec_, Signature signature,
                        const gpukern_tensor *const *operands, int count) except -1:
    """Fills in the plan of a call on arrays of a GPU, operands[0] being the output."""
    cdef gpukern_explanation *plan = exec_.explanation
    cdef LoopPlan loop
    cdef int d, k
    cdef int64_t size
    plan_loop(&loop, operands, count, signature.items)
    plan.device = operands[0].device
    plan.rule = GPUKERN_RULE_ARRAYS
    if loop.blocks > 0:
        wide = loop.pattern in (CONTIGUOUS, ROWS)
        plan.path = GPUKERN_PATH_CONTIGUOUS if wide else GPUKERN_PATH_STRIDED
    for k in range(count):
        size = operands[k].dtype.bits // 8
        for d in range(operands[k].ndim):
            size *= operands[k].shape[d]
        if k == 0:
            plan.bytes_written += size
        else:
            plan.bytes_read += size
    return 0


cdef int foresee_on_cpu(const gpukern_exec *exec_, Signature signature, list views,
                        object shape) except -1:
    """Fills in the plan of a call that NumPy computes, from its ndarrays and numbers."""
    cdef gpukern_explanation *plan = exec_.explanation
    cdef Wish wish = wished_device()
    host = signature.host_function()
    arrays = [view for view in views if isinstance(view, np.ndarray)]
    count = math.prod(shape)
    plan.device.device_type = GPUKERN_CPU
    if exec_.device.device_type == GPUKERN_CPU:
        plan.rule = GPUKERN_RULE_ARGUMENT
    elif wish == WISH_NONE:
        plan.rule = GPUKERN_RULE_HOST
    else:
        plan.rule = GPUKERN_RULE_NO_GPU if wish == WISH_CUDA else GPUKERN_RULE_ENVIRONMENT
    plan.path = GPUKERN_PATH_NONE
    if count > 0:
        gapless = all([array.flags.c_contiguous for array in arrays])
        plan.path = GPUKERN_PATH_CONTIGUOUS if gapless else GPUKERN_PATH_STRIDED
    plan.threads = host.threads(count)
    plan.bytes_read += sum([array.nbytes for array in arrays])
    plan.bytes_written += count * (signature.out_dtype.bits // 8)
    return 0
