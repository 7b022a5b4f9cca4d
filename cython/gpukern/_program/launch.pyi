# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any, final

import numpy.typing as npt

class HostArgument:
    def __init__(self, array: npt.ArrayLike) -> None: ...
    @property
    def array(self) -> Any: ...

@final
class In(HostArgument): ...

@final
class Out(HostArgument): ...

@final
class InOut(HostArgument): ...
