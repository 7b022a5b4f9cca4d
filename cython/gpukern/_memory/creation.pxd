# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cimport numpy as cnp

from gpukern._capi cimport gpukern_device

cdef gpukern_device concrete_device(object device, str what) except *
cdef int require_device_dtype(cnp.dtype dtype, str what) except -1
