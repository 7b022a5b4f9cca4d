# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The types of the arguments that the functions share."""

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

class SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class SupportsCudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class SupportsCudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

Array: TypeAlias = npt.ArrayLike | SupportsDLPack | SupportsCudaArrayInterface
Scalar: TypeAlias = complex | np.number[Any] | np.bool | npt.NDArray[Any]
Device: TypeAlias = str | int
# torch's and CuPy's streams before they had __cuda_stream__ are taken as well.
Stream: TypeAlias = int | SupportsCudaStream | Any
