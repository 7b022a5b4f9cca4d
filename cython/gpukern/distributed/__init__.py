# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Tables over several GPUs and processes: one part or more on each rank of a group.

A group is any object with `rank`, `size` and ``all_gather(bytes)``; :func:`from_mpi`,
:func:`from_torch` and :func:`threads` make groups. A :class:`DistributedArray` of
:func:`from_local` or :func:`empty` goes into :func:`gpukern.gather`, :func:`gpukern.take`,
:func:`gpukern.scatter` and :func:`gpukern.saxpy` like any array. Calls on it are collective: each
rank of the group makes the same call, with its own index. ``import gpukern`` does not import this
module, and this module imports neither mpi4py nor torch.
"""

from gpukern.distributed.array import DistributedArray, empty, from_local
from gpukern.distributed.device_table import DeviceTable
from gpukern.distributed.group import Group
from gpukern.distributed.host import host_table
from gpukern.distributed.mpi_group import MpiGroup, from_mpi
from gpukern.distributed.thread_group import threads
from gpukern.distributed.torch_group import TorchGroup, from_torch

__all__ = [
    "DeviceTable",
    "DistributedArray",
    "Group",
    "MpiGroup",
    "TorchGroup",
    "empty",
    "from_local",
    "from_mpi",
    "from_torch",
    "host_table",
    "threads",
]
