# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

# Lists of arrays as arguments of a call.
cdef struct Described:
    Py_ssize_t count
    Argument *x
    Argument *y
    Argument *out
    const Argument *odd             # for which describe_lists() is False; NULL: a DistributedArray
    const gpukern_tensor **tensors  # those of x, then of y, then of out
    Argument whole                  # the elements of all outputs, in no memory

cdef tuple members(object given, str name, Py_ssize_t count)
cdef bint describe_lists(CallContext *call, tuple xs, tuple ys, tuple outs,
                         Described *arrays) except -1
