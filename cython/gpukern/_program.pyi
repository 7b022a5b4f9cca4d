# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterable, Mapping
from typing import Any, final

from gpukern._kernel import Kernel
from gpukern._typing import Device

@final
class Program:
    def __init__(
        self,
        source: str,
        options: Iterable[str] = (),
        name: str = "program.cu",
        headers: Mapping[str, str] | None = None,
        name_expressions: Iterable[str] = (),
        architecture: str | None = None,
        device: Device | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def ptx(self) -> str: ...
    @property
    def cubin(self) -> bytes: ...
    @property
    def log(self) -> str: ...
    @property
    def architecture(self) -> str: ...
    @property
    def kernel_names(self) -> tuple[str, ...]: ...
    def kernel(self, name: str, device: Device | None = None) -> Kernel: ...

def cache_info() -> dict[str, Any]: ...
def clear_cache() -> None: ...
def nvrtc_status() -> dict[str, Any]: ...
