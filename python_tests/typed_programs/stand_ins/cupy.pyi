# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What of CuPy's types, as its next version declares them, decides the type of a result."""

from typing import Any

class ndarray:
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def __copy__(self) -> ndarray: ...
