# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of torch.distributed."""

from typing import Any

from gpukern.distributed.group import Group, LeavableGroup


class TorchGroup(LeavableGroup):
    """A process group of torch.distributed as a group."""

    def __init__(self, process_group: Any) -> None:
        import torch.distributed

        self._distributed: Any = torch.distributed
        self._process_group = process_group
        self.rank: int = torch.distributed.get_rank(process_group)
        self.size: int = torch.distributed.get_world_size(process_group)

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of all ranks, by rank; through the current GPU with NCCL."""
        gathered: list[Any] = [None] * self.size
        with self._call():
            self._distributed.all_gather_object(gathered, bytes(data), group=self._process_group)
        return gathered


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
