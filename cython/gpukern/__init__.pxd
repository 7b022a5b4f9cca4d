# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""For ``from gpukern cimport ...``: the C ABI, as gpukern.h documents it; check(), which raises the
exception of a failed call; and the typed-memoryview functions.

Compile with gpukern.get_include() on the include path. Who calls the C ABI links libgpukern.so, in
gpukern.get_library_dir(), too; examples/cython_extension does.
"""

from gpukern._capi cimport *
from gpukern._runtime.runtime cimport check
from gpukern.typed cimport (
    gather_into, gather_reduce_rows_into, gather_rows_into, saxpy_into, scatter_into,
    scatter_rows_into, segment_reduce_rows_into,
)
