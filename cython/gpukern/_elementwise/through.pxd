# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.specialization cimport Numbers, Signature
from gpukern._streams.stream cimport Launch

cdef int through(Signature signature, const gpukern_tensor *const *operands, int count,
                 Numbers *numbers, int32_t device, Launch where, object progress) except -1
