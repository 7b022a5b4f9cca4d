# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from torch import Tensor

from gpukern._typing import Axis, Mode

__all__ = ["gather", "saxpy"]

def gather(
    source: Tensor, index: Tensor, *, axis: Axis = 0, mode: Mode = "raise", fill_value: complex = 0
) -> Tensor: ...
def saxpy(a: complex, x: Tensor, y: Tensor) -> Tensor: ...
