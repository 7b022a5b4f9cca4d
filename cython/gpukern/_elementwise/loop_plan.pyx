# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True, cdivision=True
"""Broadcasting, coalesced loop nests, and the access pattern of the kernel that walks them."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF, PyObject, PyTypeObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t

from gpukern._capi cimport gpukern_tensor

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference
    # Steals the reference to the dtype, which numpy's own .pxd leaves to the caller.
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype dtype, int ndim,
                                     const cnp.npy_intp *shape, const cnp.npy_intp *strides,
                                     void *data, int flags, PyObject *like)

cnp.import_array()

from gpukern.errors import GpukernValueError

cdef enum:
    LINE_BYTES = 128  # packs begin with a cache line of the output, if an item does


cdef int64_t bytes_of(const gpukern_tensor *tensor) noexcept nogil:
    """The bytes of all elements."""
    cdef int64_t size = item_bytes(tensor)
    cdef int d
    for d in range(tensor.ndim):
        size *= tensor.shape[d]
    return size


cdef int64_t item_bytes(const gpukern_tensor *tensor) noexcept nogil:
    return tensor.dtype.bits // 8


cdef char *address_of(const gpukern_tensor *tensor) noexcept nogil:
    return <char *>tensor.data + tensor.byte_offset


# ---- shapes ----

cdef bint broadcast_all(Broadcast *shape, const gpukern_tensor *const *tensors,
                        int count) noexcept nogil:
    """Broadcasts the shapes of arrays; returns False if they do not match."""
    cdef int d, k
    cdef bint contiguous = True
    shape.ndim = 0
    shape.alike = count > 0
    shape.count = 1
    for k in range(count):
        contiguous &= tensors[k].strides == NULL or tensors[k].ndim == 1
        if k > 0 and tensors[k].ndim != shape.ndim:
            shape.alike = False
        if not broadcast(shape, tensors[k], k == 0):
            return False
    for d in range(shape.ndim):
        shape.count *= shape.sizes[d]
    shape.alike &= shape.ndim > 0
    shape.contiguous = shape.alike and contiguous
    return True


cdef bint broadcast(Broadcast *shape, const gpukern_tensor *tensor, bint first) noexcept nogil:
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
        if aligned[d] == tensor.shape[d]:
            continue
        shape.alike &= first
        if aligned[d] == 1:
            aligned[d] = tensor.shape[d]
        elif tensor.shape[d] != 1:
            return False
    return True


cdef int refuse_shapes(str function, list shapes) except -1:
    """Raises the error of shapes that do not broadcast."""
    raise GpukernValueError(
        f"{function}: shapes {', '.join([str(shape) for shape in shapes])} do not broadcast")


cdef int require_output(str function, const gpukern_tensor *out, const Broadcast *shape) except -1:
    """Refuses an output of another shape, or whose elements share memory, as gather and saxpy
    do."""
    cdef int d
    cdef bint matches = out.ndim == shape.ndim
    for d in range(out.ndim):
        matches = matches and out.shape[d] == shape.sizes[d]
    if not matches:
        raise GpukernValueError(
            f"{function}: out must have shape {sizes_of(shape.ndim, shape.sizes)}, "
            f"got {sizes_of(out.ndim, out.shape)}")
    for d in range(out.ndim):
        if out.strides != NULL and out.strides[d] == 0 and out.shape[d] > 1 and shape.count > 0:
            raise GpukernValueError(f"{function}: out must have an own place for each element, "
                                    f"got stride 0 in dimension {d}")
    return 0


cdef tuple sizes_of(int ndim, const int64_t *sizes):
    return tuple([sizes[d] for d in range(ndim)])


# ---- loop nests ----

cdef void begin_nest(LoopNest *nest, int operands, int ndim, const int64_t *shape) noexcept nogil:
    """A nest over all dimensions of the output."""
    cdef int d
    nest.operands = operands
    nest.rank = ndim
    nest.count = 1
    for d in range(ndim):
        nest.extent[d] = shape[d]
        nest.count *= shape[d]


cdef void fill_operand(LoopNest *nest, int k, const gpukern_tensor *tensor) noexcept nogil:
    """Describes a tensor that broadcasts to the nest."""
    cdef int64_t *stride = nest.stride[k] + (nest.rank - tensor.ndim)
    cdef int64_t contiguous = item_bytes(tensor)
    cdef int d
    nest.address[k] = address_of(tensor)
    nest.item[k] = contiguous
    for d in range(nest.rank - tensor.ndim):
        nest.stride[k][d] = 0
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] == 1:
            stride[d] = 0
        else:
            stride[d] = contiguous if tensor.strides == NULL else (
                tensor.strides[d] * nest.item[k])
        contiguous *= tensor.shape[d]


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
            nest.extent[d] *= nest.extent[rank]
        else:
            rank += 1
        move(nest, d, rank)
    if nest.rank == 0:
        nest.extent[0] = 1
        for k in range(nest.operands):
            nest.stride[k][0] = nest.item[k]
    nest.rank = rank + 1


cdef int64_t output_stride(const LoopNest *nest, int d) noexcept nogil:
    cdef int64_t stride = nest.stride[0][d]
    return -stride if stride < 0 else stride


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
        if nest.stride[k][outer] != nest.stride[k][inner] * nest.extent[inner]:
            return False
    return True


# ---- ndarrays ----

cdef tuple coalesced_views(list arguments, cnp.ndarray out):
    """The arguments, which broadcast to `out`, and `out` as a coalesced nest walks them.

    Along a dimension in which it is broadcast, an argument has size 1. Numbers stay what they are.
    """
    cdef LoopNest nest
    cdef int k = 1
    cdef list arrays = [each for each in arguments if isinstance(each, cnp.ndarray)]
    begin_nest(&nest, 1 + <int>len(arrays), cnp.PyArray_NDIM(out),
               <const int64_t *>cnp.PyArray_DIMS(out))
    fill_ndarray(&nest, 0, out)
    for array in arrays:
        fill_ndarray(&nest, k, array)
        k += 1
    coalesce(&nest)
    views, k = [], 1
    for each in arguments:
        if isinstance(each, cnp.ndarray):
            each = view_of(each, &nest, k)
            k += 1
        views.append(each)
    return views, view_of(out, &nest, 0)


cdef void fill_ndarray(LoopNest *nest, int k, cnp.ndarray array) noexcept:
    cdef int d, first = nest.rank - cnp.PyArray_NDIM(array)
    nest.address[k] = cnp.PyArray_BYTES(array)
    nest.item[k] = cnp.PyArray_ITEMSIZE(array)
    for d in range(nest.rank):
        nest.stride[k][d] = 0
        if d >= first and cnp.PyArray_DIM(array, d - first) != 1:
            nest.stride[k][d] = cnp.PyArray_STRIDE(array, d - first)


cdef cnp.ndarray view_of(cnp.ndarray array, const LoopNest *nest, int k):
    cdef int64_t shape[MAX_RANK]
    cdef int d
    for d in range(nest.rank):
        shape[d] = nest.extent[d] if nest.stride[k][d] != 0 else 1
    return new_view(<cnp.dtype>PyArray_DTYPE(array), nest.rank, shape, nest.stride[k],
                    nest.address[k], cnp.PyArray_ISWRITEABLE(array), array)


cdef object ndarray_at(const gpukern_tensor *tensor, object dtype, bint writeable, object owner):
    """A host tensor as an ndarray; its memory is the owner's."""
    cdef LoopNest nest
    begin_nest(&nest, 1, tensor.ndim, tensor.shape)
    fill_operand(&nest, 0, tensor)
    return new_view(dtype, tensor.ndim, tensor.shape, nest.stride[0], nest.address[0], writeable,
                    owner)


