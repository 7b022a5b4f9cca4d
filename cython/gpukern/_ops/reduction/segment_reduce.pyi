# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, Literal, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Axis,
    BagReduction,
    Bytes,
    HostArray,
    Index,
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
def segment_reduce(
    x: Array, offsets: Index, reduce: BagReduction = "sum", *, axis: Axis = 0,
    mode: Literal["raise", "clip"] = "raise", out: OutT, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> OutT: ...
@overload
def segment_reduce(
    x: LibraryArray[T], offsets: Index, reduce: BagReduction = "sum", *, axis: Axis = 0,
    mode: Literal["raise", "clip"] = "raise", out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def segment_reduce(
    x: SupportsCudaArrayInterface, offsets: Index, reduce: BagReduction = "sum", *, axis: Axis = 0,
    mode: Literal["raise", "clip"] = "raise", out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def segment_reduce(
    x: HostArray[ScalarT], offsets: Index, reduce: BagReduction = "sum", *, axis: Axis = 0,
    mode: Literal["raise", "clip"] = "raise", out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def segment_reduce(
    x: OtherHostArray, offsets: Index, reduce: BagReduction = "sum", *, axis: Axis = 0,
    mode: Literal["raise", "clip"] = "raise", out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
