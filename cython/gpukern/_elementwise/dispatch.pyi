# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any, SupportsIndex, final

import numpy.typing as npt

from gpukern._typing import Array, Device, Scalar, Stream

@final
class Elementwise:
    __name__: str
    __qualname__: str
    @property
    def inputs(self) -> tuple[str, ...]: ...
    def result_dtype(self, *dtypes: npt.DTypeLike) -> str: ...
    def source(self, *dtypes: npt.DTypeLike) -> str: ...
    def __call__(
        self,
        *arguments: Array | Scalar,
        out: Any | None = None,
        device: Device | None = None,
        stream: Stream | None = None,
        progress: Callable[[int, int], object] | None = None,
        device_memory: SupportsIndex | None = None,
    ) -> Any: ...
