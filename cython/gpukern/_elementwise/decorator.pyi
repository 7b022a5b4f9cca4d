# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy.typing as npt

from gpukern._elementwise.dispatch import Elementwise

@overload
def elementwise(
    function: str,
    *,
    inputs: Sequence[str] | None = None,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Elementwise: ...
@overload
def elementwise(
    function: Callable[..., Any],
    *,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Elementwise: ...
@overload
def elementwise(
    function: None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Elementwise]: ...
