# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Kernel: launches, and the quick way to one.

What takes the quick way: numbers, DeviceArrays, torch tensors and CuPy arrays, all on the kernel's
device and on one stream. It makes no object and asks for nothing twice. Whatever does not take it
goes the long way (_arguments.pyx), which also words the errors: nothing is refused here.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.string cimport memset

from gpukern._arguments cimport launch_slowly
from gpukern._capi cimport (
    GPUKERN_CUDA, gpukern_exec, gpukern_kernel_launch, gpukern_launch, gpukern_program,
    gpukern_program_kernel,
)
from gpukern._device_array cimport DeviceArray
from gpukern._error cimport check
from gpukern._keep cimport kept_count, let_go
from gpukern._kind cimport Kind, kind_of
from gpukern._lend cimport find_stream, lend
from gpukern._loaded cimport LoadedKernel
from gpukern._operand cimport Operand
from gpukern._parameter cimport Slot, store_plainly, takes_array, takes_pointer
from gpukern._stream cimport Stream, as_stream, stream_of_handle
from gpukern._tensor cimport Tensor

import operator

from gpukern.errors import GpukernTypeError, GpukernValueError

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


@cython.final
cdef class Kernel(LoadedKernel):
    """A kernel of a :class:`Program`, on one device.

    >>> kernel[grid, block](*args)                   # grid and block: an int, or up to three
    >>> kernel[grid, block, shared, stream](*args)   # bytes of dynamic shared memory; a stream
    >>> kernel.for_size(n)(*args)                    # at least n threads
    >>> kernel.launch(grid, block, *args, shared=0, stream=None, cooperative=False)

    Arguments are

    - arrays on the kernel's device, of any library, for pointers: DeviceArray, torch, CuPy, JAX,
      Numba, or what has ``__dlpack__`` or ``__cuda_array_interface__``. The kernel gets the address
      of the first element, whatever the strides; None is a null pointer, ``numpy.uintp`` any
      address;
    - host arrays in :class:`In`, :class:`Out` or :class:`InOut`;
    - Python numbers, converted to the parameter's type without changing kind: an int becomes a
      float, but no float an int;
    - NumPy's scalars, of the parameter's size and kind; structured ones, ``bytes`` and ctypes
      structures for structures, by size.

    A launch enqueues, on `stream` or else on the current stream of the library of the first array,
    behind the work on all arrays. What does not fit is refused before the launch, with the context
    sound: a TypeError for a wrong count, size, kind or dtype; an OverflowError for an int that the
    parameter cannot hold; a ValueError for another device, a shape of the launch that the device
    does not allow, and a read-only array for a pointer to what is not const.

    What is known of a parameter comes from the compiler. The types of a kernel of C++ linkage are
    known from its name, down to what a pointer leads to and whether that is const: dtypes are
    compared then, and torch is told what was written to. Of an ``extern "C"`` kernel the sizes are
    known, floats from integers, and pointers where it follows them.
    """

    def __init__(self):
        raise GpukernTypeError("a Kernel is made by Program.kernel()")

    cdef int run(self, const gpukern_launch *shape, Stream given, tuple args) except -1:
        if not (self.quick and len(args) == self.count
                and launch_quickly(self, shape, given, args)):
            launch_slowly(self, shape, given, args)
        return 0

    def __getitem__(self, configuration):
        """A launcher for a grid and a block, and then perhaps shared memory and a stream."""
        cdef Launcher made = Launcher.__new__(Launcher)
        if type(configuration) is not tuple or not 2 <= len(configuration) <= 4:
            raise GpukernTypeError(
                f"{self.kernel_name}: a launch is kernel[grid, block], "
                f"kernel[grid, block, shared] or kernel[grid, block, shared, stream]")
        made.kernel = self
        made.shape.struct_size = sizeof(gpukern_launch)
        fill_sizes(made.shape.grid, configuration[0], self, "grid")
        fill_sizes(made.shape.block, configuration[1], self, "block")
        if len(configuration) > 2:
            made.shape.shared_bytes = shared_bytes(self, configuration[2])
        if len(configuration) > 3 and configuration[3] is not None:
            made.stream = as_stream(configuration[3], f"{self.kernel_name}: stream")
        return made

    def launch(self, grid, block, *args, shared=0, stream=None, cooperative=False):
        """Launches the kernel; see the class.

        Parameters
        ----------
        grid, block : int or sequence of up to three ints
            Blocks of the grid, and threads of a block, along x, y and z. A grid with a 0 launches
            nothing.
        *args
            The kernel's arguments.
        shared : int
            Bytes of dynamic shared memory of a block; above 48 KiB as well.
        stream : optional
            An int handle, or an object with ``__cuda_stream__``.
        cooperative : bool
            Whether all blocks run at once, so that they may wait for each other.
        """
        cdef Launcher made = self[grid, block, shared, stream]
        made.shape.cooperative = 1 if cooperative else 0
        self.run(&made.shape, made.stream, args)

    def for_size(self, n, block=None, *, shared=0, stream=None):
        """A launcher with at least `n` threads along x: ``kernel.for_size(n)(*args)``.

        The last block may reach beyond `n`, which the kernel has to check. `block` is its number of
        threads, by default :attr:`preferred_block`. Of size 0 nothing is launched.
        """
        try:
            size = operator.index(n)
            threads = self.info.preferred_block if block is None else operator.index(block)
        except TypeError as error:
            raise GpukernTypeError(f"{self.kernel_name}: for_size: {error}") from None
        if size < 0 or threads < 1:
            raise GpukernValueError(
                f"{self.kernel_name}: for_size takes a size from 0 on and a block from 1 on, "
                f"got {size} and {threads}")
        return self[-(-size // threads), threads, shared, stream]


@cython.final
@cython.freelist(8)
cdef class Launcher:
    """A kernel with a grid and a block: call it with the kernel's arguments, as often as needed."""

    def __call__(self, *args):
        """Enqueues the kernel; see :class:`Kernel`."""
        self.kernel.run(&self.shape, self.stream, args)

    def __repr__(self):
        grid, block = tuple(self.shape.grid), tuple(self.shape.block)
        return f"{self.kernel!r}[{grid}, {block}, {self.shape.shared_bytes}]"

    @property
    def grid(self):
        """Blocks along x, y and z."""
        return tuple(self.shape.grid)

    @property
    def block(self):
        """Threads of a block along x, y and z."""
        return tuple(self.shape.block)


cdef int fill_sizes(uint32_t *sizes, object given, Kernel kernel, str what) except -1:
    """One to three sizes; those left out are 1."""
    cdef Py_ssize_t i, count
    cdef object size
    sizes[0] = sizes[1] = sizes[2] = 1
    if type(given) is int:
        sizes[0] = size_of(given, kernel, what)
        return 0
    try:
        given = tuple(given) if hasattr(given, "__iter__") else (given,)
    except TypeError:  # a 0-d array
        given = (given,)
    count = len(given)
    if not 1 <= count <= 3:
        raise GpukernValueError(
            f"{kernel.kernel_name}: {what} must have 1 to 3 sizes, got {count}")
    for i, size in enumerate(given):
        sizes[i] = size_of(size, kernel, what)
    return 0


cdef uint32_t size_of(object size, Kernel kernel, str what) except? 0xffffffff:
    try:
        number = operator.index(size)
    except TypeError:
        raise GpukernTypeError(f"{kernel.kernel_name}: {what} must be an int or up to three ints, "
                               f"got {type(size).__name__}") from None
    if not 0 <= number < 2**32:
        raise GpukernValueError(
            f"{kernel.kernel_name}: {what} must have sizes from 0 to 2**32 - 1, got {number}")
    return number


cdef uint64_t shared_bytes(Kernel kernel, object shared) except? 0xffffffff:
    try:
        number = operator.index(shared)
    except TypeError:
        raise GpukernTypeError(f"{kernel.kernel_name}: shared must be an int, "
                               f"got {type(shared).__name__}") from None
    if not 0 <= number < 2**32:
        raise GpukernValueError(
            f"{kernel.kernel_name}: shared must be from 0 to 2**32 - 1 bytes, got {number}")
    return number


cdef bint launch_quickly(Kernel kernel, const gpukern_launch *shape, Stream given,
                         tuple args) except -1:
    """Launches the kernel; returns False, having launched nothing, for the long way."""
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
        kind_of(<object>frame.torch[i]).torch.note_write(<object>frame.torch[i])
    return True


cdef bint place_all(Kernel kernel, tuple args, Frame *frame) except -1:
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


cdef bint place_own(Kernel kernel, DeviceArray array, const Slot *slot, void **to,
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


cdef bint place_lent(Kernel kernel, object array, const Slot *slot, void **to,
                     Frame *frame) except -1:
    cdef Operand *operand = &frame.first
    cdef const Operand *beside = NULL
    cdef Kind kind = kind_of(array)
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


cdef bint lend_address(Kind kind, object array, Operand *operand, const Operand *beside):
    """As lend(), for an array of CuPy's, without a shape."""
    try:
        kind.attributes.fill_pointer(array, operand)
        operand.kind = <PyObject *>kind
        if (beside != NULL and beside.kind == operand.kind
                and beside.c.device.device_id == operand.c.device.device_id):
            operand.stream = beside.stream
            return True
        return find_stream(kind, operand)
    except Exception:
        return False


cdef Kernel load_kernel(gpukern_program *program, str name, str entry, int device,
                        object signature):
    """A kernel of a program, by the name that the C ABI knows it by."""
    cdef Kernel made = Kernel.__new__(Kernel)
    cdef bytes known_as = entry.encode()
    cdef const char *c_name = known_as
    made.kernel_name = name
    with nogil:
        check(gpukern_program_kernel(program, c_name, device, &made.c))
    made.describe(signature)
    made.quick = made.count <= QUICK_COUNT and made.bytes_ <= QUICK_WORDS * sizeof(uint64_t)
    return made
