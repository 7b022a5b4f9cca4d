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
    axpby_into, bincount_into, compress_into, count_nonzero, fma_into, gather_into,
    gather_pairs_into, gather_reduce_rows_into, gather_rows_into, gather_triples_into,
    nonzero_into, put_along_axis_into, saxpy_into, scatter_into, scatter_pairs_into,
    scatter_rows_into, scatter_triples_into, segment_reduce_rows_into, take_along_axis_into,
)
