# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of processes whose calls end with an error where one of the processes has ended."""

import atexit
import contextlib
import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from gpukern.distributed.group import LeavableGroup
from gpukern.distributed.liveness import NEVER, Liveness
from gpukern.errors import PeerLostError

CHECK_INTERVAL = 0.1  # seconds between two checks of the other ranks
PAUSE = 0.0002  # seconds
TIMEOUT = 1800.0  # seconds, as of torch.distributed

AnyGroup = TypeVar("AnyGroup", bound="LiveGroup")


class ConnectedGroup(LeavableGroup):
    """A group each two ranks of which keep a connection, which ends with either process."""

    _liveness: Liveness | None = None
    _calls = 0  # that are complete

    def _wait_until(
        self, complete: Callable[[], Any], spin: float = NEVER, timeout: float = NEVER
    ) -> None:
        """Wait until a call is complete, or raise an error if a rank takes no part in it.

        After `spin` seconds it sleeps between two polls.
        """
        began = time.monotonic()
        check = began + CHECK_INTERVAL
        while not complete():
            now = time.monotonic()
            if now > began + spin:
                time.sleep(PAUSE)
            else:
                os.sched_yield()
            if now >= check:
                lost = self._lost(began)
                if lost is None and now > began + timeout:
                    name = type(self).__name__
                    lost = PeerLostError(f"{name}: a call is not complete after {timeout:g} s")
                if lost is not None and not complete():
                    raise self._failed(lost)
                check = time.monotonic() + CHECK_INTERVAL

    def _lost(self, began: float) -> PeerLostError | None:
        """Return an error if a rank takes no part in a call that began at some time."""
        return None if self._liveness is None else self._liveness.lost(self._calls + 1, began)

    def _failed(self, lost: PeerLostError) -> PeerLostError:
        """Leave the group because a rank was lost; return the error to raise."""
        self._fail(lost)
        return PeerLostError(str(lost), lost.rank)


class LiveGroup(ConnectedGroup, ABC):
    """A group of processes; a subclass has ``all_gather`` and waits by one of the methods here."""

    _timeout = TIMEOUT  # of a call

    def _connect(self, function: str) -> None:
        """Connect to the other ranks, which call this too."""
        self._liveness = Liveness(self, function)
        _groups.add(self)
        atexit.register(self._end)

    def _wait_for(self, complete: Callable[[], Any]) -> None:
        """Wait until a call is complete, and count it."""
        self._wait_until(complete)
        self._calls += 1

    def _exchanged(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank, a few KiB at most, through the connections."""
        if self._liveness is None:
            return [data]
        began, call = time.monotonic(), self._calls + 1
        self._liveness.send(data)
        while (found := self._liveness.receive(call, CHECK_INTERVAL)) is None:
            lost = self._lost(began)
            if lost is None and time.monotonic() > began + self._timeout:
                lost = self._liveness.timed_out(self._timeout)
            if lost is not None:
                raise self._failed(lost)
        self._calls += 1
        return [*found[: self.rank], data, *found[self.rank :]]

    def _fail(self, error: PeerLostError) -> None:
        if self._error is None and self._liveness is not None:
            self._liveness.send_shutdown(self._calls, error)
            self._liveness.close()
        super()._fail(error)

    def close(self) -> None:
        """Free the connections and what else the group has; each rank calls it. Later calls raise.

        It waits until each rank has called it or has ended; a rank in another call gets a
        PeerLostError. A second time it does nothing.
        """
        if self._error is None:
            with contextlib.suppress(PeerLostError):
                self.all_gather(b"")
        if self._error is None:
            self.leave("has closed the group")
            atexit.unregister(self._end)
            self.__dict__.pop("_gpukern_storages", None)  # with communicators of NCCL
            self._free()

    @abstractmethod
    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the data of all ranks, by rank."""

    def _free(self) -> None:
        """Free what the group has; no call is running."""

    def __enter__(self: AnyGroup) -> AnyGroup:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the group; after an error, leave it, since other ranks may not have the error."""
        if kind is None:
            self.close()
        else:
            self.leave(f"stopped: {kind.__name__}")

    def _end(self) -> None:
        """Tell the other ranks at the end of the process that this one has ended."""
        if self._error is None and self._liveness is not None:
            # The kernel closes the connections: until then calls may complete.
            self._liveness.send_shutdown(self._calls, self._liveness.ended(self.rank))

    def _after_fork(self) -> None:
        """In a child, which has no connections."""
        self._error = PeerLostError("a group cannot be used in a forked process", self.rank)
        atexit.unregister(self._end)


_groups: "weakref.WeakSet[LiveGroup]" = weakref.WeakSet()


def _after_fork() -> None:
    for group in _groups:
        group._after_fork()


os.register_at_fork(after_in_child=_after_fork)
