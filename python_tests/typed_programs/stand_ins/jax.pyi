# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What of JAX's types decides the type of a result."""

from typing import Any

import numpy as np

class Array:
    def block_until_ready(self) -> Array: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __dlpack__(self) -> Any: ...
