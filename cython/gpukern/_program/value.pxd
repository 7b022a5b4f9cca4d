# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._program.parameter cimport Slot

cdef bint store_value(object value, const Slot *slot, void *to, str what, object type_) except -1
