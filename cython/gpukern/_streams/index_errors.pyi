# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from types import TracebackType
from typing import final

from typing_extensions import Self

@final
class DeferredErrors:
    def check(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def deferred_errors() -> DeferredErrors: ...
