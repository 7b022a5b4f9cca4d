# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of the threads of one process."""

import threading

from gpukern.distributed.group import Bytes, Counts, Group, as_int
from gpukern.errors import GpukernValueError, PeerLostError

CHECK_INTERVAL = 0.1  # seconds between two checks of the other threads


class _Meeting:
    """Where the threads of a group meet: a slot for each, and the number of the exchange."""

    def __init__(self, size: int) -> None:
        self.changed = threading.Condition()
        self.threads: list[threading.Thread | None] = [None] * size
        self.slots: list[object] = [None] * size
        self.arrived: set[int] = set()
        self.round = 0
        self.error: PeerLostError | None = None

    def exchange(self, rank: int, value: object) -> list[object]:
        """Return the values of all threads, by rank."""
        with self.changed:
            self._require_usable()
            self._begin(rank)
            self.slots[rank] = value
            self.arrived.add(rank)
            if len(self.arrived) == len(self.slots):
                self.slots, self.values = [None] * len(self.slots), self.slots
                self.arrived = set()
                self.round += 1
                self.changed.notify_all()
                return self.values
            try:
                self._wait(self.round)
            except BaseException as error:
                self.fail(rank, f"stopped in a call: {type(error).__name__}")
                raise
            return self.values

    def _begin(self, rank: int) -> None:
        before, now = self.threads[rank], threading.current_thread()
        if before is not None and before is not now and not before.is_alive():
            # Other threads use the group after those that have ended.
            self.threads = [each if each and each.is_alive() else None for each in self.threads]
        self.threads[rank] = now

    def _wait(self, began: int) -> None:
        while self.round == began:
            self._require_usable()
            if not self.changed.wait(CHECK_INTERVAL):
                for rank, thread in enumerate(self.threads):
                    if thread and rank not in self.arrived and not thread.is_alive():
                        self.fail(rank, "has ended")

    def fail(self, rank: int, reason: str) -> None:
        """Make the calls of all threads raise, from now on."""
        with self.changed:
            text = f"rank {rank} of {len(self.slots)} {reason}"
            self.error = self.error or PeerLostError(text, rank)
            self.changed.notify_all()

    def _require_usable(self) -> None:
        if self.error is not None:
            raise PeerLostError(str(self.error), self.error.rank)


class ThreadGroup:
    """One thread's view of a group of threads."""

    def __init__(self, rank: int, meeting: _Meeting) -> None:
        self.rank = rank
        self.size = len(meeting.slots)
        self._meeting = meeting

    def leave(self, reason: str) -> None:
        """Make the later calls of all threads raise a PeerLostError."""
        self._meeting.fail(self.rank, reason)

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all threads, by rank."""
        return [bytes(each) for each in self._meeting.exchange(self.rank, data)]  # type: ignore[call-overload]

    def exchange_rows(
        self,
        rows: Bytes,
        starts: Counts,
        counts: Counts,
        received: Bytes,
        received_starts: Counts,
        received_counts: Counts,
    ) -> None:
        """Copy rows from the other threads."""
        parts = [rows[a : a + n] for a, n in zip(starts, counts, strict=True)]
        offered = self._meeting.exchange(self.rank, parts)
        for source, (a, n) in enumerate(zip(received_starts, received_counts, strict=True)):
            received[a : a + n] = offered[source][self.rank]  # type: ignore[index]
        self._meeting.exchange(self.rank, None)  # the rows may change from now on


def threads(count: int) -> list[Group]:
    """Make a group of threads of this process: one object for each, by rank.

    A thread that ends without making the call that the others wait in gives them a
    :class:`gpukern.errors.PeerLostError`, once it has made one call. Other threads may use the
    group after these have ended.

    Parameters
    ----------
    count : int
        The number of threads, at least 1.

    Returns
    -------
    list of groups

    """
    count = as_int("threads: count", count)
    if count < 1:
        raise GpukernValueError(f"threads: count must be at least 1, got {count}")
    meeting = _Meeting(count)
    return [ThreadGroup(rank, meeting) for rank in range(count)]
