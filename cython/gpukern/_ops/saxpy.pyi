# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Bytes,
    Factor,
    HostArray,
    Int,
    LibraryArray,
    Number,
    OptionalDevice,
    OtherHostArray,
    OutT,
    Progress,
    Rounding,
    Scalar,
    ScalarT,
    Stream,
    SupportsCudaArrayInterface,
    T,
)
from gpukern.distributed.array import DistributedArray

# fmt: off
@overload
def saxpy(
    a: Factor, x: Array, y: Array, *, out: OutT,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> OutT: ...
@overload
def saxpy(
    a: Factor, x: LibraryArray[T], y: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def saxpy(
    a: Factor, x: SupportsCudaArrayInterface | Number, y: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> Any: ...
@overload
def saxpy(
    a: Factor, x: HostArray[ScalarT], y: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def saxpy(
    a: Factor, x: OtherHostArray, y: Array, *, out: None = None,
    rounding: Rounding = None, seed: Int | None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def saxpy(
    a: Scalar, x: DistributedArray, y: DistributedArray, *, out: DistributedArray | None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> DistributedArray: ...