cdef cnp.ndarray new_view(cnp.dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                          void *data, bint writeable, object owner):
    cdef cnp.ndarray view
    Py_INCREF(dtype)
    view = PyArray_NewFromDescr(
        &PyArray_Type, dtype, ndim, <const cnp.npy_intp *>shape, <const cnp.npy_intp *>strides,
        data, cnp.NPY_ARRAY_WRITEABLE if writeable else 0, NULL)
    cnp.set_array_base(view, owner)
    return view


# ---- plans of kernels ----

cdef void plan_loop(LoopPlan *plan, const gpukern_tensor *const *tensors, int operands,
                    int items) noexcept nogil:
    """Plans the loop over the shape of the output, tensors[0], to which all others broadcast.

    A thread takes `items` elements. An empty output gives no blocks.
    """
    cdef LoopNest *nest = &plan.nest
    cdef int k
    plan.wide = False
    begin_nest(nest, operands, tensors[0].ndim, tensors[0].shape)
    for k in range(operands):
        fill_operand(nest, k, tensors[k])
    coalesce(nest)
    if nest.count == 0:
        plan.pattern = CONTIGUOUS
        plan.blocks = 0
        return
    if nest.rank == 1 and plan_contiguous(plan, items):
        return
    if not plan_rows(plan, items):
        plan_strided(plan, items)


