# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of torch.distributed."""

from typing import Any

from gpukern.distributed.group import Group, LeavableGroup

FIRST = 1024  # bytes of the first call of all_gather


class TorchGroup(LeavableGroup):
    """A process group of torch.distributed as a group."""

    def __init__(self, process_group: Any) -> None:
        import torch
        import torch.distributed

        self._torch: Any = torch
        self._distributed: Any = torch.distributed
        self._on_gpu = torch.distributed.get_backend(process_group) == "nccl"
        self._process_group = process_group
        self.rank: int = torch.distributed.get_rank(process_group)
        self.size: int = torch.distributed.get_world_size(process_group)

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank; through the current GPU with NCCL."""
        with self._call():
            # Most messages fit into the first call, which has their lengths as well.
            first = len(data).to_bytes(8, "little") + data[: FIRST - 8]
            replies = self._gathered(first, FIRST)
            lengths = [int.from_bytes(reply[:8], "little") for reply in replies]
            if max(lengths) > FIRST - 8:
                replies = self._gathered(first[:8] + data, 8 + max(lengths))
        return [reply[8 : 8 + length] for reply, length in zip(replies, lengths, strict=True)]

    def _gathered(self, data: bytes, size: int) -> list[bytes]:
        """Return the data of all ranks, with zeros up to a size."""
        torch = self._torch
        sent = torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8)
        received = [torch.empty(size, dtype=torch.uint8) for _ in range(self.size)]
        if self._on_gpu:
            sent, received = sent.cuda(), [each.cuda() for each in received]
        self._distributed.all_gather(received, sent, group=self._process_group)
        return [each.cpu().numpy().tobytes() for each in received]


def from_torch(process_group: Any = None) -> Group:
    """Make a group of a process group of torch.distributed, which must be initialized.

    Rows on the host reach all ranks, by ``all_gather``. A rank that ends, or leaves a call by an
    exception, gives the others the error of torch's backend, after its timeout at the latest.

    Parameters
    ----------
    process_group : torch.distributed.ProcessGroup, optional
        By default that of all ranks.

    Returns
    -------
    group

    """
    return TorchGroup(process_group)
