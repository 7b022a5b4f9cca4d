# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Kernel: a kernel of a Program on a device, its properties and its launches."""

cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from gpukern._capi cimport (
    gpukern_kernel_info, gpukern_kernel_parameter, gpukern_kernel_query, gpukern_kernel_release,
    gpukern_launch, gpukern_program, gpukern_program_kernel,
)
from gpukern._interop.scalar cimport as_bool
from gpukern._program.kernel_args cimport UNKNOWN, KernelParameter, fill_parameter
from gpukern._program.launch cimport launch
from gpukern._runtime.runtime cimport check, shown
from gpukern._streams.stream cimport as_stream

import operator

import numpy as np

from gpukern._program.signature import Parameter
from gpukern.errors import GpukernMemoryError, GpukernTypeError, GpukernValueError


@cython.final
cdef class Kernel:
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
    and constness of pointers: dtypes are compared, and torch counts modified tensors.
    For an ``extern "C"`` kernel PTX gives the sizes, distinguishes floats from integers, and
    identifies pointers that the kernel dereferences.
    """

    def __init__(self):
        raise GpukernTypeError("a Kernel is made by Program.kernel()")

    def __dealloc__(self):
        # To unload its code CUDA may wait for the GPU, and that for a host function with the GIL.
        with nogil:
            gpukern_kernel_release(self.c)
        free(self.known_parameters)
        free(self.sizes)

    def __repr__(self):
        kinds = ", ".join(self.parameters)
        return f"<gpukern.Kernel {self.kernel_name}({kinds}) on {self.device}>"

    @property
    def name(self):
        """The name by which the kernel was requested."""
        return self.kernel_name

    @property
    def device(self):
        """Where the kernel runs: 'cuda:0', 'cuda:1', ..."""
        return f"cuda:{self.info.device}"

    @property
    def parameters(self):
        """The parameters' types, a tuple of str: as C++ writes them, or what is known of them."""
        return self.types

    @property
    def parameter_sizes(self):
        """The parameters' sizes in bytes, a tuple of int."""
        return tuple([self.sizes[i] for i in range(self.count)])

    @property
    def max_threads_per_block(self):
        """The most threads of a block that the kernel can be launched with."""
        return self.info.max_threads_per_block

    @property
    def preferred_block(self):
        """The threads of a block that keep a multiprocessor busiest, by CUDA's calculator."""
        return self.info.preferred_block

    @property
    def registers(self):
        """Registers of a thread."""
        return self.info.registers

    @property
    def static_shared_bytes(self):
        """Shared memory of a block that the kernel declares."""
        return self.info.static_shared_bytes

    @property
    def max_dynamic_shared_bytes(self):
        """The largest dynamic shared memory of a block, in bytes."""
        return self.info.max_dynamic_shared_bytes

    @property
    def local_bytes(self):
        """Local memory of a thread: spilled registers and local arrays."""
        return self.info.local_bytes

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
            made.shape.shared_bytes = size_of(configuration[2], self, "shared")
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
        made.shape.cooperative = as_bool(cooperative, self.kernel_name, "cooperative")
        made.shape.programmatic_launch = as_bool(
            programmatic_launch, self.kernel_name, "programmatic_launch")
        launch(self, &made.shape, made.stream, args)

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

    def __init__(self):
        raise GpukernTypeError("a launcher is made by kernel[grid, block]")

    def __call__(self, *args):
        """Enqueues the kernel; see :class:`Kernel`."""
        launch(self.kernel, &self.shape, self.stream, args)

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
    sizes[0] = sizes[1] = sizes[2] = 1
    if type(given) is int:
        sizes[0] = size_of(given, kernel, what)
        return 0
    if type(given) is not tuple:
        given = tuple(given) if np.iterable(given) else (given,)
    count = len(given)
    if not 1 <= count <= 3:
        raise GpukernValueError(f"{kernel.kernel_name}: {what} must have 1 to 3 sizes, got {count}")
    for i in range(count):
        sizes[i] = size_of(given[i], kernel, what)
    return 0


cdef uint32_t size_of(object size, Kernel kernel, str what) except? 0xffffffff:
    """A size of a launch, the one that an error names by `what`."""
    try:
        number = operator.index(size)
    except TypeError:
        expected = "an int" if what == "shared" else "an int or up to three ints"
        raise GpukernTypeError(f"{kernel.kernel_name}: {what} must be {expected}, "
                               f"got {type(size).__name__}") from None
    if not 0 <= number < 2**32:
        raise GpukernValueError(
            f"{kernel.kernel_name}: {what} must be from 0 to 2**32 - 1, got {shown(number)}")
    return number


cdef Kernel load_kernel(gpukern_program *program, str name, str entry, int device,
                        object signature):
    """A kernel of a program, by the name that the C ABI knows it by.

    The parameters have the driver's sizes and the types of the signature, a list of Parameter or
    None; one with other sizes is not used.
    """
    cdef Kernel made = Kernel.__new__(Kernel)
    cdef bytes known_as = entry.encode()
    cdef const char *c_name = known_as
    cdef size_t offset
    cdef int i
    made.kernel_name = name
    with nogil:
        check(gpukern_program_kernel(program, c_name, device, &made.c))
    made.info.struct_size = sizeof(gpukern_kernel_info)
    check(gpukern_kernel_query(made.c, &made.info))
    made.count = made.info.parameter_count
    made.known_parameters = <KernelParameter *>calloc(max(made.count, 1), sizeof(KernelParameter))
    made.sizes = <size_t *>calloc(max(made.count, 1), sizeof(size_t))
    if made.known_parameters == NULL or made.sizes == NULL:
        raise GpukernMemoryError("no host memory for a kernel's parameters")
    offsets = []
    for i in range(made.count):
        check(gpukern_kernel_parameter(made.c, i, &offset, &made.sizes[i]))
        made.bytes_ = offset + made.sizes[i]
        offsets.append(offset)
    sizes = made.parameter_sizes
    if signature is None or tuple([parameter.size for parameter in signature]) != sizes:
        signature = [Parameter(size, UNKNOWN) for size in sizes]
    made.types = tuple([parameter.description() for parameter in signature])
    for i in range(made.count):
        fill_parameter(&made.known_parameters[i], name, i, offsets[i], signature[i], made.types[i])
    return made
