# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of mpi4py: nonblocking calls, which end with an error where a rank has ended."""

import itertools
import time
from typing import Any

import numpy as np

from gpukern.distributed.group import Bytes, Counts
from gpukern.distributed.live_group import LiveGroup
from gpukern.errors import GpukernValueError

GRACE = 2.0  # seconds in which the other ranks see who was lost, before this one ends them
MAX_COUNT = 2**31 - 1  # of MPI's counts

# What MPI may still access after a rank has ended.
_kept: list[Any] = []


class MpiGroup(LiveGroup):
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
        self._pending = False  # whether a call of MPI never completes
        self._types: dict[int, Any] = {}
        self._connect("from_mpi")

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank."""
        sizes = np.empty(self.size, np.int64)
        own = np.array([len(data)], np.int64)
        with self._call():
            self._wait(lambda: self._comm.Iallgather(own, sizes), own, sizes)
        if sizes.sum() > MAX_COUNT:
            raise GpukernValueError("all_gather: the data of all ranks exceed 2 GiB")
        with self._call():
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
        with self._call():
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
        request, complete = start(), False
        try:
            self._wait_for(request.Test)  # in which alone MPI makes progress
            complete = True
        finally:
            if not complete:
                self._pending = True
                _kept.append((request, buffers))

    def _free(self) -> None:
        for kind in self._types.values():
            kind.Free()
        self._comm.Free()

    def _end(self) -> None:
        if self._pending and not self._mpi.Is_finalized():
            time.sleep(GRACE)
            self._comm.Abort(1)
        else:
            super()._end()  # before MPI ends: it would wait for a rank that has ended


def from_mpi(comm: Any) -> MpiGroup:
    """Make a group of an intracommunicator of mpi4py. Each of its ranks must call this.

    Each two processes keep a connection. Where a rank ends during a call, or leaves it by an
    exception such as KeyboardInterrupt, the others get a :class:`gpukern.errors.PeerLostError` that
    names it; the group is unusable then, and at its end such a process calls MPI_Abort, since
    MPI_Finalize would wait for the lost rank.

    The group lives until its ``close()``, which each rank calls, or the end of the process; in a
    ``with`` statement it is closed at the end. It cannot be used in a forked process.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        It is duplicated, so that calls of other code on it do not matter.

    Returns
    -------
    MpiGroup

    """
    return MpiGroup(comm)
