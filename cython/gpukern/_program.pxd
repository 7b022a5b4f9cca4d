# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_program, gpukern_program_part

cdef class Program:
    cdef gpukern_program *c
    cdef readonly str name
    cdef int device_id
    cdef tuple name_expressions
    cdef dict kernels
    cdef object __weakref__
    cdef bytes part(self, gpukern_program_part which)
    cdef str text(self, gpukern_program_part which)
    cdef object find(self, str name, int device_id)
    cdef object entry_of(self, str ptx, str name)
