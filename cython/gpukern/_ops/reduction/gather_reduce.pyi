# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Axis,
    BagReduction,
    Bytes,
    HostArray,
    Index,
    LibraryArray,
    Mode,
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
def gather_reduce(
    source: Array, index: Index, offsets: Index, *, reduce: BagReduction = "sum",
    weights: Array | None = None, axis: Axis = 0, mode: Mode = "raise", out: OutT,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def gather_reduce(
    source: LibraryArray[T], index: Index, offsets: Index, *, reduce: BagReduction = "sum",
    weights: Array | None = None, axis: Axis = 0, mode: Mode = "raise", out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> T: ...
@overload
def gather_reduce(
    source: SupportsCudaArrayInterface, index: Index, offsets: Index, *,
    reduce: BagReduction = "sum", weights: Array | None = None, axis: Axis = 0,
    mode: Mode = "raise", out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def gather_reduce(
    source: HostArray[ScalarT], index: Index, offsets: Index, *, reduce: BagReduction = "sum",
    weights: Array | None = None, axis: Axis = 0, mode: Mode = "raise", out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather_reduce(
    source: OtherHostArray, index: Index, offsets: Index, *, reduce: BagReduction = "sum",
    weights: Array | None = None, axis: Axis = 0, mode: Mode = "raise", out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