cdef bint set_flags(LoopPlan *plan) noexcept nogil:
    """The access of each operand in the innermost dimension; False for any other stride."""
    cdef int k, inner = plan.nest.rank - 1
    for k in range(plan.nest.operands):
        if plan.nest.stride[k][inner] == plan.nest.item[k]:
            plan.flags[k] = c"v"
        elif plan.nest.stride[k][inner] == 0 and k > 0:
            plan.flags[k] = c"s"
        else:
            return False
    return True


cdef int64_t alignment(const LoopPlan *plan, int k, int items) noexcept nogil:
    """What an address must be a multiple of; the parts of complex numbers are read apart."""
    if plan.flags[k] == c"v":
        return plan.nest.item[k] * items
    return min(plan.nest.item[k], 8)


cdef bint plan_contiguous(LoopPlan *plan, int items) noexcept nogil:
    cdef int k
    cdef int64_t head = 0, misfit = <int64_t>(-<uintptr_t>plan.nest.address[0] % LINE_BYTES)
    cdef int64_t place
    if not set_flags(plan):
        return False
    if misfit % plan.nest.item[0] == 0:
        head = min(misfit // plan.nest.item[0], plan.nest.count)
    for k in range(plan.nest.operands):
        place = <int64_t>(<uintptr_t>plan.nest.address[k])
        if plan.flags[k] == c"v":
            place += head * plan.nest.item[k]
        # Where there is no pack, items are all that has to be aligned.
        if place % alignment(plan, k, items if plan.nest.count - head >= items else 1) != 0:
            return False
    plan.pattern = CONTIGUOUS
    cdef int64_t packs = (plan.nest.count - head) // items
    cdef int64_t edges = plan.nest.count - packs * items
    cdef int32_t *edge_words = <int32_t *>&plan.words[1]
    plan.blocks = (packs + edges + BLOCK_THREADS - 1) // BLOCK_THREADS
    plan.words[0] = packs
    edge_words[0] = <int32_t>head
    edge_words[1] = <int32_t>edges
    for k in range(plan.nest.operands):
        plan.words[2 + k] = <int64_t>(<uintptr_t>plan.nest.address[k])
    plan.bytes = 8 * (2 + plan.nest.operands)
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
    plan.pattern = ROWS
    plan.nest.extent[inner] //= items
    plan.nest.count //= items
    for k in range(plan.nest.operands):
        plan.nest.stride[k][inner] *= items
    finish_nest(plan, 1)
    return True


cdef void plan_strided(LoopPlan *plan, int items) noexcept nogil:
    cdef int d, k
    cdef int64_t bits
    plan.pattern = STRIDED
    for k in range(plan.nest.operands):
        plan.flags[k] = c"g"
        bits = <int64_t>(<uintptr_t>plan.nest.address[k])
        for d in range(plan.nest.rank):
            bits |= plan.nest.stride[k][d]
        if bits % min(plan.nest.item[k], 8) != 0:
            plan.pattern = UNALIGNED
    finish_nest(plan, min(items, <int>MAX_ITEMS))


cdef void finish_nest(LoopPlan *plan, int items) noexcept nogil:
    """Writes the Nest of elementwise_memory.cuh."""
    cdef int d, k
    cdef int64_t *word = plan.words
    cdef uint32_t *magic
    cdef uint32_t *shift
    cdef int64_t threads = (plan.nest.count + items - 1) // items
    plan.blocks = (threads + BLOCK_THREADS - 1) // BLOCK_THREADS
    # Where a thread behind the end does not overflow either.
    plan.wide = plan.nest.count >= (<int64_t>1 << 31) - BLOCK_THREADS * items
    word[0] = plan.nest.count
    word += 1
    for k in range(plan.nest.operands):
        word[k] = <int64_t>(<uintptr_t>plan.nest.address[k])
    word += plan.nest.operands
    for d in range(plan.nest.rank):
        word[d] = plan.nest.extent[d]
    word += plan.nest.rank
    for k in range(plan.nest.operands):
        for d in range(plan.nest.rank):
            word[d] = plan.nest.stride[k][d]
        word += plan.nest.rank
    magic = <uint32_t *>word
    shift = magic + plan.nest.rank
    for d in range(plan.nest.rank):
        set_divisor(plan.nest.extent[d], magic + d, shift + d)
    plan.bytes = <size_t>(<char *>(shift + plan.nest.rank) - <char *>plan.words)


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


cdef bint same_elements(const gpukern_tensor *a, const gpukern_tensor *b) noexcept nogil:
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
