# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Loop nests over the operands of an element-wise call, and how a kernel walks them."""

from libc.stdint cimport int32_t, int64_t

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

# What a kernel is compiled for, besides the types of its arguments; compared as bytes.
cdef struct KernelKey:
    int32_t device
    char pattern              # a Pattern
    char wide                 # positions need 64 bits
    char rank
    char flags[MAX_OPERANDS]  # 'v' one item for each element, 's' the same item for all

cdef struct LoopPlan:
    LoopNest nest
    KernelKey key
    int64_t blocks
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
cdef tuple sizes_of(const Broadcast *shape)
cdef int require_output(str function, const gpukern_tensor *out, const Broadcast *shape) except -1
cdef void plan_loop(LoopPlan *plan, const gpukern_tensor *const *tensors, int operands, int items,
                    int32_t device) noexcept nogil
cdef void begin_nest(LoopNest *nest, int operands, int ndim, const int64_t *shape) noexcept nogil
cdef void fill_tensor(LoopNest *nest, int k, const gpukern_tensor *tensor) noexcept nogil
cdef void fill_operand(LoopNest *nest, int k, char *address, int64_t item, int ndim,
                       const int64_t *shape, const int64_t *strides, int64_t unit) noexcept nogil
cdef void coalesce(LoopNest *nest) noexcept nogil
cdef bint overwrites(const gpukern_tensor *const *tensors, int count) noexcept nogil
cdef bint is_same_memory(const LoopNest *nest, int k) noexcept nogil
cdef bint overlaps(const LoopNest *nest, int k) noexcept nogil
cdef void add_bytes(int64_t *total, int64_t count, int bits) noexcept nogil
