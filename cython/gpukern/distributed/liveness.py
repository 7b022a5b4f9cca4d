# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Which processes of a group still run: a connection between each two, which ends with either.

The kernel closes the connections of a process that ends in any way. Those between hosts also have
keep-alive probes, for a host that stops.
"""

import contextlib
import json
import os
import secrets
import select
import socket

from gpukern.distributed.group import Group
from gpukern.errors import PeerLostError

KEY_BYTES = 16
RANK_BYTES = 4
PATIENCE = 30.0  # seconds for all to connect
# An idle connection to a host that stopped ends after 3 + 2 * 2 seconds.
PROBES = ((socket.TCP_KEEPIDLE, 3), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 2))


class Liveness:
    """The connections of this process to the others of its group. All ranks make one together."""

    def __init__(self, group: Group) -> None:
        self.size = group.size
        self.peers: dict[int, tuple[int, socket.socket]] = {}  # rank and socket, by descriptor
        self.poll = select.poll()
        if group.size == 1:
            return
        hosts = group.all_gather(network().encode())
        local = len(set(hosts)) == 1
        with socket.create_server(("127.0.0.1" if local else "", 0), backlog=group.size) as server:
            key = secrets.token_hex(KEY_BYTES)
            mine = [socket.gethostname(), server.getsockname()[1], key]
            known = [json.loads(each) for each in group.all_gather(json.dumps(mine).encode())]
            for rank in range(group.rank):  # towards the lower ranks
                name, port, key = known[rank]
                address = "127.0.0.1" if hosts[rank] == hosts[group.rank] else name
                peer = socket.create_connection((address, port), PATIENCE)
                peer.sendall(bytes.fromhex(key) + group.rank.to_bytes(RANK_BYTES, "little"))
                self._add(rank, peer)
            server.settimeout(PATIENCE)
            while len(self.peers) < group.size - 1:
                self._accept(server, bytes.fromhex(mine[2]))

    def _accept(self, server: socket.socket, key: bytes) -> None:
        peer = server.accept()[0]
        peer.settimeout(PATIENCE)
        hello = peer.recv(KEY_BYTES + RANK_BYTES, socket.MSG_WAITALL)
        if hello[:KEY_BYTES] != key:  # not of this group
            peer.close()
            return
        self._add(int.from_bytes(hello[KEY_BYTES:], "little"), peer)

    def _add(self, rank: int, peer: socket.socket) -> None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in PROBES:
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
        self.peers[peer.fileno()] = rank, peer
        self.poll.register(peer, select.POLLIN)

    def require_all(self) -> None:
        """Raise a PeerLostError that names a process that has ended."""
        # Nothing is ever sent, so a connection with an event has ended.
        lost = sorted(self.peers[descriptor][0] for descriptor, _ in self.poll.poll(0))
        if lost:
            raise PeerLostError(f"rank {lost[0]} of {self.size} has ended", lost[0])

    def close(self) -> None:
        """Tell the other ranks that this process ends."""
        for _, peer in self.peers.values():
            with contextlib.suppress(OSError):
                peer.close()


def network() -> str:
    """Return a name that two processes share if they reach each other by 127.0.0.1."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()} {os.stat('/proc/self/ns/net').st_ino}"
