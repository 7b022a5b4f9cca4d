# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""New arrays for the results of calls.

new_result() allocates an uninitialised C-contiguous array like an argument, on the same device:
by the allocator of the argument's library, as an ndarray, or as a DeviceArray, which end_call()
passes to a library without an allocator (JAX). It describes the array in `result`, links
it, and returns the object for end_call(). `dtype` is None for that of `like`, or a dtype of
NumPy's, of the library's, or its name ('bfloat16' is known without ml_dtypes).

new_result_of() is for an operation of operands that broadcast to `shape`: the result has the layout
that NumPy gives it (order 'K'), as an ndarray or an array of PyTorch's or CuPy's. Others, and those
of another `dtype` than `like`, are C-contiguous.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

cdef object new_result(CallContext *call, const Argument *like, object dtype, int ndim,
                       const int64_t *shape, Argument *result)
cdef object new_result_of(CallContext *call, const Argument *like, object dtype, int ndim,
                          const int64_t *shape, const gpukern_tensor **operands, int count,
                          Argument *result)
cdef int describe_result(CallContext *call, object array, Argument *result) except -1
