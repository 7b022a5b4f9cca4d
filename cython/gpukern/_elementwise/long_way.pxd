# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

cdef object long_way(object function, dict signatures, tuple arguments, object out, object device,
                     object stream, object progress, object device_memory)
