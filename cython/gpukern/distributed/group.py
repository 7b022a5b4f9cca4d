# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of ranks: what they are, how they agree, and how they exchange rows."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpukern import errors

Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]


class Group(Protocol):
    """The ranks that share a table.

    ``all_gather(data)`` returns the data of every rank, by rank; each rank must call it. A group
    may also have ``exchange_rows``, with the arguments of ``exchange_rows()`` of this module behind
    the group; without it, rows go to all ranks by ``all_gather``.
    """

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the data of all ranks, by rank."""


def exchange_rows(
    group: Group,
    rows: Bytes,
    starts: Counts,
    counts: Counts,
    received: Bytes,
    received_starts: Counts,
    received_counts: Counts,
) -> None:
    """Send rows to each rank, and receive rows from each.

    Parameters
    ----------
    group : Group
        Each of its ranks calls this.
    rows, received : ndarray of uint8
        Of shape (rows, bytes of a row), C-contiguous.
    starts, counts, received_starts, received_counts : ndarray of int64
        The first row and the number of rows for, or from, each rank.

    """
    own = getattr(group, "exchange_rows", None)
    if own is not None:
        own(rows, starts, counts, received, received_starts, received_counts)
        return
    parts = [rows[a : a + n].tobytes() for a, n in zip(starts, counts, strict=True)]
    # All parts go to all ranks, each behind the sizes of its sender's parts.
    sizes = np.array([len(part) for part in parts], np.int64)
    for source, message in enumerate(group.all_gather(sizes.tobytes() + b"".join(parts))):
        ends = 8 * group.size + np.cumsum(np.frombuffer(message, np.int64, group.size))
        begin = 8 * group.size if group.rank == 0 else int(ends[group.rank - 1])
        part = np.frombuffer(message, np.uint8)[begin : int(ends[group.rank])]
        a, n = int(received_starts[source]), int(received_counts[source])
        received[a : a + n] = part.reshape(n, rows.shape[1])


class Agreement(AbstractContextManager["Agreement", bool]):
    """What a rank does between two exchanges, so that the error of one reaches all.

    The errors of the block are held until :meth:`of_all` has told the other ranks.
    """

    def __init__(self, group: Group, function: str) -> None:
        for member in ("rank", "size", "all_gather"):
            if not hasattr(group, member):
                raise errors.GpukernTypeError(
                    f"{function}: group must have rank, size and all_gather, "
                    f"got {type(group).__name__}"
                )
        self.group = group
        self.function = function
        self.error: BaseException | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Hold the error, unless another came first."""
        if self.error is None:
            self.error = error
        return True

    def of_all(self, call: str = "", numbers: Sequence[int] | Counts = ()) -> Counts:
        """Return the numbers of all ranks, by rank, or raise the first error on each of them.

        `call` says what the ranks do, and must be the same on all.
        """
        failed = None if self.error is None else [type(self.error).__name__, str(self.error)]
        message = json.dumps([call, [int(number) for number in numbers], failed])
        replies = [json.loads(reply) for reply in self.group.all_gather(message.encode())]
        for rank, (_, _, failure) in enumerate(replies):
            if failure is not None:
                self._raise(rank, *failure)
        require_equal(self.function, "calls", [reply[0] for reply in replies])
        return np.array([reply[1] for reply in replies], np.int64)

    def _raise(self, rank: int, name: str, text: str) -> None:
        error, self.error = self.error, None
        if error is not None and (rank == self.group.rank or not isinstance(error, Exception)):
            raise error
        kind: Callable[[str], Exception] | None = getattr(errors, name, None)
        if kind is None or name == "GpukernAxisError":
            raise errors.GpukernCancelledError(
                f"{self.function}: rank {rank} stopped: {name}: {text}"
            )
        raise kind(text)


def require_equal(function: str, what: str, values: Sequence[Any]) -> None:
    """Raise a ValueError that names the ranks whose value is not that of most ranks."""
    texts = [str(value) for value in values]
    usual = max(texts, key=texts.count)
    others = [f"{text} on rank {rank}" for rank, text in enumerate(texts) if text != usual]
    if others:
        raise errors.GpukernValueError(
            f"{function}: the {what} of the ranks differ: {usual}, but {', '.join(others)}"
        )
