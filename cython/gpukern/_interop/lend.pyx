# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Plain arrays as operands on the stack, and their order on streams."""

cimport numpy as cnp
from cpython.ref cimport PyObject
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport int64_t

from gpukern._capi cimport (
    GPUKERN_BOOL, GPUKERN_COMPLEX, GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, GPUKERN_INT,
    GPUKERN_OPAQUE, GPUKERN_UINT, gpukern_device, gpukern_exec, gpukern_stream_wait,
    gpukern_tensor,
)
from gpukern._interop.descriptor cimport get
from gpukern._interop.dtype cimport describe
from gpukern._runtime.error cimport check
from gpukern._interop.exchange cimport exchange_stream
from gpukern._streams.keepalive cimport kept_count, let_go
from gpukern._interop.array_type cimport BY_ATTRIBUTES, BY_EXCHANGE, ArrayType, array_type_of
from gpukern._interop.operand cimport OPERAND_NDIM, Operand
from gpukern._streams.stream cimport wait_back
from gpukern._interop.tensor cimport new_ndarray
from gpukern._streams.watch cimport LONG
from gpukern._runtime.default_device cimport WISH_CPU, WISH_NONE, wished_device

cdef extern from "numpy/arrayobject.h":
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference

cnp.import_array()

cdef enum:
    # Elements of an output that take less time than giving the GIL away and getting it back.
    SHORT = 512


cdef bint lend(object array, Operand *operand, const Operand *beside) except -1:
    """Describes an array; returns False for one that takes the long way, which has the words for
    what a library refuses. What is known of an operand `beside` it is not asked for again."""
    if type(array) is cnp.ndarray:
        return lend_ndarray(array, operand)
    try:
        return lend_of_kind(array_type_of(array), array, operand, beside)
    except Exception:
        return False


cdef bint lend_ndarray(cnp.ndarray array, Operand *operand) except -1:
    cdef int d, ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(array)
    describe(<cnp.dtype>PyArray_DTYPE(array), &operand.c.dtype)
    if ndim > OPERAND_NDIM or operand.c.dtype.code == GPUKERN_OPAQUE:
        return False
    operand.c.data = cnp.PyArray_DATA(array)
    operand.c.device.device_type = GPUKERN_CPU
    operand.c.device.device_id = 0
    operand.c.byte_offset = 0
    operand.c.ndim = ndim
    operand.c.shape = operand.shape
    operand.c.strides = NULL
    operand.readonly = not cnp.PyArray_ISWRITEABLE(array)
    operand.kind = NULL
    operand.torch = NULL
    operand.stream = NULL
    for d in range(ndim):
        operand.shape[d] = shape[d]
    if cnp.PyArray_IS_C_CONTIGUOUS(array):
        return True
    operand.c.strides = operand.strides
    for d in range(ndim):
        operand.strides[d] = 0
        if shape[d] > 1:
            if strides[d] % size != 0:
                return False
            operand.strides[d] = strides[d] // size
    return True


cdef bint lend_of_kind(ArrayType kind, object array, Operand *operand,
                       const Operand *beside) except -1:
    """As lend(), for an array of a library."""
    operand.torch = NULL
    if kind.protocol == BY_EXCHANGE:
        if not lend_by_exchange(kind, array, operand, beside):
            return False
    elif kind.protocol != BY_ATTRIBUTES or not lend_by_attributes(kind, array, operand):
        return False
    operand.kind = <PyObject *>kind
    operand.stream = NULL
    if operand.c.device.device_type == GPUKERN_CPU:
        return True
    if (beside != NULL and beside.kind == operand.kind
            and same_device(&beside.c.device, &operand.c.device)):
        operand.stream = beside.stream
        return True
    return find_stream(kind, operand)


cdef bint lend_by_attributes(ArrayType kind, object array, Operand *operand) except -1:
    operand.c.shape, operand.c.strides = operand.shape, operand.strides
    operand.readonly = False
    return kind.attributes.fill(array, &operand.c, OPERAND_NDIM, False)


