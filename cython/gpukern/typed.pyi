# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, TypeAlias

import numpy.typing as npt
from typing_extensions import Buffer

from gpukern._typing import Scalar

__all__ = [
    "gather_into",
    "gather_reduce_rows_into",
    "gather_rows_into",
    "saxpy_into",
    "scatter_into",
    "scatter_rows_into",
    "segment_reduce_rows_into",
]

# Before Python 3.12 NumPy does not declare that its arrays are buffers.
_Buffer: TypeAlias = Buffer | npt.NDArray[Any]

def gather_into(source: _Buffer, index: _Buffer, out: _Buffer, mode: int = 0) -> None: ...
def gather_reduce_rows_into(
    source: _Buffer, index: _Buffer, offsets: _Buffer, out: _Buffer, mode: int = 0, reduce: int = 1
) -> None: ...
def gather_rows_into(source: _Buffer, index: _Buffer, out: _Buffer, mode: int = 0) -> None: ...
def saxpy_into(a: Scalar, x: _Buffer, y: _Buffer, out: _Buffer) -> None: ...
def scatter_into(
    target: _Buffer, index: _Buffer, values: _Buffer, mode: int = 0, reduce: int = 0
) -> None: ...
def scatter_rows_into(
    target: _Buffer, index: _Buffer, values: _Buffer, mode: int = 0, reduce: int = 0
) -> None: ...
def segment_reduce_rows_into(
    x: _Buffer, offsets: _Buffer, out: _Buffer, mode: int = 0, reduce: int = 1
) -> None: ...
