# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Memory that the processes of a host share."""

import contextlib
import errno
import json
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from gpukern.distributed.group import Agreement, Group
from gpukern.distributed.liveness import network
from gpukern.errors import GpukernMemoryError, GpukernTypeError, GpukernValueError

CGROUP_LIMIT = "/sys/fs/cgroup/memory.max"
STEP = 64 << 20  # bytes to reserve at a time
SPARE = 256 << 20  # bytes to leave to other processes


def host_table(
    shape: int | tuple[int, ...], dtype: npt.DTypeLike, group: Group
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

    Returns
    -------
    ndarray

    Raises
    ------
    MemoryError
        On each rank, if a host does not have the memory.
    TypeError, ValueError
        On each rank, for invalid arguments.

    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = np.dtype(dtype)
    call = Agreement(group, "host_table")
    with call:
        if kind.hasobject or kind.kind == "T":
            raise GpukernTypeError(f"host_table: dtype must be of a fixed width, got {kind}")
        if min(sizes, default=0) < 0:
            raise GpukernValueError(f"host_table: shape must not be negative, got {sizes}")
    call.of_all(f"host_table of {sizes} {kind}")
    hosts = group.all_gather(network().encode())
    first = hosts.index(hosts[group.rank])
    size = max(int(np.prod(sizes, dtype=np.int64)) * kind.itemsize, 1)
    descriptor = -1
    with call:
        if group.rank == first:
            descriptor = _reserved(size)
    places = group.all_gather(json.dumps([os.getpid(), descriptor]).encode())
    try:
        call.of_all("the memory of host_table")
        with call:
            if group.rank != first:
                process, number = json.loads(places[first])
                descriptor = _opened(process, number, first)
            memory = _mapped(descriptor, size)
        call.of_all("the mapping of host_table")
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    count = int(np.prod(sizes, dtype=np.int64))
    return np.frombuffer(memory, np.uint8)[: count * kind.itemsize].view(kind).reshape(sizes)


def _reserved(size: int) -> int:
    """Return the descriptor of new memory, all of which exists."""
    limit = _cgroup_limit()
    if limit is not None and size > limit:
        raise GpukernMemoryError(
            f"host_table: {size} bytes exceed the {limit} bytes that {CGROUP_LIMIT} allows"
        )
    descriptor = os.memfd_create("gpukern_host_table")
    try:
        for begin in range(0, size, STEP):
            # At each step, since virtual machines may get more memory as they use it.
            if _available() < SPARE + min(STEP, size - begin):
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            os.posix_fallocate(descriptor, begin, min(STEP, size - begin))
    except OSError as error:
        os.close(descriptor)
        raise GpukernMemoryError(
            f"host_table: this host has no memory for {size} bytes: {error.strerror}"
        ) from None
    return descriptor


def _cgroup_limit() -> int | None:
    with contextlib.suppress(OSError, ValueError), open(CGROUP_LIMIT, encoding="ascii") as file:
        return int(file.read())
    return None


def _available() -> int:
    """Return the bytes of memory that can be had now, without the death of another process."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    return int(lines["MemAvailable"].split()[0]) << 10


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
    """Map the memory; the place where it would be page-locked for GPUs."""
    memory = mmap.mmap(descriptor, size)
    with contextlib.suppress(OSError):  # kernels without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
