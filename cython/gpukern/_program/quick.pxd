# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_launch
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._streams.stream cimport Stream

cdef bint can_launch_quickly(LoadedKernel kernel) noexcept
cdef bint launch_quickly(LoadedKernel kernel, const gpukern_launch *shape, Stream given,
                         tuple args) except -1
