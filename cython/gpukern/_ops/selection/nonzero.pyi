# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from gpukern._typing import (
    Bytes,
    HostArray,
    LibraryArray,
    OptionalDevice,
    OtherHostArray,
    Progress,
    Stream,
    SupportsCudaArrayInterface,
    T,
)

# fmt: off
@overload
def nonzero(
    mask: LibraryArray[T], *, size: SupportsIndex | None = None, fill_value: SupportsIndex = 0,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> tuple[T, ...]: ...
@overload
def nonzero(
    mask: SupportsCudaArrayInterface, *, size: SupportsIndex | None = None,
    fill_value: SupportsIndex = 0, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> tuple[Any, ...]: ...
@overload
def nonzero(
    mask: HostArray[Any] | OtherHostArray, *, size: SupportsIndex | None = None,
    fill_value: SupportsIndex = 0, device: OptionalDevice = None, stream: Stream = None,
    progress: Progress = None, device_memory: Bytes = None,
) -> tuple[npt.NDArray[np.int64], ...]: ...
