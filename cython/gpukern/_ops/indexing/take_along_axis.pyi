# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Axis,
    Bytes,
    HostArray,
    HostIndex,
    Index,
    LibraryArray,
    Mode,
    OptionalDevice,
    OtherHostArray,
    OtherIndex,
    OutT,
    Progress,
    ScalarT,
    Stream,
    SupportsCudaArrayInterface,
    T,
)

# fmt: off
@overload
def take_along_axis(
    source: Array, index: Index, axis: Axis = -1, *, mode: Mode = "raise", fill_value: Any = 0,
    out: OutT, device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def take_along_axis(
    source: LibraryArray[T], index: Index, axis: Axis = -1, *, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def take_along_axis(
    source: SupportsCudaArrayInterface, index: Index, axis: Axis = -1, *, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def take_along_axis(
    source: HostArray[ScalarT], index: HostIndex, axis: Axis = -1, *, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def take_along_axis(
    source: OtherHostArray, index: HostIndex, axis: Axis = -1, *, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def take_along_axis(
    source: OtherHostArray, index: OtherIndex, axis: Axis = -1, *, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
