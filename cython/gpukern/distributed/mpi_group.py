# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of mpi4py: nonblocking calls, which end with an error where a rank has ended."""

import atexit
import itertools
import os
import time
from typing import Any

import numpy as np

from gpukern.distributed.group import Bytes, Counts, Group
from gpukern.distributed.liveness import Liveness
from gpukern.errors import GpukernValueError, PeerLostError

LOOK = 0.1  # seconds between two looks at the other ranks
GRACE = 2.0  # seconds in which the other ranks see who was lost, before this one ends them
MAX_COUNT = 2**31 - 1  # of MPI's counts

# What MPI may still access after a rank has ended.
_kept: list[Any] = []


class MpiGroup:
    """A communicator of mpi4py as a group; it has its own duplicate."""

    def __init__(self, comm: Any) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                f"from_mpi needs mpi4py: pip install 'gpukern[mpi]' ({error})"
            ) from error
        if comm.Is_inter():
            raise GpukernValueError("from_mpi: comm must be an intracommunicator")
        self._mpi: Any = MPI
        self._comm = comm.Dup()
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self._error: PeerLostError | None = None
        self._types: dict[int, Any] = {}
        self._liveness: Liveness | None = None
        self._liveness = Liveness(self)
        # Before MPI ends: it would wait for a rank that has ended.
        atexit.register(self._end)

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank."""
        sizes = np.empty(self.size, np.int64)
        own = np.array([len(data)], np.int64)
        self._wait(lambda: self._comm.Iallgather(own, sizes), own, sizes)
        if sizes.sum() > MAX_COUNT:
            raise GpukernValueError("all_gather: the data of all ranks exceed 2 GiB")
        starts = np.concatenate(([0], np.cumsum(sizes)))
        gathered = np.empty(starts[-1], np.uint8)
        mine = np.frombuffer(data, np.uint8)
        target = [gathered, (sizes, starts[:-1]), self._mpi.BYTE]
        self._wait(lambda: self._comm.Iallgatherv([mine, self._mpi.BYTE], target), mine, target)
        return [gathered[a:b].tobytes() for a, b in itertools.pairwise(starts)]

    def exchange_rows(
        self,
        rows: Bytes,
        starts: Counts,
        counts: Counts,
        received: Bytes,
        received_starts: Counts,
        received_counts: Counts,
    ) -> None:
        """Send and receive rows; counts are of rows, since they have 32 bits."""
        kind = self._row_type(rows.shape[1])
        send = [rows, (counts, starts), kind]
        receive = [received, (received_counts, received_starts), kind]
        self._wait(lambda: self._comm.Ialltoallv(send, receive), send, receive)

    def _row_type(self, row_bytes: int) -> Any:
        if row_bytes not in self._types:
            self._types[row_bytes] = self._mpi.BYTE.Create_contiguous(row_bytes).Commit()
        return self._types[row_bytes]

    def _wait(self, start: Any, *buffers: Any) -> None:
        """Start a call of MPI and wait until it is complete or a rank has ended."""
        if self._error is not None:
            raise PeerLostError(str(self._error), self._error.rank)
        request, complete = start(), False
        look = time.monotonic() + LOOK
        try:
            while not request.Test():
                os.sched_yield()  # MPI makes progress in Test() only
                if time.monotonic() >= look:
                    self._require_all()
                    look = time.monotonic() + LOOK
            complete = True
        finally:
            if not complete:
                _kept.append((request, buffers))

    def _require_all(self) -> None:
        if self._liveness is None:
            return
        try:
            self._liveness.require_all()
        except PeerLostError as error:
            self._error = error
            raise

    def _end(self) -> None:
        if self._error is not None:
            time.sleep(GRACE)
            self._comm.Abort(1)
        elif self._liveness is not None:
            self._liveness.close()


def from_mpi(comm: Any) -> Group:
    """Make a group of an intracommunicator of mpi4py. Each of its ranks must call this.

    Each two processes keep a connection. Where a rank ends during a call, the others get a
    :class:`gpukern.errors.PeerLostError` that names it; the group is unusable then, and at its end
    such a process calls MPI_Abort, since MPI_Finalize would wait for the lost rank.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        It is duplicated, so that calls of other code on it do not matter.

    Returns
    -------
    group

    """
    return MpiGroup(comm)
