# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The loop of an element-wise call over its operands, as the kernels of cuda_codegen.py take it."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from gpukern._capi cimport GPUKERN_MAX_NDIM, gpukern_tensor

cdef enum:
    MAX_OPERANDS = 33  # _expression.MAX_INPUTS and the output
    MAX_RANK = 64
    BLOCK_THREADS = 128
    MOST_ITEMS = 8     # of cuda_codegen.py
    # The words of a Nest of elementwise_memory.cuh, at most.
    MAX_WORDS = 1 + MAX_OPERANDS + MAX_RANK + MAX_OPERANDS * MAX_RANK + MAX_RANK

cdef enum Kind:
    PACKS
    ROWS
    ITEMS
    BYTES

# Operand 0 is the output. Strides and items in bytes; the innermost dimension is the last one.
cdef struct Plan:
    Kind kind
    bint wide
    int operands
    int rank
    int64_t count
    int64_t blocks
    char flags[MAX_OPERANDS]  # 'v' along the pack, 's' the same item for all of it
    char *address[MAX_OPERANDS]
    int64_t item[MAX_OPERANDS]
    int64_t extent[MAX_RANK]
    int64_t stride[MAX_OPERANDS][MAX_RANK]
    int64_t words[MAX_WORDS]  # the kernel's argument
    size_t bytes

cdef bint broadcast(const gpukern_tensor *tensor, int *ndim, int64_t *shape) noexcept nogil
cdef void plan_loop(Plan *plan, const gpukern_tensor *const *tensors, int operands,
                    int items) noexcept nogil
cdef bint overlap(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
cdef bint same_place(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil
