# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Literal

from torch import Tensor

from gpukern._typing import Axis, Mode

__all__ = ["axpby", "fma", "gather", "gather_reduce", "saxpy", "scatter"]

def gather(
    source: Tensor, index: Tensor, *, axis: Axis = 0, mode: Mode = "raise", fill_value: complex = 0
) -> Tensor: ...
def scatter(
    target: Tensor,
    index: Tensor,
    values: Tensor | complex,
    *,
    axis: Axis = 0,
    mode: Mode = "raise",
    reduce: Literal["add"] | None = None,
) -> Tensor: ...
def gather_reduce(
    source: Tensor,
    index: Tensor,
    offsets: Tensor,
    *,
    reduce: Literal["sum", "mean"] = "sum",
    weights: Tensor | None = None,
    axis: Axis = 0,
    mode: Mode = "raise",
) -> Tensor: ...
def saxpy(a: complex, x: Tensor, y: Tensor) -> Tensor: ...
def axpby(a: float, x: Tensor, b: float, y: Tensor) -> Tensor: ...
def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor: ...
