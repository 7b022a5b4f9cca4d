# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy.typing as npt

def pinned_empty(
    shape: SupportsIndex | Sequence[SupportsIndex], dtype: npt.DTypeLike = ...
) -> npt.NDArray[Any]: ...
