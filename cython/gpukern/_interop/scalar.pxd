# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_dtype
from gpukern._interop.tensor cimport Tensor

cdef Tensor fill_tensor(object fill_value, Tensor source)
cdef int store_scalar(object a, gpukern_dtype dtype, void *stored) except -1
cdef object float_of_int(object value)
