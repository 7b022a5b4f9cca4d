# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy.typing as npt

from gpukern._memory.device_array import DeviceArray
from gpukern._typing import Array, Device, Stream

def empty(
    shape: int | Sequence[int],
    dtype: npt.DTypeLike = ...,
    device: Device = 0,
    stream: Stream | None = None,
) -> DeviceArray: ...
def to_device(array: Array, device: Device = 0, stream: Stream | None = None) -> DeviceArray: ...
def pinned_empty(
    shape: SupportsIndex | Sequence[SupportsIndex], dtype: npt.DTypeLike = ...
) -> npt.NDArray[Any]: ...
