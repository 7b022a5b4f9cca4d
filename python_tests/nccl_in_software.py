# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""NCCL and the CUDA driver on GPUs in software, for groups of threads.

An exchange runs as late as its stream allows, so that a missing wait gives wrong rows. All ranks
must use device 0: that is where the fake GPU says that an address is.
"""

import contextlib
import ctypes
import itertools
import pickle

import numpy as np

import gpukern
from gpukern import distributed

_handles = itertools.count(0x7000)


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class Driver:
    """The functions of cuda_driver.Driver, by those of libgpukern that tests load."""

    def __init__(self, device):
        self.device, self.library = _Device(2, device), ctypes.CDLL(None)

    def identity(self):
        return str(next(_handles))

    def current(self):
        return contextlib.nullcontext()

    def event(self):
        return ctypes.c_void_p()

    def stream(self):
        return ctypes.c_void_p(next(_handles))

    def call(self, name, *arguments):
        if name == "cuEventRecord":
            event, stream = arguments
            status = self.library.gpukern_event_record(self.device, handle(stream), event_at(event))
        else:
            assert name == "cuStreamWaitEvent"
            stream, event, _ = arguments
            status = self.library.gpukern_stream_wait_event(self.device, handle(stream), event)
        assert status == 0

    def is_done(self, _):
        return True  # without work: who needs the rows has to wait


def handle(stream):
    return ctypes.c_void_p(None if stream.value == 1 else stream.value)


def event_at(event):
    return ctypes.byref(event)


class Rows:
    """Bytes on a GPU by their address."""

    def __init__(self, address, size, stream):
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
            "strides": None, "stream": stream,
        }  # fmt: skip


class Library:
    """NCCL for one thread. The ranks exchange bytes when a group of calls ends."""

    def __init__(self, groups):
        self.groups, self.group, self.calls, self.kept = groups, None, [], []
        self.exchanges = 0
        self.ncclGetErrorString = lambda _: b"an error"

    def __getattr__(self, name):
        return lambda *_: 0

    def ncclCommInitRankConfig(self, comm, size, identity, rank, config):  # noqa: N802
        self.group = self.groups[rank]
        comm._obj.value = rank + 1
        return 0

    def ncclCommAbort(self, _):  # noqa: N802
        self.group.leave("has aborted its communicator")
        return 0

    def ncclGroupStart(self):  # noqa: N802
        self.calls = []
        return 0

    def ncclSend(self, address, size, _, peer, __, stream):  # noqa: N802
        self.calls.append((True, address.value, size.value, peer, stream.value))
        return 0

    def ncclRecv(self, address, size, _, peer, __, stream):  # noqa: N802
        self.calls.append((False, address.value, size.value, peer, stream.value))
        return 0

    def ncclGroupEnd(self):  # noqa: N802
        sent = [[] for _ in range(self.group.size)]
        for sends, address, size, peer, stream in self.calls:
            if sends:
                found = np.empty(size, np.uint8)
                gpukern.copyto(found, Rows(address, size, stream), stream=stream)
                sent[peer].append(found)
        replies = [pickle.loads(reply) for reply in self.group.all_gather(pickle.dumps(sent))]
        received = [iter(reply[self.group.rank]) for reply in replies]
        for sends, address, size, peer, stream in self.calls:
            if not sends:
                found = gpukern.pinned_empty(size, np.uint8)
                found[...] = next(received[peer])
                self.kept.append(found)
                into = Rows(address, size, stream)
                gpukern.copyto(into, found, stream=stream, blocking=False)
        assert all(next(each, None) is None for each in received)
        self.exchanges += 1
        return 0


def use(monkeypatch, storage, size):
    """Let the storages of `size` threads use NCCL in software; return its libraries, by rank."""
    groups = distributed.threads(size)
    libraries = [Library(groups) for _ in range(size)]
    waiting = iter(libraries)
    monkeypatch.setattr(storage, "open_library", lambda: next(waiting))
    monkeypatch.setattr(storage, "Driver", Driver)
    return libraries
