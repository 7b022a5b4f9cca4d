# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Bad indices of calls on GPUs, which a `with deferred_errors()` block reports."""

from libcpp.atomic cimport atomic

from gpukern._capi cimport gpukern_device, gpukern_index_errors

# Of all threads: one plain word is all that other calls read.
cdef atomic[int] open_blocks

cdef gpukern_index_errors *errors_of_block(gpukern_device device) except? NULL
