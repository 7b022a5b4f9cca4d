# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The quick way of a launch, without helper objects.

What takes it: numbers, DeviceArrays, torch tensors and CuPy arrays, all on the kernel's device and
on one stream. It makes no object and asks for nothing twice. Whatever does not take it goes the
long way (kernel_args.pyx), which also words the errors: nothing is refused here.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t, uintptr_t
from libc.string cimport memset

from gpukern._capi cimport GPUKERN_CUDA, gpukern_exec, gpukern_kernel_launch, gpukern_launch
from gpukern._memory.device_array cimport DeviceArray
from gpukern._runtime.error cimport check
from gpukern._streams.keepalive cimport kept_count, let_go
from gpukern._interop.array_type cimport ArrayType, array_type_of
from gpukern._interop.lend cimport find_stream, lend
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._interop.operand cimport Operand
from gpukern._program.parameter cimport Slot, store_plainly, takes_array, takes_pointer
from gpukern._streams.stream cimport Stream, stream_of_handle
from gpukern._interop.tensor cimport Tensor

cdef enum:
    # What the quick way has room for on the stack.
    QUICK_COUNT = 16
    QUICK_WORDS = 32

# The arguments of one launch. The caller's tuple holds the objects.
cdef struct Frame:
    const void *pointers[QUICK_COUNT]
    uint64_t values[QUICK_WORDS]
    PyObject *own[QUICK_COUNT]      # DeviceArrays
    bint own_written[QUICK_COUNT]
    int own_count
    bint own_first                  # a DeviceArray came before any other array
    PyObject *torch[QUICK_COUNT]    # tensors that the kernel may write to, as its types say
    int torch_count
    Operand first                   # the first array that a library lent
    Operand other
    int lent_count


cdef bint can_launch_quickly(LoadedKernel kernel) noexcept:
    """Whether there is room for the kernel's arguments."""
    return kernel.count <= QUICK_COUNT and kernel.bytes_ <= QUICK_WORDS * sizeof(uint64_t)


cdef bint launch_quickly(LoadedKernel kernel, const gpukern_launch *shape, Stream given,
                         tuple args) except -1:
    """Launches a kernel that has room; returns False, having launched nothing, for the long way."""
    cdef Frame frame
    cdef gpukern_exec where
    cdef Stream stream = given
    cdef int i
    frame.own_count = frame.torch_count = frame.lent_count = 0
    if not place_all(kernel, args, &frame):
        return False
    memset(&where, 0, sizeof(where))
    where.struct_size = sizeof(where)
    if given is None and frame.own_count > 0:
        if frame.own_first:
            stream = (<DeviceArray>frame.own[0]).uses.current_home()
        else:
            stream = stream_of_handle(<uintptr_t>frame.first.stream, None)
    if stream is not None:
        where.stream = stream.handle
        if frame.lent_count > 0 and frame.first.stream != where.stream:
            return False
    elif frame.lent_count > 0:
        where.stream = frame.first.stream
    if kept_count > 0:
        let_go()
    for i in range(frame.own_count):
        (<DeviceArray>frame.own[i]).uses.begin(stream, frame.own_written[i])
    with nogil:
        check(gpukern_kernel_launch(kernel.c, shape, frame.pointers, kernel.sizes, kernel.count,
                                    &where))
    for i in range(frame.own_count):
        (<DeviceArray>frame.own[i]).uses.end(stream, frame.own_written[i])
    for i in range(frame.torch_count):
        array_type_of(<object>frame.torch[i]).torch.note_write(<object>frame.torch[i])
    return True


cdef bint place_all(LoadedKernel kernel, tuple args, Frame *frame) except -1:
    """Stores all arguments; returns False if one is not plain."""
    cdef const Slot *slot
    cdef object value
    cdef void *to
    cdef int i
    for i in range(kernel.count):
        value = args[i]
        slot = &kernel.slots[i]
        to = <char *>frame.values + slot.offset
        frame.pointers[i] = to
        if store_plainly(value, slot, to):
            continue
        if not takes_pointer(slot):
            return False
        if type(value) is DeviceArray:
            if not place_own(kernel, value, slot, <void **>to, frame):
                return False
        elif not place_lent(kernel, value, slot, <void **>to, frame):
            return False
    return True


cdef bint place_own(LoadedKernel kernel, DeviceArray array, const Slot *slot, void **to,
                    Frame *frame) except -1:
    cdef Tensor tensor = array.tensor
    if (array.uses is None or tensor.c.device.device_id != kernel.info.device
            or not takes_array(slot, tensor.c.dtype)):
        return False
    if frame.own_count == 0:
        frame.own_first = frame.lent_count == 0
    frame.own[frame.own_count] = <PyObject *>array
    frame.own_written[frame.own_count] = not slot.constant
    frame.own_count += 1
    to[0] = tensor.c.data
    return True


cdef bint place_lent(LoadedKernel kernel, object array, const Slot *slot, void **to,
                     Frame *frame) except -1:
    cdef Operand *operand = &frame.first
    cdef const Operand *beside = NULL
    cdef ArrayType kind = array_type_of(array)
    if frame.lent_count > 0:
        operand, beside = &frame.other, &frame.first
    if kind.attributes is not None:
        if not lend_address(kind, array, operand, beside):
            return False
    elif not lend(array, operand, beside):
        return False
    if (operand.c.device.device_type != GPUKERN_CUDA
            or operand.c.device.device_id != kernel.info.device
            or slot.written and operand.readonly
            or not takes_array(slot, operand.c.dtype)
            or operand.stream != frame.first.stream):
        return False
    if slot.written and kind.torch is not None:
        frame.torch[frame.torch_count] = <PyObject *>array
        frame.torch_count += 1
    frame.lent_count += 1
    to[0] = <char *>operand.c.data + operand.c.byte_offset
    return True


cdef bint lend_address(ArrayType kind, object array, Operand *operand, const Operand *beside):
    """As lend(), for an array of CuPy's, without a shape."""
    try:
        kind.attributes.fill(array, &operand.c, 0, True)
        operand.readonly = False
        operand.kind = <PyObject *>kind
        if (beside != NULL and beside.kind == operand.kind
                and beside.c.device.device_id == operand.c.device.device_id):
            operand.stream = beside.stream
            return True
        return find_stream(kind, operand)
    except Exception:
        return False
