# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, TypeAlias

import numpy.typing as npt
from typing_extensions import Buffer

from gpukern._typing import Scalar

__all__ = [
    "axpby_into",
    "bincount_into",
    "compress_into",
    "count_nonzero",
    "fma_into",
    "gather_into",
    "gather_pairs_into",
    "gather_reduce_rows_into",
    "gather_rows_into",
    "gather_triples_into",
    "nonzero_into",
    "put_along_axis_into",
    "saxpy_into",
    "scatter_into",
    "scatter_pairs_into",
    "scatter_rows_into",
    "scatter_triples_into",
    "segment_reduce_rows_into",
    "take_along_axis_into",
]

# Before Python 3.12 NumPy does not declare that its arrays are buffers.
_Buffer: TypeAlias = Buffer | npt.NDArray[Any]

def axpby_into(a: Scalar, x: _Buffer, b: Scalar, y: _Buffer, out: _Buffer) -> None: ...
def bincount_into(index: _Buffer, out: _Buffer, mode: int = 0) -> None: ...
def compress_into(mask: _Buffer, x: _Buffer, out: _Buffer) -> int: ...
def count_nonzero(mask: _Buffer) -> int: ...
def fma_into(x: _Buffer, y: _Buffer, z: _Buffer, out: _Buffer) -> None: ...
def gather_into(source: _Buffer, index: _Buffer, out: _Buffer, mode: int = 0) -> None: ...
def gather_pairs_into(
    source: _Buffer, i: _Buffer, j: _Buffer, out: _Buffer, mode: int = 0
) -> None: ...
def gather_reduce_rows_into(
    source: _Buffer, index: _Buffer, offsets: _Buffer, out: _Buffer, mode: int = 0, reduce: int = 1
) -> None: ...
def gather_rows_into(source: _Buffer, index: _Buffer, out: _Buffer, mode: int = 0) -> None: ...
def gather_triples_into(
    source: _Buffer, i: _Buffer, j: _Buffer, k: _Buffer, out: _Buffer, mode: int = 0
) -> None: ...
def nonzero_into(mask: _Buffer, out: _Buffer) -> int: ...
def put_along_axis_into(
    target: _Buffer, index: _Buffer, values: _Buffer, axis: int, mode: int = 0, reduce: int = 0
) -> None: ...
def saxpy_into(a: Scalar, x: _Buffer, y: _Buffer, out: _Buffer) -> None: ...
def scatter_into(
    target: _Buffer, index: _Buffer, values: _Buffer, mode: int = 0, reduce: int = 0
) -> None: ...
def scatter_pairs_into(
    target: _Buffer, i: _Buffer, j: _Buffer, values: _Buffer, mode: int = 0, reduce: int = 0
) -> None: ...
def scatter_rows_into(
    target: _Buffer, index: _Buffer, values: _Buffer, mode: int = 0, reduce: int = 0
) -> None: ...
def scatter_triples_into(
    target: _Buffer,
    i: _Buffer,
    j: _Buffer,
    k: _Buffer,
    values: _Buffer,
    mode: int = 0,
    reduce: int = 0,
) -> None: ...
def segment_reduce_rows_into(
    x: _Buffer, offsets: _Buffer, out: _Buffer, mode: int = 0, reduce: int = 1
) -> None: ...
def take_along_axis_into(
    source: _Buffer, index: _Buffer, axis: int, out: _Buffer, mode: int = 0
) -> None: ...
