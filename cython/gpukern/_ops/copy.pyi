# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any

from gpukern._typing import Array, Device, Stream

def copyto(
    dst: Any, src: Array, *, stream: Stream | None = None, blocking: bool = True
) -> None: ...
def synchronize(device: Device = 0, stream: Stream | None = None) -> None: ...
