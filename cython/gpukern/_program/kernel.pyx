# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Kernel: a kernel of a Program, and its launches."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

from gpukern._program.kernel_args cimport launch_slowly
from gpukern._capi cimport gpukern_launch, gpukern_program, gpukern_program_kernel
from gpukern._runtime.error cimport check
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._program.quick cimport can_launch_quickly, launch_quickly
from gpukern._streams.stream cimport Stream, as_stream

import operator

from gpukern.errors import GpukernTypeError, GpukernValueError


@cython.final
cdef class Kernel(LoadedKernel):
    """A kernel of a :class:`Program`, on one device.

    >>> kernel[grid, block](*args)                   # grid and block: an int, or up to three
    >>> kernel[grid, block, shared, stream](*args)   # bytes of dynamic shared memory; a stream
    >>> kernel.for_size(n)(*args)                    # at least n threads
    >>> kernel.launch(grid, block, *args, shared=0, stream=None, cooperative=False,
    ...               programmatic_launch=False)

    Arguments are

    - arrays on the kernel's device, of any library, for pointers: DeviceArray, torch, CuPy, JAX,
      Numba, or objects with ``__dlpack__`` or ``__cuda_array_interface__``. The kernel receives the
      address of the first element; strides are ignored. None is a null pointer, ``numpy.uintp`` an
      address;
    - host arrays in :class:`In`, :class:`Out` or :class:`InOut`;
    - Python numbers, converted to the parameter's type without changing kind: an int becomes a
      float, but a float no int;
    - NumPy scalars of the parameter's size and kind; structured scalars, ``bytes`` and ctypes
      structures of the same size for structures.

    A launch enqueues, on `stream` or else on the current stream of the library of the first array,
    after the work on all arrays. A mismatch raises before the launch and leaves the CUDA context
    usable: TypeError for a wrong count, size, kind or dtype; OverflowError for an int that the
    parameter cannot hold; ValueError for another device, a launch shape that the device does not
    allow, and a read-only array for a pointer to non-const.

    The mangled name of a C++ kernel gives the types of its parameters, including the element type
    and constness of pointers: dtypes are compared, and torch is told which tensors were modified.
    For an ``extern "C"`` kernel PTX gives the sizes, distinguishes floats from integers, and
    identifies pointers that the kernel dereferences.
    """

    def __init__(self):
        raise GpukernTypeError("a Kernel is made by Program.kernel()")

    cdef int run(self, const gpukern_launch *shape, Stream given, tuple args) except -1:
        if not (self.quick and len(args) == self.count
                and launch_quickly(self, shape, given, args)):
            launch_slowly(self, shape, given, args)
        return 0

    def __getitem__(self, configuration):
        """Returns a launcher for a grid, a block, and optionally shared memory and a stream."""
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

    def launch(self, grid, block, *args, shared=0, stream=None, cooperative=False,
               programmatic_launch=False):
        """Launches the kernel; see the class.

        Parameters
        ----------
        grid, block : int or sequence of up to three ints
            Blocks of the grid, and threads of a block, along x, y and z. A grid with a zero size
            launches nothing.
        *args
            The kernel's arguments.
        shared : int
            Bytes of dynamic shared memory of a block; may exceed 48 KiB.
        stream : optional
            An int handle, or an object with ``__cuda_stream__``.
        cooperative : bool
            Whether all blocks are resident together, so that they may wait for each other.
        programmatic_launch : bool
            Whether the kernel may start while the previous one of the stream still runs, by
            programmatic dependent launch; not with `cooperative`. Every thread must begin with
            ``asm volatile("griddepcontrol.wait;" ::: "memory");``, including threads with no work.
            No effect on code for compute capabilities below 9.0.
        """
        cdef Launcher made = self[grid, block, shared, stream]
        made.shape.cooperative = 1 if cooperative else 0
        made.shape.programmatic_launch = 1 if programmatic_launch else 0
        self.run(&made.shape, made.stream, args)

    def for_size(self, n, block=None, *, shared=0, stream=None):
        """Returns a launcher with at least `n` threads along x: ``kernel.for_size(n)(*args)``.

        The last block may extend beyond `n`, which the kernel must check. `block` is the number of
        threads of a block, by default :attr:`preferred_block`. With `n` 0 nothing is launched.
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
    """A kernel with a grid and a block. Calling it with arguments launches the kernel."""

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
    made.quick = can_launch_quickly(made)
    return made