cdef bint lend_by_exchange(ArrayType kind, object array, Operand *operand,
                           const Operand *beside) except -1:
    cdef int d
    # Only of torch do we know that what it lends may be written to, and what it does not tell.
    if (kind.torch is None or kind.refusal is not None
            or kind.api.dltensor_from_py_object_no_sync == NULL):
        return False
    # Once a call; a second tensor is of the same thread.
    if (beside == NULL or beside.kind != <PyObject *>kind) and not kind.torch.is_plain():
        return False
    if not lend_tensor(kind, array, operand):
        return False
    if operand.c.ndim > OPERAND_NDIM or operand.c.dtype.lanes != 1:
        return False
    operand.readonly = False
    for d in range(operand.c.ndim):
        operand.shape[d] = operand.c.shape[d]
        operand.strides[d] = operand.c.strides[d]
    operand.c.shape = operand.shape
    operand.c.strides = operand.strides
    return not (may_be_lazy(&operand.c) and (array.is_conj() or array.is_neg()))


cdef bint lend_tensor(ArrayType kind, object array, Operand *operand) except -1:
    """Describes a tensor; returns False for one that requires gradients."""
    if kind.torch.c_to_dlpack != NULL:
        return kind.torch.describe(array, &operand.c, &operand.torch)
    kind.api.dltensor_from_py_object_no_sync(<PyObject *>array, &operand.c)
    return (not may_require_grad(operand.c.dtype.code)
            or get(kind.requires_grad, array) is False)


cdef inline bint may_require_grad(int code) noexcept:
    """Whether torch has gradients for a dtype: it has none for integers and bool."""
    return code != GPUKERN_INT and code != GPUKERN_UINT and code != GPUKERN_BOOL


cdef bint may_be_lazy(const gpukern_tensor *tensor) noexcept:
    """Whether torch may have left a conjugation or a negation of the elements for later.

    A tensor with a negation left is the imaginary part of a complex one: its strides are even.
    """
    cdef int64_t stride = 1
    cdef int d
    if tensor.dtype.code == GPUKERN_COMPLEX:
        return True
    for d in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[d] != 1 and tensor.strides[d] != stride:
            return True
        stride *= tensor.shape[d]
    return stride == 1


cdef bint find_stream(ArrayType kind, Operand *operand) except -1:
    cdef int device_id = operand.c.device.device_id
    if operand.c.device.device_type != GPUKERN_CUDA:
        return False
    if kind.protocol == BY_ATTRIBUTES:
        operand.stream = kind.attributes.current_stream(device_id)
    else:
        operand.stream = exchange_stream(kind.api, device_id)
    if operand.stream == <void *>1:  # another name of the legacy default stream
        operand.stream = NULL
    return True


cdef object new_array_like(object array, const Operand *operand, int ndim, const int64_t *shape):
    """An uninitialised array of the kind, dtype and device of a lent one; None if it has no kind
    of its own to allocate."""
    cdef ArrayType kind
    if operand.kind == NULL:
        return new_ndarray(<cnp.dtype>PyArray_DTYPE(array), ndim, shape)
    kind = <ArrayType>operand.kind
    if kind.allocate is None:
        return None
    if kind.empty_like is not None and is_like(operand, ndim, shape):
        return kind.empty_like(array)
    sizes = tuple([shape[d] for d in range(ndim)])
    return kind.allocate(array, sizes, operand.c.device.device_id)


cdef bint is_like(const Operand *operand, int ndim, const int64_t *shape) noexcept:
    """Whether a C-contiguous array of this shape has the layout of a lent one."""
    cdef const gpukern_tensor *tensor = &operand.c
    cdef int64_t stride = 1
    cdef int d
    if tensor.ndim != ndim:
        return False
    for d in range(ndim - 1, -1, -1):
        if tensor.shape[d] != shape[d]:
            return False
        if tensor.strides != NULL and tensor.strides[d] != stride:
            return False
        stride *= shape[d]
    return True


