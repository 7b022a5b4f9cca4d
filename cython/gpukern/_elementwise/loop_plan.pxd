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

# The shape of a result.
cdef struct Broadcast:
    int ndim
    bint alike       # there are arrays, all of one shape, which has dimensions
    bint contiguous  # and NumPy's results are C-contiguous, whichever step computes them
    int64_t count
    int64_t sizes[MAX_RANK]

cdef bint broadcast_all(Broadcast *shape, const gpukern_tensor *const *tensors,
                        int count) noexcept nogil
cdef int refuse_shapes(str function, list shapes) except -1
cdef int require_output(str function, const gpukern_tensor *out, const Broadcast *shape) except -1
cdef void plan_loop(LoopPlan *plan, const gpukern_tensor *const *tensors, int operands,
                    int items) noexcept nogil
cdef tuple coalesced_views(list arguments, cnp.ndarray out)
cdef bint overlap(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
cdef bint same_elements(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
cdef int64_t bytes_of(const gpukern_tensor *tensor) noexcept nogil
cdef object ndarray_at(const gpukern_tensor *tensor, object dtype, bint writeable, object owner)
