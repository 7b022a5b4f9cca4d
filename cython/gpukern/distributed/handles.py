# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Handles of GPU memory that the ranks of a group send to each other."""

import contextlib
import json
import os
import secrets
import select
import socket
import struct
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from gpukern.distributed.group import Agreement
from gpukern.distributed.liveness import network
from gpukern.errors import GpukernDeviceError

NONE, FILE, FABRIC = 0, 1, 8  # gpukern_handle_type
FABRIC_BYTES = 64
PATIENCE = 30.0  # seconds for all to connect
CREDENTIALS = struct.Struct("3i")  # of SO_PEERCRED: process, user, group
MESSAGE = 64  # descriptors in one; the kernel takes 253


def share(call: Agreement, memory: Any, firsts: npt.NDArray[np.int64]) -> None:
    """Map the parts of the other ranks: by fabric handles, or by files where one rank has none.

    Parameters
    ----------
    call : Agreement
        Of all ranks.
    memory : TableMemory
        With the parts of this rank.
    firsts : ndarray of int
        The first part of each rank, then the number of parts.

    """
    group = call.group
    own = range(int(firsts[group.rank]), int(firsts[group.rank + 1]))
    fabric: list[tuple[int, int, bytes]] = []
    with contextlib.suppress(GpukernDeviceError):
        fabric = [memory.export_part(part, FABRIC) for part in own]
    if call.of_all("the handles of the memory", [len(fabric) == len(own)]).all():
        sent = b"".join(bytes([kind]) + data for kind, _, data in fabric)
        for rank, received in enumerate(group.all_gather(sent)):
            with call:
                if rank != group.rank:
                    for i in range(len(received) // (1 + FABRIC_BYTES)):
                        kind, data = (
                            received[(1 + FABRIC_BYTES) * i],
                            received[(1 + FABRIC_BYTES) * i + 1 : (1 + FABRIC_BYTES) * (i + 1)],
                        )
                        memory.import_part(int(firsts[rank]) + i, kind, -1, data)
        call.of_all("mapping the memory of other ranks")
        return
    _share_files(call, memory, firsts, own)


def _share_files(call: Agreement, memory: Any, firsts: npt.NDArray[np.int64], own: range) -> None:
    group = call.group
    name, address = "", ""
    files: list[int] = []
    kinds: list[int] = []
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        with call:
            for part in own:
                kind, file, _ = memory.export_part(part, FILE)
                kinds.append(kind)
                if kind == FILE:
                    files.append(file)
                    opened.callback(os.close, file)
            # A name without a file, seen in this network namespace.
            address = f"gpukern-{secrets.token_hex(16)}"
            server.bind("\0" + address)
            server.listen(group.size)
            server.settimeout(PATIENCE)
            name = network()
        call.of_all("exporting the memory")
        replies = [
            json.loads(reply) for reply in group.all_gather(json.dumps([name, address]).encode())
        ]
        with call:
            for rank, (other, _) in enumerate(replies):
                if other != name:
                    raise GpukernDeviceError(
                        f"rank {rank} is on another host or in another network namespace, and "
                        "there are no fabric handles: GPU memory cannot be shared with it"
                    )
        call.of_all("the places of the ranks")
        with call:
            stop, stopped = socket.socketpair()
            opened.enter_context(stop)
            opened.enter_context(stopped)
            arguments = (server, stopped, group.size - 1, kinds, files)
            serving = threading.Thread(target=_serve, args=arguments)
            serving.start()
            opened.callback(serving.join)
            opened.callback(stop.close)
        # A rank without a thread would leave the others to wait for its handles.
        call.of_all("sending the memory")
        with call:
            for rank, (_, other) in enumerate(replies):
                if rank == group.rank:
                    continue
                try:
                    _receive(memory, int(firsts[rank]), int(firsts[rank + 1]), "\0" + other)
                except OSError as error:
                    raise GpukernDeviceError(
                        f"rank {rank} did not send the handles of its memory: {error}"
                    ) from None
        call.of_all("mapping the memory of other ranks")


def _serve(
    server: socket.socket, stopped: socket.socket, others: int, kinds: list[int], files: list[int]
) -> None:
    """Send the descriptors to each of the other ranks, which are processes of the same user.

    Ends when all have come, or when the other end of `stopped` is closed: one will not.
    """
    # A shutdown of the server would not end its accept().
    waiting = select.poll()
    for each in (server, stopped):
        waiting.register(each, select.POLLIN)
    with contextlib.suppress(OSError):  # a rank that does not come says why
        while others > 0:
            if server.fileno() not in dict(waiting.poll(1000 * PATIENCE)):
                return
            connection, _ = server.accept()
            with connection:
                raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
                if CREDENTIALS.unpack(raw)[1] != os.getuid():
                    continue
                others -= 1
                connection.settimeout(PATIENCE)
                connection.sendall(bytes(kinds))
                for begin in range(0, len(files), MESSAGE):
                    socket.send_fds(connection, [b"f"], files[begin : begin + MESSAGE])


def _receive(memory: Any, first: int, end: int, address: str) -> None:
    """Map the parts of a rank that listens at an address."""
    kinds, files = b"", list[int]()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(address)
        while len(kinds) < end - first:
            kinds += _required(connection.recv(end - first - len(kinds)))
        try:
            while len(files) < kinds.count(FILE):
                most = min(MESSAGE, kinds.count(FILE) - len(files))
                data, some, _, _ = socket.recv_fds(connection, 1, most)
                files += some
                _required(data)
            taken = iter(files)
            for part, kind in enumerate(kinds, first):
                memory.import_part(part, kind, next(taken) if kind == FILE else -1, b"")
        finally:
            for file in files:
                os.close(file)


def _required(data: bytes) -> bytes:
    if not data:
        raise GpukernDeviceError("a rank ended while it sent handles of its memory")
    return data
