# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What axpby, fma and the general case of saxpy share: ``a * x + b * y`` of float arrays.

The operands are added in order, by add_operand(), or by add_term(): an array that has been
described, or NULL and a number. Numbers do not take part in the choice of the dtype; they are
stored when it is known.
"""

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.loop_plan cimport Broadcast
from gpukern._streams.call cimport Argument, CallContext

cdef enum:
    MAX_TERMS = 4

cdef struct ScaledSum:
    int count                           # of operands: 3 for fma, 4 for axpby, also by saxpy
    const Argument *array[MAX_TERMS]    # NULL for a number
    void *number[MAX_TERMS]             # where `array` is NULL; borrowed from the caller
    void *name[MAX_TERMS]               # a str that outlives the call
    Argument argument[MAX_TERMS]        # of arrays that add_operand() describes
    gpukern_tensor tensor[MAX_TERMS]    # of numbers
    double value[MAX_TERMS]

# `is_weak`: a 0-d host array is a number.
cdef int add_operand(CallContext *call, ScaledSum *sum_, object operand, str name,
                     bint is_weak=*) except -1
cdef int add_term(ScaledSum *sum_, const Argument *array, object number, str name) except -1
cdef object compute_sum(CallContext *call, ScaledSum *sum_, object out, Argument *dst,
                        object rounding, object seed)
cdef bint rounds_to_nearest(const CallContext *call, object rounding) except -1
cdef int require_shape(const CallContext *call, const Argument *out,
                       const Broadcast *shape) except -1
