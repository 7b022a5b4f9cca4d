# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, SupportsIndex, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Axis,
    Bytes,
    HostArray,
    LibraryArray,
    OptionalDevice,
    OtherHostArray,
    OutT,
    Progress,
    ScalarT,
    Stream,
    SupportsCudaArrayInterface,
    T,
)

# fmt: off
@overload
def compress(
    mask: Array, x: Array, axis: Axis = None, *, size: SupportsIndex | None = None,
    fill_value: Any = 0, out: OutT, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> OutT: ...
@overload
def compress(
    mask: Array, x: LibraryArray[T], axis: Axis = None, *, size: SupportsIndex | None = None,
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def compress(
    mask: Array, x: SupportsCudaArrayInterface, axis: Axis = None, *,
    size: SupportsIndex | None = None,
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def compress(
    mask: Array, x: HostArray[ScalarT], axis: Axis = None, *, size: SupportsIndex | None = None,
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def compress(
    mask: Array, x: OtherHostArray, axis: Axis = None, *, size: SupportsIndex | None = None,
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
