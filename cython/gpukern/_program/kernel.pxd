# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport (
    gpukern_kernel, gpukern_kernel_info, gpukern_launch, gpukern_program,
)
from gpukern._program.kernel_args cimport KernelParameter
from gpukern._streams.stream cimport Stream

cdef class Kernel:
    cdef gpukern_kernel *c
    cdef gpukern_kernel_info info
    cdef str kernel_name
    cdef int count
    cdef KernelParameter *known_parameters
    cdef size_t *sizes
    cdef size_t bytes_  # of all arguments together
    cdef tuple types    # of the parameters, str
    cdef object __weakref__

cdef class Launcher:
    cdef readonly Kernel kernel
    cdef gpukern_launch shape
    cdef Stream stream

cdef Kernel load_kernel(gpukern_program *program, str name, str entry, int device,
                        object signature)
