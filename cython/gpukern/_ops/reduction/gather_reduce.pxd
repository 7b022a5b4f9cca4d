# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What gather_reduce and segment_reduce share: the whole call."""

cdef object reduce_items(str function, object source, bint has_index, object index, object offsets,
                         object reduce, object weights, object axis, object mode, object out,
                         object device, object stream, object progress,
                         object device_memory)
