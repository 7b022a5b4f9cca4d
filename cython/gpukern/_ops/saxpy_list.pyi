# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from typing import Any, final

from typing_extensions import Self

from gpukern._typing import Array, Bytes, OptionalDevice, Output, Progress, Scalar, Stream

@final
class SaxpyList:
    @property
    def out(self) -> tuple[Any, ...]: ...
    def __new__(cls, x: Sequence[Array], y: Sequence[Array], out: Sequence[Output]) -> Self: ...
    def __call__(
        self,
        a: Scalar,
        *,
        device: OptionalDevice = None,
        stream: Stream = None,
        progress: Progress = None,
        device_memory: Bytes = None,
    ) -> tuple[Any, ...]: ...
