# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Bytes,
    HostArray,
    LibraryArray,
    Number,
    OptionalDevice,
    OtherHostArray,
    OutT,
    Progress,
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
    a: Scalar, x: Array, y: Array, *, out: OutT, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> OutT: ...
@overload
def saxpy(
    a: Scalar, x: LibraryArray[T], y: Array, *, out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def saxpy(
    a: Scalar, x: SupportsCudaArrayInterface | Number, y: Array, *, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> Any: ...
@overload
def saxpy(
    a: Scalar, x: HostArray[ScalarT], y: Array, *, out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[ScalarT]: ...
@overload
def saxpy(
    a: Scalar, x: OtherHostArray, y: Array, *, out: None = None, device: OptionalDevice = None,
    stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
) -> npt.NDArray[Any]: ...
@overload
def saxpy(
    a: Scalar, x: DistributedArray, y: DistributedArray, *, out: DistributedArray | None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> DistributedArray: ...
