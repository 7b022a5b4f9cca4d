# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_launch, gpukern_program
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._streams.stream cimport Stream

cdef class Kernel(LoadedKernel):
    cdef bint quick
    cdef int run(self, const gpukern_launch *shape, Stream given, tuple args) except -1

cdef class Launcher:
    cdef readonly Kernel kernel
    cdef gpukern_launch shape
    cdef Stream stream

cdef Kernel load_kernel(gpukern_program *program, str name, str entry, int device,
                        object signature)
