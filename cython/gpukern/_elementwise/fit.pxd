# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp
from libc.stdint cimport int64_t

from gpukern._interop.operand cimport Operand

cdef bint on_one_gpu(const Operand *operands, int count) noexcept
cdef bint fits(const Operand *operands, int count, int ndim, const int64_t *shape) noexcept
