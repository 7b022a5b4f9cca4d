# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_dtype

# As in gpukern._program.signature; a test holds the two together.
cdef enum:
    UNKNOWN = 0
    BYTES = 1
    FLOAT = 2
    HALF = 3
    BFLOAT = 4
    INTEGER = 5
    SIGNED = 6
    UNSIGNED = 7
    BOOL = 8
    POINTER = 9
    WORD = 10

# A parameter of a kernel, as gpukern._program.signature has read it: what may be stored there, and where.
cdef struct Slot:
    size_t offset
    size_t size
    int kind           # one of the kinds of _signature
    bint constant      # a pointer to what the kernel only reads
    bint written       # a pointer to what it may write, as its type says
    int pointee        # the kind of a pointer's target, 0 if that is anything
    int pointee_bits

cdef int fill_slot(Slot *slot, size_t offset, object parameter) except -1
cdef bint store_plainly(object value, const Slot *slot, void *to) except -1
cdef bint takes_pointer(const Slot *slot) noexcept
cdef bint takes_array(const Slot *slot, gpukern_dtype dtype) noexcept
cdef str name_of_slot(const Slot *slot, object type_)
