# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Loop nests over the operands of an element-wise call, and how a kernel walks them."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor

cdef enum:
    MAX_OPERANDS = 33  # graph.MAX_INPUTS and the output
    MAX_RANK = 64
    BLOCK_THREADS = 128
    MAX_ITEMS = 8      # of cuda_codegen.py
    # The words of a Nest of elementwise_memory.cuh, at most.
    MAX_WORDS = 1 + MAX_OPERANDS + MAX_RANK + MAX_OPERANDS * MAX_RANK + MAX_RANK

# How a kernel accesses its operands, see cuda_codegen.Access.
cdef enum Pattern:
    CONTIGUOUS
    ROWS
    STRIDED
    UNALIGNED

# Operand 0 is the output. Strides and items in bytes; the innermost dimension is the last one.
cdef struct LoopNest:
    int operands
    int rank
    int64_t count
    char *address[MAX_OPERANDS]
    int64_t item[MAX_OPERANDS]
    int64_t extent[MAX_RANK]
    int64_t stride[MAX_OPERANDS][MAX_RANK]

cdef struct LoopPlan:
    LoopNest nest
    Pattern pattern
    bint wide
    int64_t blocks
    char flags[MAX_OPERANDS]  # 'v' one item for each element, 's' the same item for all
    int64_t words[MAX_WORDS]  # the kernel's argument
    size_t bytes

cdef bint broadcast(int ndim, const int64_t *sizes, int *result_ndim,
                    int64_t *result) noexcept nogil
cdef void plan_loop(LoopPlan *plan, const gpukern_tensor *const *tensors, int operands,
                    int items) noexcept nogil
cdef int require_output(str function, int ndim, const int64_t *shape, const int64_t *strides,
                        int wanted_ndim, const int64_t *wanted) except -1
cdef int refuse_shapes(str function, object arrays) except -1
cdef tuple coalesced_views(list arguments, cnp.ndarray out)
cdef bint overlap(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
cdef bint same_elements(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
