# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any, Literal, SupportsIndex

from gpukern._typing import Array, Device, Stream

# The kind of array that comes out is the kind that went in, which types cannot say in full.
def take_along_axis(
    source: Array,
    index: Array,
    axis: SupportsIndex | None = -1,
    *,
    mode: Literal["raise", "wrap", "clip", "fill"] = "raise",
    fill_value: Any = 0,
    out: Any | None = None,
    device: Device | None = None,
    stream: Stream | None = None,
    progress: Callable[[int, int], object] | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
