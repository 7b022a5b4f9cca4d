# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""A kernel that is loaded on a device: its properties and its parameters."""

from libc.stdlib cimport calloc, free

from gpukern._capi cimport (
    gpukern_kernel_info, gpukern_kernel_parameter, gpukern_kernel_query, gpukern_kernel_release,
)
from gpukern._runtime.error cimport check
from gpukern._program.parameter cimport Slot, fill_slot

from gpukern._program import signature as signatures
from gpukern.errors import GpukernMemoryError


cdef class LoadedKernel:
    """The properties of a kernel; gpukern.Kernel launches it."""

    def __dealloc__(self):
        # To unload its code CUDA may wait for the GPU, and that for a host function with the GIL.
        with nogil:
            gpukern_kernel_release(self.c)
        free(self.slots)
        free(self.sizes)

    cdef int describe(self, object signature) except -1:
        """Asks for the properties, and puts the driver's sizes beside the types of a signature,
        a list of Parameter or None: one that does not agree with the driver is not believed."""
        cdef int i
        cdef size_t offset, size
        self.info.struct_size = sizeof(gpukern_kernel_info)
        check(gpukern_kernel_query(self.c, &self.info))
        self.count = self.info.parameter_count
        self.slots = <Slot *>calloc(max(self.count, 1), sizeof(Slot))
        self.sizes = <size_t *>calloc(max(self.count, 1), sizeof(size_t))
        if self.slots == NULL or self.sizes == NULL:
            raise GpukernMemoryError("no host memory for a kernel's parameters")
        layout = []
        for i in range(self.count):
            check(gpukern_kernel_parameter(self.c, i, &offset, &size))
            self.sizes[i] = size
            self.bytes_ = offset + size
            layout.append((offset, size))
        sizes = [size_ for _, size_ in layout]
        if signature is None or [parameter.size for parameter in signature] != sizes:
            signature = [signatures.Parameter(size_, signatures.UNKNOWN) for size_ in sizes]
        for i in range(self.count):
            fill_slot(&self.slots[i], layout[i][0], signature[i])
        self.known = tuple(signature)
        return 0

    cdef str what(self, int i):
        """What an error calls an argument."""
        return f"{self.kernel_name}: argument {i}"

    cdef object type_of(self, int i):
        """A parameter's type in C++; None if nobody told it."""
        return self.known[i].type

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
        """The types of the parameters, a tuple of str: in C++, or as far as they are known."""
        return tuple([
            parameter.type or signatures.description(parameter) for parameter in self.known])

    @property
    def parameter_sizes(self):
        """The parameters' sizes in bytes, a tuple of int."""
        return tuple([self.sizes[i] for i in range(self.count)])

    @property
    def max_threads_per_block(self):
        """The largest number of threads of a block."""
        return self.info.max_threads_per_block

    @property
    def preferred_block(self):
        """The number of threads of a block for the best occupancy."""
        return self.info.preferred_block

    @property
    def registers(self):
        """Registers of a thread."""
        return self.info.registers

    @property
    def static_shared_bytes(self):
        """Static shared memory of a block, in bytes."""
        return self.info.static_shared_bytes

    @property
    def max_dynamic_shared_bytes(self):
        """The largest dynamic shared memory of a block, in bytes."""
        return self.info.max_dynamic_shared_bytes

    @property
    def local_bytes(self):
        """Local memory of a thread (spilled registers and local arrays), in bytes."""
        return self.info.local_bytes
