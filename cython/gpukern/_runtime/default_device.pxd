# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What $GPUKERN_DEVICE asks for, as wished_device() of the C side reads it."""

cdef enum Wish:
    WISH_NONE
    WISH_CPU
    WISH_CUDA
    WISH_UNKNOWN

cdef Wish wished_device() noexcept
cdef Wish checked_wish() except *
