# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_launch
from gpukern._program.kernel cimport Kernel

cdef int launch(Kernel kernel, const gpukern_launch *shape, object stream, tuple args) except -1
