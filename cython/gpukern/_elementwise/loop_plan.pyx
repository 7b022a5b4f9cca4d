# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, cdivision=True
"""Broadcasting, coalesced loop nests, and the access pattern of the kernel that walks them."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcmp, memcpy, memset

from gpukern._capi cimport gpukern_tensor
from gpukern._interop.argument cimport shape_of

from gpukern.errors import GpukernValueError

cdef enum:
    LINE_BYTES = 128  # packs begin with a cache line of the output, if an item does


cdef void add_bytes(int64_t *total, int64_t count, int bits) noexcept nogil:
    """Adds the bytes of elements to a total, which stays below 2**63."""
    total[0] += min(count, (INT64_MAX - total[0]) // (bits // 8)) * (bits // 8)


cdef int64_t item_bytes(const gpukern_tensor *tensor) noexcept nogil:
    return tensor.dtype.bits // 8


# ---- shapes ----

cdef bint broadcast_all(Broadcast *shape, const gpukern_tensor *const *tensors,
                        int count) noexcept nogil:
    """Broadcasts the shapes of arrays; returns False if they do not match."""
    cdef int d, k
    shape.ndim = 0
    for k in range(count):
        if not broadcast(shape, tensors[k]):
            return False
    shape.count = 1
    for d in range(shape.ndim):
        shape.count = wrapping_product(shape.count, shape.sizes[d])
    shape.alike = shape.ndim > 0
    shape.contiguous = True
    for k in range(count):
        shape.alike = shape.alike and has_shape(tensors[k], shape)
        shape.contiguous &= tensors[k].strides == NULL or tensors[k].ndim == 1
    shape.contiguous &= shape.alike
    return True


cdef bint broadcast(Broadcast *shape, const gpukern_tensor *tensor) noexcept nogil:
    """Broadcasts a shape by that of one more array."""
    cdef int d, more = tensor.ndim - shape.ndim
    cdef int64_t *aligned
    if more > 0:
        for d in range(shape.ndim - 1, -1, -1):
            shape.sizes[d + more] = shape.sizes[d]
        for d in range(more):
            shape.sizes[d] = 1
        shape.ndim = tensor.ndim
    aligned = shape.sizes + (shape.ndim - tensor.ndim)
    for d in range(tensor.ndim):
        if aligned[d] == 1:
            aligned[d] = tensor.shape[d]
        elif tensor.shape[d] != 1 and tensor.shape[d] != aligned[d]:
            return False
    return True


cdef bint has_shape(const gpukern_tensor *tensor, const Broadcast *shape) noexcept nogil:
    cdef int d
    if tensor.ndim != shape.ndim:
        return False
    for d in range(tensor.ndim):
        if tensor.shape[d] != shape.sizes[d]:
            return False
    return True


cdef tuple sizes_of(const Broadcast *shape):
    """A shape as a tuple."""
    return tuple([shape.sizes[d] for d in range(shape.ndim)])


cdef int require_output(str function, const gpukern_tensor *out, const Broadcast *shape) except -1:
    """Refuses an output of another shape, or whose elements share memory, as gather and saxpy
    do."""
    cdef int d
    if not has_shape(out, shape):
        raise GpukernValueError(
            f"{function}: out must have shape {sizes_of(shape)}, got {shape_of(out)}")
    for d in range(out.ndim):
        if out.strides != NULL and out.strides[d] == 0 and out.shape[d] > 1 and shape.count > 0:
            raise GpukernValueError(f"{function}: out must not have overlapping elements, "
                                    f"got stride 0 in dimension {d}")
    return 0


# ---- loop nests ----

cdef void begin_nest(LoopNest *nest, int operands, int ndim, const int64_t *shape) noexcept nogil:
    """A nest over all dimensions of the output."""
    cdef int d
    nest.operands = operands
    nest.rank = ndim
    nest.count = 1
    for d in range(ndim):
        nest.extent[d] = shape[d]
        nest.count = wrapping_product(nest.count, shape[d])


cdef void fill_tensor(LoopNest *nest, int k, const gpukern_tensor *tensor) noexcept nogil:
    """Describes a tensor that broadcasts to the nest."""
    cdef uintptr_t address = <uintptr_t>tensor.data + tensor.byte_offset
    fill_operand(nest, k, <char *>address, item_bytes(tensor), tensor.ndim,
                 tensor.shape, tensor.strides, item_bytes(tensor))


cdef void fill_operand(LoopNest *nest, int k, char *address, int64_t item, int ndim,
                       const int64_t *shape, const int64_t *strides, int64_t unit) noexcept nogil:
    """Describes an operand by its strides, which count units of bytes; NULL for C order."""
    cdef int64_t *stride = nest.stride[k] + (nest.rank - ndim)
    cdef int64_t contiguous = item
    cdef int d
    nest.address[k] = address
    nest.item[k] = item
    for d in range(nest.rank - ndim):
        nest.stride[k][d] = 0
    for d in range(ndim - 1, -1, -1):
        # Where there are no elements, or one, a stride may be any number: the product may wrap.
        stride[d] = contiguous if strides == NULL else wrapping_product(strides[d], unit)
        if shape[d] == 1:
            stride[d] = 0
        contiguous = wrapping_product(contiguous, shape[d])


cdef inline int64_t wrapping_product(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a * <uint64_t>b)


cdef void coalesce(LoopNest *nest) noexcept nogil:
    """Orders the dimensions by falling strides of the output, and merges neighbours that every
    operand crosses with one stride. At least one dimension is left."""
    cdef int d, k, rank = 0, inner
    for d in range(nest.rank):
        if nest.extent[d] == 1:
            continue
        move(nest, d, rank)
        inner = rank
        while inner > 0 and output_stride(nest, inner - 1) < output_stride(nest, inner):
            swap(nest, inner - 1, inner)
            inner -= 1
        rank += 1
    nest.rank, rank = rank, 0
    for d in range(1, nest.rank):
        if is_mergeable(nest, rank, d):
            nest.extent[d] = wrapping_product(nest.extent[d], nest.extent[rank])
        else:
            rank += 1
        move(nest, d, rank)
    if nest.rank == 0:
        nest.extent[0] = 1
        for k in range(nest.operands):
            nest.stride[k][0] = nest.item[k]
    nest.rank = rank + 1


cdef uint64_t output_stride(const LoopNest *nest, int d) noexcept nogil:
    cdef int64_t stride = nest.stride[0][d]
    return 0 - <uint64_t>stride if stride < 0 else <uint64_t>stride


cdef void move(LoopNest *nest, int source, int target) noexcept nogil:
    cdef int k
    nest.extent[target] = nest.extent[source]
    for k in range(nest.operands):
        nest.stride[k][target] = nest.stride[k][source]


cdef void swap(LoopNest *nest, int a, int b) noexcept nogil:
    cdef int k
    nest.extent[a], nest.extent[b] = nest.extent[b], nest.extent[a]
    for k in range(nest.operands):
        nest.stride[k][a], nest.stride[k][b] = nest.stride[k][b], nest.stride[k][a]


cdef bint is_mergeable(const LoopNest *nest, int outer, int inner) noexcept nogil:
    cdef int k
    for k in range(nest.operands):
        if nest.stride[k][outer] != wrapping_product(nest.stride[k][inner], nest.extent[inner]):
            return False
    return True


# ---- memory that the output shares ----

cdef bint overwrites(const gpukern_tensor *const *tensors, int count) noexcept nogil:
    """Whether the output, tensors[0], would overwrite elements of another tensor that are still to
    be read."""
    cdef LoopNest nest
    cdef int k
    begin_nest(&nest, count, tensors[0].ndim, tensors[0].shape)
    fill_tensor(&nest, 0, tensors[0])
    for k in range(1, count):
        fill_tensor(&nest, k, tensors[k])
        if overlaps(&nest, k) and not is_same_memory(&nest, k):
            return True
    return False


cdef bint is_same_memory(const LoopNest *nest, int k) noexcept nogil:
    """Whether an operand is the memory of the output, element by element."""
    return (nest.address[k] == nest.address[0] and nest.item[k] == nest.item[0]
            and memcmp(nest.stride[k], nest.stride[0], nest.rank * sizeof(int64_t)) == 0)


cdef bint overlaps(const LoopNest *nest, int k) noexcept nogil:
    """Whether any byte may belong to an operand and the output, by their extents in memory."""
    cdef char *first[2]
    cdef char *last[2]
    if nest.count == 0:
        return False
    reach(nest, 0, &first[0], &last[0])
    reach(nest, k, &first[1], &last[1])
    return first[0] < last[1] and first[1] < last[0]


cdef void reach(const LoopNest *nest, int k, char **first, char **last) noexcept nogil:
    """Where the elements of an operand begin and end."""
    cdef int d
    cdef int64_t extent
    first[0] = nest.address[k]
    last[0] = first[0] + nest.item[k]
    for d in range(nest.rank):
        extent = (nest.extent[d] - 1) * nest.stride[k][d]
        if extent > 0:
            last[0] += extent
        else:
            first[0] += extent


# ---- plans of kernels ----

cdef void plan_loop(LoopPlan *plan, const gpukern_tensor *const *tensors, int operands, int items,
                    int32_t device) noexcept nogil:
    """Plans the loop over the shape of the output, tensors[0], to which all others broadcast.

    A thread takes `items` elements. An empty output gives no blocks.
    """
    cdef LoopNest *nest = &plan.nest
    cdef int k
    memset(&plan.key, 0, sizeof(plan.key))
    plan.key.device = device
    begin_nest(nest, operands, tensors[0].ndim, tensors[0].shape)
    for k in range(operands):
        fill_tensor(nest, k, tensors[k])
    coalesce(nest)
    plan.key.rank = <char>nest.rank
    if nest.count == 0:
        plan.key.pattern = CONTIGUOUS
        plan.blocks = 0
    elif not (nest.rank == 1 and plan_contiguous(plan, items)) and not plan_rows(plan, items):
        plan_strided(plan, items)


cdef bint set_flags(LoopPlan *plan) noexcept nogil:
    """The access of each operand in the innermost dimension; False for any other stride."""
    cdef int k, inner = plan.nest.rank - 1
    for k in range(plan.nest.operands):
        if plan.nest.stride[k][inner] == plan.nest.item[k]:
            plan.key.flags[k] = c"v"
        elif plan.nest.stride[k][inner] == 0 and k > 0:
            plan.key.flags[k] = c"s"
        else:
            return False
    return True


cdef int64_t alignment(const LoopPlan *plan, int k, int items) noexcept nogil:
    """What an address must be a multiple of; the parts of complex numbers are read apart."""
    if plan.key.flags[k] == c"v":
        return plan.nest.item[k] * items
    return min(plan.nest.item[k], 8)


cdef bint plan_contiguous(LoopPlan *plan, int items) noexcept nogil:
    cdef int k
    cdef int64_t head = 0, misfit = <int64_t>(-<uintptr_t>plan.nest.address[0] % LINE_BYTES)
    cdef int64_t address
    if not set_flags(plan):
        return False
    if misfit % plan.nest.item[0] == 0:
        head = min(misfit // plan.nest.item[0], plan.nest.count)
    for k in range(plan.nest.operands):
        address = <int64_t>(<uintptr_t>plan.nest.address[k])
        if plan.key.flags[k] == c"v":
            address += head * plan.nest.item[k]
        # Where there is no pack, items are all that has to be aligned.
        if address % alignment(plan, k, items if plan.nest.count - head >= items else 1) != 0:
            return False
    plan.key.pattern = CONTIGUOUS
    cdef int64_t packs = (plan.nest.count - head) // items
    cdef int64_t edges = plan.nest.count - packs * items
    cdef int32_t *edge_words = <int32_t *>&plan.words[1]
    plan.blocks = (packs + edges + BLOCK_THREADS - 1) // BLOCK_THREADS
    plan.words[0] = packs
    edge_words[0] = <int32_t>head
    edge_words[1] = <int32_t>edges
    memcpy(&plan.words[2], plan.nest.address, plan.nest.operands * sizeof(char *))
    plan.bytes = (2 + plan.nest.operands) * sizeof(int64_t)
    return True


cdef bint plan_rows(LoopPlan *plan, int items) noexcept nogil:
    cdef int d, k, inner = plan.nest.rank - 1
    cdef int64_t fit
    if plan.nest.extent[inner] % items != 0 or not set_flags(plan):
        return False
    for k in range(plan.nest.operands):
        fit = alignment(plan, k, items)
        if <int64_t>(<uintptr_t>plan.nest.address[k]) % fit != 0:
            return False
        for d in range(inner):
            if plan.nest.stride[k][d] % fit != 0:
                return False
    plan.key.pattern = ROWS
    plan.nest.extent[inner] //= items
    plan.nest.count //= items
    for k in range(plan.nest.operands):
        plan.nest.stride[k][inner] *= items
    finish_nest(plan, 1)
    return True


cdef void plan_strided(LoopPlan *plan, int items) noexcept nogil:
    cdef int d, k
    cdef int64_t bits
    plan.key.pattern = STRIDED
    for k in range(plan.nest.operands):
        plan.key.flags[k] = c"g"
        bits = <int64_t>(<uintptr_t>plan.nest.address[k])
        for d in range(plan.nest.rank):
            bits |= plan.nest.stride[k][d]
        if bits % min(plan.nest.item[k], 8) != 0:
            plan.key.pattern = UNALIGNED
    finish_nest(plan, min(items, <int>MAX_ITEMS))


cdef void finish_nest(LoopPlan *plan, int items) noexcept nogil:
    """Writes the Nest of elementwise_memory.cuh."""
    cdef const LoopNest *nest = &plan.nest
    cdef int d, k
    cdef int64_t threads = (nest.count + items - 1) // items
    cdef int64_t *word = &plan.words[1 + nest.operands]
    cdef uint32_t *magic
    plan.blocks = (threads + BLOCK_THREADS - 1) // BLOCK_THREADS
    # Where a thread behind the end does not overflow either.
    plan.key.wide = nest.count >= (<int64_t>1 << 31) - BLOCK_THREADS * items
    plan.words[0] = nest.count
    memcpy(&plan.words[1], nest.address, nest.operands * sizeof(char *))
    memcpy(word, nest.extent, nest.rank * sizeof(int64_t))
    for k in range(nest.operands):
        word += nest.rank
        memcpy(word, nest.stride[k], nest.rank * sizeof(int64_t))
    magic = <uint32_t *>(word + nest.rank)
    for d in range(nest.rank):
        set_divisor(nest.extent[d], magic + d, magic + nest.rank + d)
    plan.bytes = <size_t>(<char *>(magic + 2 * nest.rank) - <char *>plan.words)


cdef void set_divisor(int64_t extent, uint32_t *magic, uint32_t *shift) noexcept nogil:
    """The numbers by which a kernel divides by an extent below 2^31; others it divides plainly."""
    cdef uint64_t divisor = <uint64_t>extent
    magic[0] = shift[0] = 0
    if extent >= <int64_t>1 << 31:
        return
    while (<uint64_t>1 << shift[0]) < divisor:
        shift[0] += 1
    magic[0] = <uint32_t>(((((<uint64_t>1 << shift[0]) - divisor) << 32) // divisor) + 1)
