# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, Literal, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Axis,
    Bytes,
    HostIndex,
    Index,
    Indices,
    Int,
    JaxArray,
    LibraryArray,
    Mode,
    OptionalDevice,
    Order,
    Output,
    OutT,
    Progress,
    Reduction,
    Scalar,
    Stream,
    T,
)
from gpukern.distributed.array import DistributedArray

# fmt: off
@overload
def scatter(
    target: Array, index: Indices, values: Array | Scalar, *, axis: Axis = 0, mode: Mode = "raise",
    reduce: Reduction = None, order: Order = "fixed", unique: bool = False, out: OutT,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def scatter(
    target: JaxArray[T], index: Indices, values: Array | Scalar, *, axis: Axis = 0,
    mode: Mode = "raise", reduce: Reduction = None, order: Order = "fixed", unique: bool = False,
    out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def scatter(
    target: OutT, index: Indices, values: Array | Scalar, *, axis: Axis = 0, mode: Mode = "raise",
    reduce: Reduction = None, order: Order = "fixed", unique: bool = False, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def scatter(
    target: DistributedArray, index: HostIndex | Int, values: Array | Scalar, *, axis: Axis = 0,
    mode: Mode = "raise", reduce: Reduction = None, order: Order = "fixed", unique: bool = False,
    out: None = None, device: None = None, stream: None = None, progress: None = None,
    device_memory: Bytes = None,
) -> DistributedArray: ...

@overload
def bincount(
    index: HostIndex, weights: Array | None = None, *, size: Bytes = None,
    mode: Literal["raise", "fill"] = "raise", order: Order = "fixed", device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def bincount(
    index: LibraryArray[T], weights: Array | None = None, *, size: Bytes = None,
    mode: Literal["raise", "fill"] = "raise", order: Order = "fixed", device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def bincount(
    index: Index | Output, weights: Array | None = None, *, size: Bytes = None,
    mode: Literal["raise", "fill"] = "raise", order: Order = "fixed", device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
