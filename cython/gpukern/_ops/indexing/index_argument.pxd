# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The index of a call as an argument: see the functions."""

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

# The indices of a tuple.
cdef struct Indices:
    int32_t count                    # but the first
    const gpukern_tensor **further   # but the first
    gpukern_tensor shape             # to which all broadcast; the rest of it is not set

cdef int describe_index(CallContext *call, object index, const Argument *src, Argument *idx,
                        str name=*, bint single_on_host=*) except -1
cdef int describe_indices(CallContext *call, tuple index, object axis, const Argument *src,
                          Argument *idx, Indices *indices) except -1
cdef int describe_own(CallContext *call, object array, object name, Argument *argument) except -1
cdef int copy_to_gpu_of(CallContext *call, const Argument *src, Argument *argument) except -1
