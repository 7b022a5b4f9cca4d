# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Memory that the processes of a host share."""

import contextlib
import errno
import math
import mmap
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpukern._memory.creation import pinned_array
from gpukern.distributed.group import Group, as_dtype, collective, of_all_ranks, sizes_of
from gpukern.distributed.liveness import network
from gpukern.errors import GpukernMemoryError, GpukernTypeError, GpukernValueError

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
GROWTH = 16  # times the memory that a virtual machine says to have
STEP = 64 << 20  # bytes to reserve at a time
SPARE = 256 << 20  # bytes to leave to other processes


@of_all_ranks
def host_table(
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    group: Group,
    *,
    pinned: bool = False,
) -> npt.NDArray[Any]:
    """Make an array of zeros whose memory the processes of a host share.

    Each rank must call it. In a group over several hosts, each host has an array. The ranks order
    their accesses themselves, for example by ``group.all_gather(b"")``. The memory is freed when no
    process of the host has the array any more, also if all of them are killed. It is reserved at
    once, so that a later access cannot fail for lack of memory.

    Parameters
    ----------
    shape : int or tuple of int
        The same on each rank.
    dtype : dtype
        Of any fixed-width type; the same on each rank.
    group : group
        See :class:`Group`.
    pinned : bool
        Whether to page-lock the memory for the GPUs of this rank, which read it in place then. It
        creates a CUDA context and takes tens of milliseconds for each gigabyte; without a GPU it
        does nothing.

    Returns
    -------
    ndarray

    Raises
    ------
    MemoryError
        On each rank, if a host does not have the memory, or it cannot be page-locked.
    TypeError, ValueError
        On each rank, for invalid arguments.

    """
    sizes: tuple[int, ...] = ()
    kind: np.dtype[Any] = np.dtype("u1")
    size, network_name = 0, ""
    array: npt.NDArray[Any] = np.empty(0, kind)
    with contextlib.ExitStack() as opened, collective(group, "host_table") as call:
        with call:
            if not isinstance(pinned, (bool, np.bool_)):
                raise GpukernTypeError(
                    f"host_table: pinned must be a bool, got {type(pinned).__name__}"
                )
            kind = as_dtype("host_table", dtype)
            if kind.hasobject or kind.kind == "T":
                raise GpukernTypeError(f"host_table: dtype must be of a fixed width, got {kind}")
            sizes = sizes_of("host_table", shape)
            size = math.prod(sizes) * kind.itemsize
            _require_possible(size)
            network_name = network()
        call.of_all("host_table", dtype=kind, shape=sizes)
        hosts = group.all_gather(network_name.encode())
        first = hosts.index(hosts[group.rank])
        descriptor = -1
        with call:
            if group.rank == first:
                descriptor = os.memfd_create("gpukern_host_table")
                opened.callback(os.close, descriptor)
                _reserve(descriptor, max(size, 1))
        places = call.of_all("the memory of host_table", [os.getpid(), descriptor])
        with call:
            if group.rank != first:
                descriptor = _opened(int(places[first, 0]), int(places[first, 1]), first)
                opened.callback(os.close, descriptor)
            memory = _mapped(descriptor, max(size, 1))
            if pinned and size:
                array = pinned_array(memory, size, kind, sizes)
            else:
                array = np.ndarray(sizes, kind, memory)
        call.of_all("the mapping of host_table")
    return array


def _require_possible(size: int) -> None:
    """Raise a MemoryError for a size that this host cannot have, before any is reserved."""
    # Virtual machines may get more memory as they use it, so MemTotal itself is no limit.
    limits = [sys.maxsize, GROWTH * _memory_info("MemTotal")]
    for file in _cgroup_limits():
        with contextlib.suppress(OSError, ValueError):  # a group without one, or "max"
            limits.append(int(file.read_text("ascii")))
    if size > min(limits):
        raise GpukernMemoryError(
            f"host_table: {size} bytes exceed the {min(limits)} bytes that this host can have"
        )


def _cgroup_limits() -> Iterator[Path]:
    """Yield the files with the limits of this process's control groups, of either version."""
    for line in OWN_CGROUPS.read_text().splitlines() if OWN_CGROUPS.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        own = root / path.lstrip("/")
        for group in (own, *own.parents):
            if group.is_relative_to(root):
                yield group / ("memory.limit_in_bytes" if controllers else "memory.max")


def _reserve(descriptor: int, size: int) -> None:
    """Make all memory of a file exist."""
    try:
        for begin in range(0, size, STEP):
            # At each step, for the same virtual machines.
            if _memory_info("MemAvailable") < SPARE + min(STEP, size - begin):
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            os.posix_fallocate(descriptor, begin, min(STEP, size - begin))
    except OSError as error:
        raise GpukernMemoryError(
            f"host_table: this host has no memory for {size} bytes: {error.strerror}"
        ) from None


def _memory_info(name: str) -> int:
    """Return bytes; MemAvailable can be had without the death of another process."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    return int(lines[name].split()[0]) << 10


def _opened(process: int, descriptor: int, rank: int) -> int:
    """Return a descriptor of the memory that another process has."""
    try:
        return os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise GpukernValueError(
            f"host_table: the memory of rank {rank}, process {process}, cannot be opened: "
            f"{error.strerror}; the processes need one user and one PID namespace"
        ) from None


def _mapped(descriptor: int, size: int) -> mmap.mmap:
    """Map the memory, by huge pages if the kernel has them."""
    memory = mmap.mmap(descriptor, size)
    with contextlib.suppress(OSError):  # kernels without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
