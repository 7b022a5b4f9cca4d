# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The quick way of a call: plain arrays as operands on the stack, without helper objects.

What takes it: ndarrays of a native dtype, torch tensors and CuPy arrays, all of at most eight
dimensions and on one device, without device= and stream=. Whatever does not take it goes the long
way (convert.pyx), which also words the errors: nothing is refused here, and nothing is checked
that the C side checks.
"""

from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_device, gpukern_exec
from gpukern._interop.array_type cimport ArrayType
from gpukern._interop.operand cimport Operand

cdef enum:
    MAX_OTHERS = 2

# One call's place in the streams: it runs on the first operand's and waits for the others'.
cdef struct Order:
    gpukern_exec c
    void *others[MAX_OTHERS]
    int count

cdef bint lend(object array, Operand *operand, const Operand *beside) except -1
cdef bint lend_of_kind(ArrayType kind, object array, Operand *operand,
                       const Operand *beside) except -1
cdef bint find_stream(ArrayType kind, Operand *operand) except -1
cdef object new_array_like(object array, const Operand *operand, int ndim, const int64_t *shape)
cdef bint together(const Operand *first, const Operand *second, const Operand *third) noexcept
cdef int begin(Order *order, const Operand *first, const Operand *second,
               const Operand *third) except -1
cdef int end(Order *order, const Operand *first) except -1
cdef object pinned(object first, object second, object third, const gpukern_device *device)
cdef int note_write(object out, const Operand *operand=*) except -1
cdef object returned(object array, const Operand *operand)
cdef bint is_short(const Operand *out) noexcept
cdef bint is_long(const Operand *out) noexcept
