# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any, SupportsIndex

from gpukern._typing import Array, Device, Scalar, Stream

def saxpy(
    a: Scalar,
    x: Array,
    y: Array,
    *,
    out: Any | None = None,
    device: Device | None = None,
    stream: Stream | None = None,
    progress: Callable[[int, int], object] | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
