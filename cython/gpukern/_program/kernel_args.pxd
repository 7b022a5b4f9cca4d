# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_launch
from gpukern._program.loaded_kernel cimport LoadedKernel
from gpukern._streams.stream cimport Stream

cdef class HostArgument:
    cdef readonly object array
    cdef bint goes_in, comes_out

cdef int launch_slowly(LoadedKernel kernel, const gpukern_launch *shape, Stream given,
                       tuple args) except -1
