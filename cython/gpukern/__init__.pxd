# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The C ABI and the typed-memoryview functions, for ``from gpukern cimport ...``."""

from gpukern._capi cimport *
from gpukern.typed cimport gather_into, gather_rows_into, saxpy_into
