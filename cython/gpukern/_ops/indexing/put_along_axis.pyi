# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import overload

from gpukern._typing import (
    Array,
    Axis,
    Bytes,
    Index,
    JaxArray,
    Mode,
    OptionalDevice,
    Order,
    OutT,
    Progress,
    Reduction,
    Scalar,
    Stream,
    T,
)

# fmt: off
@overload
def put_along_axis(
    target: Array, index: Index, values: Array | Scalar, axis: Axis = -1, *, mode: Mode = "raise",
    reduce: Reduction = None, order: Order = "fixed", unique: bool = False, out: OutT,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
@overload
def put_along_axis(
    target: JaxArray[T], index: Index, values: Array | Scalar, axis: Axis = -1, *,
    mode: Mode = "raise", reduce: Reduction = None, order: Order = "fixed", unique: bool = False,
    out: None = None, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> T: ...
@overload
def put_along_axis(
    target: OutT, index: Index, values: Array | Scalar, axis: Axis = -1, *, mode: Mode = "raise",
    reduce: Reduction = None, order: Order = "fixed", unique: bool = False, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> OutT: ...
