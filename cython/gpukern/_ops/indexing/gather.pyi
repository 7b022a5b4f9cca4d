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
    HostIndices,
    Index,
    Indices,
    Int,
    LibraryArray,
    Mode,
    NDArrayT,
    OptionalDevice,
    OtherHostArray,
    OtherIndex,
    OtherIndices,
    OutT,
    Progress,
    ScalarT,
    Stream,
    SupportsCudaArrayInterface,
    T,
    TakeMode,
)
from gpukern.distributed.array import DistributedArray

# fmt: off
@overload
def gather(
    source: Array, index: Indices, *, axis: Axis = 0, mode: Mode = "raise", fill_value: Any = 0,
    out: OutT, device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def gather(
    source: LibraryArray[T], index: Indices, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def gather(
    source: SupportsCudaArrayInterface, index: Indices, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def gather(
    source: HostArray[ScalarT], index: HostIndices, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    source: OtherHostArray, index: HostIndices, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def gather(
    source: OtherHostArray, index: OtherIndices, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def gather(
    source: DistributedArray, index: HostIndex, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def gather(
    source: DistributedArray, index: Int, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: None = None, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def gather(
    source: DistributedArray, index: HostIndex | Int, *, axis: Axis = 0, mode: Mode = "raise",
    fill_value: Any = 0, out: NDArrayT, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> NDArrayT: ...
@overload
def take(
    a: Array, indices: Index, axis: Axis = None, *, out: OutT, mode: TakeMode = "raise",
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def take(
    a: Array, indices: Index, axis: Axis, out: OutT, mode: TakeMode = "raise", *,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def take(
    a: LibraryArray[T], indices: Index, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def take(
    a: SupportsCudaArrayInterface, indices: Index, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def take(
    a: HostArray[ScalarT], indices: HostIndex, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def take(
    a: OtherHostArray, indices: HostIndex, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def take(
    a: OtherHostArray, indices: OtherIndex, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def take(
    a: DistributedArray, indices: HostIndex, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def take(
    a: DistributedArray, indices: Int, axis: Axis = None, out: None = None,
    mode: TakeMode = "raise", *, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def take(
    a: DistributedArray, indices: HostIndex | Int, axis: Axis = None, *, out: NDArrayT,
    mode: TakeMode = "raise", device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> NDArrayT: ...
@overload
def take(
    a: DistributedArray, indices: HostIndex | Int, axis: Axis, out: NDArrayT,
    mode: TakeMode = "raise", *, device: None = None, stream: None = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> NDArrayT: ...
