# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise calls on a GPU. Operand 0 is the output."""

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.specialization cimport Scalars, Specialization
from gpukern._streams.call cimport Argument, CallContext

cdef int enqueue(CallContext *call, Specialization specialization,
                 const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                 int32_t device) except -1
cdef int run_pipeline(CallContext *call, Specialization specialization,
                      const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                      int32_t device, const Argument *out) except -1
