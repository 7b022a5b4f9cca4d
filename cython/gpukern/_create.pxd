# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._tensor cimport Tensor

cdef Tensor shape_of(object shape, object dtype, str function)
