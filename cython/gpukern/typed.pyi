# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing_extensions import Buffer

from gpukern._typing import Scalar

__all__ = ["gather_into", "gather_rows_into", "saxpy_into"]

def gather_into(source: Buffer, index: Buffer, out: Buffer, mode: int = 0) -> None: ...
def gather_rows_into(source: Buffer, index: Buffer, out: Buffer, mode: int = 0) -> None: ...
def saxpy_into(a: Scalar, x: Buffer, y: Buffer, out: Buffer) -> None: ...
