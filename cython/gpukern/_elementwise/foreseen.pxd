# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_exec, gpukern_tensor
from gpukern._elementwise.specialization cimport Signature

cdef int foresee_on_gpu(const gpukern_exec *exec_, Signature signature,
                        const gpukern_tensor *const *operands, int count) except -1
cdef int foresee_on_cpu(const gpukern_exec *exec_, Signature signature, list views,
                        object shape) except -1
