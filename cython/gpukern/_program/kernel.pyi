# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias, final

from gpukern._typing import Stream

Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]

@final
class Kernel:
    # Arguments: device arrays, In, Out and InOut, numbers, bytes and structures, None.
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def parameter_sizes(self) -> tuple[int, ...]: ...
    @property
    def max_threads_per_block(self) -> int: ...
    @property
    def preferred_block(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def static_shared_bytes(self) -> int: ...
    @property
    def max_dynamic_shared_bytes(self) -> int: ...
    @property
    def local_bytes(self) -> int: ...
    def __getitem__(
        self,
        configuration: tuple[Sizes, Sizes]
        | tuple[Sizes, Sizes, SupportsIndex]
        | tuple[Sizes, Sizes, SupportsIndex, Stream | None],
    ) -> Launcher: ...
    def launch(
        self,
        grid: Sizes,
        block: Sizes,
        *args: Any,
        shared: SupportsIndex = 0,
        stream: Stream | None = None,
        cooperative: bool = False,
        programmatic_launch: bool = False,
    ) -> None: ...
    def for_size(
        self,
        n: SupportsIndex,
        block: SupportsIndex | None = None,
        *,
        shared: SupportsIndex = 0,
        stream: Stream | None = None,
    ) -> Launcher: ...

@final
class Launcher:
    @property
    def kernel(self) -> Kernel: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    def __call__(self, *args: Any) -> None: ...
