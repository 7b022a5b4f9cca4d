# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, overload

import numpy.typing as npt

from gpukern._typing import (
    Array,
    Bytes,
    Factor,
    LibraryArray,
    OptionalDevice,
    Progress,
    ScalarT,
    Stream,
    T,
)

# A list is invariant in its elements.
_ListT = TypeVar("_ListT", bound=list[Any] | tuple[Any, ...])
_Arrays: TypeAlias = Sequence[Array]

# fmt: off
@overload
def saxpy_many(
    a: Factor, x: _Arrays, y: _Arrays, *, out: _ListT,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> _ListT: ...
@overload
def saxpy_many(
    a: Factor, x: Sequence[LibraryArray[T]], y: _Arrays, *, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> list[T]: ...
@overload
def saxpy_many(
    a: Factor, x: Sequence[npt.NDArray[ScalarT]], y: _Arrays, *, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> list[npt.NDArray[ScalarT]]: ...
@overload
def saxpy_many(
    a: Factor, x: _Arrays, y: _Arrays, *, out: None = None,
    device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
    device_memory: Bytes = None,
) -> list[Any]: ...
