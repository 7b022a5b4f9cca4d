# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the operations that select by a mask share."""

from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

cdef int describe_mask(CallContext *call, object mask, Argument *msk) except -1
cdef int64_t counted(CallContext *call, const Argument *msk, const gpukern_tensor *part) except -1
cdef int64_t as_size(const CallContext *call, object size) except -1
cdef int require_no_fill_value(str function, object size, object fill_value) except -1
cdef int64_t as_int64(const CallContext *call, object number, str name) except? -1
