# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What $GPUKERN_DEVICE asks for, as the C side reads it."""

cdef enum DefaultDevice:
    DEFAULT_NONE
    DEFAULT_CPU
    DEFAULT_CUDA
    DEFAULT_UNKNOWN

cdef DefaultDevice default_device() noexcept
cdef DefaultDevice checked_default_device() except *
