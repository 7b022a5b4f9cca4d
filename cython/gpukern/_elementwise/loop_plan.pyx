# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, cdivision=True
"""From operands to a loop: broadcasting, merged dimensions, and which kernel can walk them."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t

from gpukern._capi cimport gpukern_tensor

cdef enum:
    LINE_BYTES = 128  # packs begin with a cache line of the output, if an item does


cdef int64_t item_bytes(const gpukern_tensor *tensor) noexcept nogil:
    return tensor.dtype.bits // 8


cdef char *address_of(const gpukern_tensor *tensor) noexcept nogil:
    return <char *>tensor.data + tensor.byte_offset


cdef bint broadcast(const gpukern_tensor *tensor, int *ndim, int64_t *shape) noexcept nogil:
    """Widens a shape (right-aligned in no more than MAX_RANK sizes) by a tensor's; False if the
    two do not go together."""
    cdef int d, more = tensor.ndim - ndim[0]
    cdef int64_t size
    if more > 0:
        for d in range(ndim[0] - 1, -1, -1):
            shape[d + more] = shape[d]
        for d in range(more):
            shape[d] = 1
        ndim[0] = tensor.ndim
    for d in range(tensor.ndim):
        size = tensor.shape[d]
        more = ndim[0] - tensor.ndim + d
        if shape[more] == 1:
            shape[more] = size
        elif size != 1 and size != shape[more]:
            return False
    return True


cdef void plan_loop(Plan *plan, const gpukern_tensor *const *tensors, int operands,
                    int items) noexcept nogil:
    """Plans the loop over the shape of the output, tensors[0], to which all others broadcast.

    A thread takes `items` elements. An empty output gives no blocks.
    """
    cdef int k
    plan.operands = operands
    plan.wide = False
    for k in range(operands):
        plan.address[k] = address_of(tensors[k])
        plan.item[k] = item_bytes(tensors[k])
    if not fill_contiguous(plan, tensors):
        fill_nest(plan, tensors)
        merge(plan)
    if plan.count == 0:
        plan.kind = PACKS
        plan.blocks = 0
        return
    if plan.rank == 1 and plan_packs(plan, items):
        return
    if not plan_rows(plan, items):
        plan_items(plan, items)


cdef bint fill_contiguous(Plan *plan, const gpukern_tensor *const *tensors) noexcept nogil:
    """The loop of contiguous operands of one shape, the quickest to describe; else False."""
    cdef int d, k
    cdef const gpukern_tensor *out = tensors[0]
    cdef int64_t stride
    plan.count = 1
    for d in range(out.ndim):
        plan.count *= out.shape[d]
    for k in range(plan.operands):
        if tensors[k].ndim != out.ndim:
            return False
        stride = 1
        for d in range(out.ndim - 1, -1, -1):
            if tensors[k].shape[d] != out.shape[d]:
                return False
            if tensors[k].strides != NULL and tensors[k].strides[d] != stride:
                return False
            stride *= out.shape[d]
        plan.stride[k][0] = plan.item[k]
    plan.rank = 1
    plan.extent[0] = plan.count
    return True


cdef void fill_nest(Plan *plan, const gpukern_tensor *const *tensors) noexcept nogil:
    """The loop over all dimensions of the output, without those of size 1."""
    cdef const gpukern_tensor *out = tensors[0]
    cdef int d, k, own
    cdef int64_t stride
    for k in range(plan.operands):
        stride = 1
        plan.rank = out.ndim
        for d in range(out.ndim - 1, -1, -1):
            own = d - (out.ndim - tensors[k].ndim)
            plan.stride[k][d] = 0
            if own < 0:
                continue
            if tensors[k].shape[own] != 1:
                if tensors[k].strides != NULL:
                    plan.stride[k][d] = tensors[k].strides[own] * plan.item[k]
                else:
                    plan.stride[k][d] = stride * plan.item[k]
            stride *= tensors[k].shape[own]
    for d in range(out.ndim):
        plan.extent[d] = out.shape[d]


cdef void merge(Plan *plan) noexcept nogil:
    """Orders the dimensions by falling steps of the output and merges neighbours that one step of
    every operand crosses evenly. At least one dimension is left."""
    cdef int d, k, kept = 0, place
    for d in range(plan.rank):
        if plan.extent[d] == 1:
            continue
        move(plan, d, kept)
        place = kept
        while place > 0 and step(plan, place - 1) < step(plan, place):
            swap(plan, place - 1, place)
            place -= 1
        kept += 1
    plan.rank, kept = kept, 0
    for d in range(1, plan.rank):
        if mergeable(plan, kept, d):
            plan.extent[d] *= plan.extent[kept]
        else:
            kept += 1
        move(plan, d, kept)
    if plan.rank == 0:
        plan.extent[0] = 1
        for k in range(plan.operands):
            plan.stride[k][0] = plan.item[k]
    plan.rank = kept + 1


cdef int64_t step(const Plan *plan, int d) noexcept nogil:
    cdef int64_t stride = plan.stride[0][d]
    return -stride if stride < 0 else stride


cdef void move(Plan *plan, int source, int target) noexcept nogil:
    cdef int k
    plan.extent[target] = plan.extent[source]
    for k in range(plan.operands):
        plan.stride[k][target] = plan.stride[k][source]


cdef void swap(Plan *plan, int a, int b) noexcept nogil:
    cdef int k
    plan.extent[a], plan.extent[b] = plan.extent[b], plan.extent[a]
    for k in range(plan.operands):
        plan.stride[k][a], plan.stride[k][b] = plan.stride[k][b], plan.stride[k][a]


cdef bint mergeable(const Plan *plan, int outer, int inner) noexcept nogil:
    cdef int k
    for k in range(plan.operands):
        if plan.stride[k][outer] != plan.stride[k][inner] * plan.extent[inner]:
            return False
    return True


cdef bint set_flags(Plan *plan) noexcept nogil:
    """How the operands lie in the innermost dimension; False if some lies in another way."""
    cdef int k, inner = plan.rank - 1
    for k in range(plan.operands):
        if plan.stride[k][inner] == plan.item[k]:
            plan.flags[k] = c"v"
        elif plan.stride[k][inner] == 0 and k > 0:
            plan.flags[k] = c"s"
        else:
            return False
    return True


cdef int64_t alignment(const Plan *plan, int k, int items) noexcept nogil:
    """What an address must be a multiple of; the parts of complex numbers are read apart."""
    if plan.flags[k] == c"v":
        return plan.item[k] * items
    return min(plan.item[k], 8)


cdef bint plan_packs(Plan *plan, int items) noexcept nogil:
    cdef int k
    cdef int64_t head = 0, misfit = <int64_t>(-<uintptr_t>plan.address[0] % LINE_BYTES)
    cdef int64_t place
    if not set_flags(plan):
        return False
    if misfit % plan.item[0] == 0:
        head = min(misfit // plan.item[0], plan.count)
    for k in range(plan.operands):
        place = <int64_t>(<uintptr_t>plan.address[k])
        if plan.flags[k] == c"v":
            place += head * plan.item[k]
        # Where there is no pack, items are all that has to be aligned.
        if place % alignment(plan, k, items if plan.count - head >= items else 1) != 0:
            return False
    plan.kind = PACKS
    cdef int64_t packs = (plan.count - head) // items
    cdef int64_t edges = plan.count - packs * items
    cdef int32_t *edge_words = <int32_t *>&plan.words[1]
    plan.blocks = (packs + edges + BLOCK_THREADS - 1) // BLOCK_THREADS
    plan.words[0] = packs
    edge_words[0] = <int32_t>head
    edge_words[1] = <int32_t>edges
    for k in range(plan.operands):
        plan.words[2 + k] = <int64_t>(<uintptr_t>plan.address[k])
    plan.bytes = 8 * (2 + plan.operands)
    return True


cdef bint plan_rows(Plan *plan, int items) noexcept nogil:
    cdef int d, k, inner = plan.rank - 1
    cdef int64_t fit
    if plan.extent[inner] % items != 0 or not set_flags(plan):
        return False
    for k in range(plan.operands):
        fit = alignment(plan, k, items)
        if <int64_t>(<uintptr_t>plan.address[k]) % fit != 0:
            return False
        for d in range(inner):
            if plan.stride[k][d] % fit != 0:
                return False
    plan.kind = ROWS
    plan.extent[inner] //= items
    plan.count //= items
    for k in range(plan.operands):
        plan.stride[k][inner] *= items
    finish_nest(plan, 1)
    return True


cdef void plan_items(Plan *plan, int items) noexcept nogil:
    cdef int d, k
    cdef int64_t bits
    plan.kind = ITEMS
    for k in range(plan.operands):
        plan.flags[k] = c"g"
        bits = <int64_t>(<uintptr_t>plan.address[k])
        for d in range(plan.rank):
            bits |= plan.stride[k][d]
        if bits % min(plan.item[k], 8) != 0:
            plan.kind = BYTES
    finish_nest(plan, min(items, <int>MOST_ITEMS))


cdef void finish_nest(Plan *plan, int items) noexcept nogil:
    """Writes the Nest of elementwise_memory.cuh."""
    cdef int d, k
    cdef int64_t *word = plan.words
    cdef uint32_t *magic
    cdef uint32_t *shift
    cdef int64_t threads = (plan.count + items - 1) // items
    plan.blocks = (threads + BLOCK_THREADS - 1) // BLOCK_THREADS
    # Where a thread behind the end does not overflow either.
    plan.wide = plan.count >= (<int64_t>1 << 31) - BLOCK_THREADS * items
    word[0] = plan.count
    word += 1
    for k in range(plan.operands):
        word[k] = <int64_t>(<uintptr_t>plan.address[k])
    word += plan.operands
    for d in range(plan.rank):
        word[d] = plan.extent[d]
    word += plan.rank
    for k in range(plan.operands):
        for d in range(plan.rank):
            word[d] = plan.stride[k][d]
        word += plan.rank
    magic = <uint32_t *>word
    shift = magic + plan.rank
    for d in range(plan.rank):
        set_divisor(plan.extent[d], magic + d, shift + d)
    plan.bytes = <size_t>(<char *>(shift + plan.rank) - <char *>plan.words)


cdef void set_divisor(int64_t extent, uint32_t *magic, uint32_t *shift) noexcept nogil:
    """The numbers by which a kernel divides by an extent below 2^31; others it divides plainly."""
    cdef uint64_t divisor = <uint64_t>extent
    magic[0] = shift[0] = 0
    if extent >= <int64_t>1 << 31:
        return
    while (<uint64_t>1 << shift[0]) < divisor:
        shift[0] += 1
    magic[0] = <uint32_t>(((((<uint64_t>1 << shift[0]) - divisor) << 32) // divisor) + 1)


cdef bint overlap(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil:
    """Whether any byte may belong to both, by their extents in memory."""
    cdef char *first[2]
    cdef char *last[2]
    if not reach(a, &first[0], &last[0]) or not reach(b, &first[1], &last[1]):
        return False
    return first[0] < last[1] and first[1] < last[0]


cdef bint reach(const gpukern_tensor *tensor, char **first, char **last) noexcept nogil:
    """Where the elements begin and end; False if there are none."""
    cdef int d
    cdef int64_t item = item_bytes(tensor), stride = 1, extent
    first[0] = address_of(tensor)
    last[0] = first[0] + item
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] == 0:
            return False
        extent = (tensor.shape[d] - 1) * item
        extent *= stride if tensor.strides == NULL else tensor.strides[d]
        if extent > 0:
            last[0] += extent
        else:
            first[0] += extent
        stride *= tensor.shape[d]
    return True


cdef bint same_place(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil:
    """Whether both have the same elements at the same places."""
    cdef int d
    cdef int64_t stride = 1
    if address_of(a) != address_of(b) or a.ndim != b.ndim or a.dtype.bits != b.dtype.bits:
        return False
    for d in range(a.ndim - 1, -1, -1):
        if a.shape[d] != b.shape[d]:
            return False
        if a.shape[d] != 1 and (stride if a.strides == NULL else a.strides[d]) != (
                stride if b.strides == NULL else b.strides[d]):
            return False
        stride *= a.shape[d]
    return True
