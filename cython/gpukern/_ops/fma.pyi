# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, overload

from gpukern._typing import (
    Array,
    Bytes,
    Int,
    LibraryArray,
    OptionalDevice,
    OutT,
    Progress,
    Rounding,
    Stream,
    T,
)

# fmt: off
@overload
def fma(
    x: Array, y: Array, z: Array, *, out: OutT,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> OutT: ...
@overload
def fma(
    x: LibraryArray[T], y: Array, z: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def fma(
    x: Array, y: Array, z: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