cdef bint together(const Operand *first, const Operand *second, const Operand *third) noexcept:
    """Whether three operands lie on one device."""
    return (same_device(&first.c.device, &second.c.device)
            and same_device(&first.c.device, &third.c.device))


cdef bint same_device(const gpukern_device *a, const gpukern_device *b) noexcept:
    return a.device_type == b.device_type and a.device_id == b.device_id


cdef int begin(Order *order, const Operand *first, const Operand *second,
               const Operand *third) except -1:
    """Puts a call on the first operand's stream, behind the work on the others'."""
    if kept_count > 0:
        let_go()
    order.c.struct_size = sizeof(gpukern_exec)
    order.c.device_memory_limit = 0
    order.c.progress = NULL
    order.c.progress_user = NULL
    order.c.explanation = NULL
    order.c.device.device_type = GPUKERN_DEVICE_DEFAULT
    order.c.device.device_id = 0
    order.c.stream = first.stream
    order.count = 0
    if second.stream != first.stream:
        add_other(order, second)
    if third.stream != first.stream and third.stream != second.stream:
        add_other(order, third)
    return 0


cdef int add_other(Order *order, const Operand *operand) except -1:
    order.others[order.count] = operand.stream
    order.count += 1
    return check(gpukern_stream_wait(operand.c.device, order.c.stream, operand.stream))


cdef int end(Order *order, const Operand *first) except -1:
    """Lets the other operands' streams wait for the call, which is still to use their memory."""
    cdef int i
    for i in range(order.count):
        wait_back(first.c.device, order.others[i], order.c.stream)
    return 0


cdef bint is_long(const Operand *out) noexcept:
    """Whether a call looks at signals, see watch.pxd."""
    cdef int64_t count = 1
    cdef int d
    if out.c.device.device_type != GPUKERN_CPU:
        return False
    for d in range(out.c.ndim):
        if out.shape[d] == 0 or count > LONG // out.shape[d]:
            return out.shape[d] != 0
        count *= out.shape[d]
    return count * (out.c.dtype.bits * out.c.dtype.lanes // 8) >= LONG


cdef object pinned(object first, object second, object third, const gpukern_device *device):
    """What keeps the memory of ndarrays in its place while the GIL is released, for as long as it
    is kept itself; None on a device, where there are none.

    Another thread's resize(refcheck=False) frees memory that the caller's reference and even a
    Py_buffer stand for. Of an array with a weak reference NumPy refuses to do so.
    """
    if device.device_type != GPUKERN_CPU:
        return None
    return pin(first), pin(second), pin(third)


cdef object pin(object array):
    return PyWeakref_NewRef(array, None) if type(array) is cnp.ndarray else None


cdef int note_write(object out, const Operand *operand=NULL) except -1:
    """Tells the library of a given output that it was written to, where that matters to it.
    `operand` describes it, where the call has one."""
    cdef ArrayType kind
    if operand != NULL and operand.torch != NULL:
        return (<ArrayType>operand.kind).torch.note_write(out, operand.torch)
    if type(out) is not cnp.ndarray:
        kind = array_type_of(out)
        if kind.torch is not None:
            kind.torch.note_write(out)
    return 0


cdef object returned(object array, const Operand *operand):
    """A new array as a call returns it: of NumPy's 0-d ones the scalar."""
    if operand.kind == NULL and operand.c.ndim == 0:
        return cnp.PyArray_ToScalar(operand.c.data, <cnp.ndarray>array)
    return array


cdef bint is_short(const Operand *out) noexcept:
    """Whether a call takes less time than giving the GIL away for it would."""
    cdef int64_t count = 1
    cdef int d
    if out.c.device.device_type != GPUKERN_CPU:
        return False
    for d in range(out.c.ndim):
        if out.shape[d] > SHORT:
            return False
        count *= out.shape[d]
        if count > SHORT:
            return False
    return wished_device() in (WISH_NONE, WISH_CPU)
