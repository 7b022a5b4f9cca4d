# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any

from gpukern._typing import Stream

class Explanation:
    op: str
    place: str
    why: str
    path: str
    threads: int
    chunks: int
    bytes_read: int
    bytes_written: int
    bytes_to_device: int
    bytes_from_device: int
    bytes_allocated: int

def explain(
    op: Callable[..., Any], /, *args: Any, stream: Stream | None = None, **kwargs: Any
) -> Explanation: ...
