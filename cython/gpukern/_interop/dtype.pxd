# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp

from gpukern._capi cimport gpukern_dtype

cdef enum:
    FLOAT16 = 23  # NPY_HALF

cdef int describe_dtype(cnp.dtype dtype, gpukern_dtype *described) except -1
cdef object numpy_dtype(gpukern_dtype dtype)
cdef bint is_native(cnp.dtype dtype)
cdef int require_plain(cnp.dtype dtype, str what) except -1
cdef object bfloat16_bits(double value)
