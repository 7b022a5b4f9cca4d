# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_program, gpukern_program_part
from gpukern._program.kernel cimport Kernel

cdef class Program:
    cdef gpukern_program *c
    cdef readonly str name
    cdef int device_id
    cdef tuple name_expressions
    cdef dict kernels
    cdef object __weakref__
    cdef int compile(self, object source, object options, object name, object headers,
                     object name_expressions, object architecture, object key,
                     object note) except -1
    cdef str note(self)
    cdef bytes part(self, gpukern_program_part which)
    cdef str text(self, gpukern_program_part which)
    cdef Kernel find(self, str name, int device_id)

cdef Program compile_keyed(str source, tuple options, str name, dict headers, int device,
                           object key, object note)
cdef Program find_program(str key, int device)
