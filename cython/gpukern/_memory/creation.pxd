# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_device
from gpukern._interop.tensor cimport Tensor

cdef Tensor shape_of(object shape, object dtype, str function)
cdef gpukern_device concrete_device(object device, str what) except *
