# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_kernel, gpukern_kernel_info
from gpukern._program.parameter cimport Slot

cdef class LoadedKernel:
    cdef gpukern_kernel *c
    cdef gpukern_kernel_info info
    cdef str kernel_name
    cdef int count
    cdef Slot *slots
    cdef size_t *sizes
    cdef size_t bytes_
    cdef tuple known
    cdef object __weakref__
    cdef int describe(self, object signature) except -1
    cdef str what(self, int i)
    cdef object type_of(self, int i)
