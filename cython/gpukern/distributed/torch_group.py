# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of torch.distributed, whose calls end with an error where a rank has ended."""

import atexit
import numbers
import time
from typing import Any

from gpukern.distributed.live_group import CHECK_INTERVAL, TIMEOUT, LiveGroup
from gpukern.errors import GpukernTypeError, GpukernValueError, PeerLostError

SHORT = 4096  # bytes that go through the connections, which takes a quarter of the time
PATIENCE = 2.0  # seconds in which a rank is found to have ended, after an error of the backend


class TorchGroup(LiveGroup):
    """A process group of torch.distributed as a group."""

    def __init__(self, process_group: Any, timeout: float) -> None:
        try:
            import torch
            import torch.distributed
        except ImportError as error:
            raise ImportError(f"from_torch needs PyTorch: pip install torch ({error})") from error
        if not isinstance(timeout, numbers.Real):
            raise GpukernTypeError(f"from_torch: timeout must be a number, got {timeout!r}")
        if not timeout > 0:
            raise GpukernValueError(f"from_torch: timeout must be positive, got {timeout}")
        self._torch: Any = torch
        self._distributed: Any = torch.distributed
        self._on_gpu: bool = torch.distributed.get_backend(process_group) == "nccl"
        self._process_group: Any = process_group
        self.rank: int = torch.distributed.get_rank(process_group)
        self.size: int = torch.distributed.get_world_size(process_group)
        self._timeout = float(timeout)
        self._connect("from_torch")

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank; through the current GPU with NCCL."""
        data = memoryview(data).tobytes()
        with self._call():
            if self._liveness is None:  # which connects the ranks by this function
                return self._gathered(data)
            fits = len(data) < SHORT
            replies = self._exchanged(b"1" + data if fits else b"0")
            if all(reply[:1] == b"1" for reply in replies):
                return [reply[1:] for reply in replies]
            # A rank that has left since would not take part in a call of torch, which would then
            # meet a later one.
            self._exchanged(b"")
            return self._gathered(data)

    def _gathered(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank, through torch."""
        lengths = [
            int.from_bytes(reply, "little")
            for reply in self._padded(len(data).to_bytes(8, "little"), 8)
        ]
        replies = self._padded(data, max(*lengths, 1))
        return [reply[:length] for reply, length in zip(replies, lengths, strict=True)]

    def _padded(self, data: bytes, size: int) -> list[bytes]:
        """Return the data of all ranks, with zeros up to a size."""
        torch = self._torch
        sent = torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8)
        received = [torch.empty(size, dtype=torch.uint8) for _ in range(self.size)]
        if self._on_gpu:
            sent, received = sent.cuda(), [each.cuda() for each in received]
        arguments = {"group": self._process_group, "async_op": True}
        self._wait(lambda: self._distributed.all_gather(received, sent, **arguments))
        return [each.cpu().numpy().tobytes() for each in received]

    def _fail(self, error: PeerLostError) -> None:
        super()._fail(error)
        atexit.unregister(self._end)  # which kept the group

    def _wait(self, start: Any) -> None:
        """Start a call of torch and wait until it is complete or a rank has ended."""
        work = None
        try:
            work = start()
            self._wait_for(work.is_completed)
            work.wait()
        except PeerLostError:
            raise
        except RuntimeError as error:
            # Backends notice a broken connection before this group does, and do not name the rank.
            failed = time.monotonic()
            end = failed + (PATIENCE if self._liveness else 0)
            while (lost := self._lost(failed)) is None and time.monotonic() < end:
                time.sleep(CHECK_INTERVAL)
            # Others are no errors of a connection, such as one for the lack of memory.
            failed_to_send = work is not None or isinstance(error, self._distributed.DistError)
            if lost is None and not failed_to_send:
                raise
            text = f"a rank of {self.size} has ended, or its connection failed: {error}"
            raise self._failed(lost or PeerLostError(text)) from error


def from_torch(process_group: Any = None, *, timeout: float = TIMEOUT) -> TorchGroup:
    """Make a group of a process group of torch.distributed. Each of its ranks must call this.

    Rows on the host reach all ranks, by ``all_gather``. Each two processes keep a TCP connection;
    other hosts must know a host by its name. Where a rank ends during a call, or leaves it by an
    exception such as KeyboardInterrupt, the others get a :class:`gpukern.errors.PeerLostError` that
    names it, and the group is unusable then.

    The group lives until its ``close()``, which each rank calls, or the end of the process; in a
    ``with`` statement it is closed at the end. It cannot be used in a forked process, nor by
    several threads at once.

    Parameters
    ----------
    process_group : torch.distributed.ProcessGroup, optional
        By default that of all ranks.
    timeout : float, optional
        The seconds after which a call raises a PeerLostError if another rank has not made it, 1800
        by default. Longer messages also have the timeout of the process group.

    Returns
    -------
    TorchGroup

    """
    return TorchGroup(process_group, timeout)
