# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Which processes of a group still run: a connection between each two, which ends with either.

The kernel closes the connections of a process that ends in any way; before, a process that can says
in how many calls it has taken part. Connections between hosts also have keep-alive probes, for a
host that stops. The connections also carry short messages, the data of calls.
"""

import contextlib
import json
import os
import secrets
import select
import socket
import struct
import time
import weakref
from collections import deque
from dataclasses import dataclass, field

from gpukern.distributed.group import Agreement, Group, collective
from gpukern.errors import PeerLostError

KEY_BYTES = 16
RANK_BYTES = 4
PATIENCE = 30.0  # seconds for all to connect
GRACE = 5.0  # seconds to complete a call that a rank took part in before it ended
# A connection to a host that stopped ends after 3 + 2 * 2 seconds, or after 7000 milliseconds if
# something was sent: probes are for idle connections.
LIMITS = (
    (socket.TCP_KEEPIDLE, 3),
    (socket.TCP_KEEPINTVL, 2),
    (socket.TCP_KEEPCNT, 2),
    (socket.TCP_USER_TIMEOUT, 7000),
)
MESSAGE = struct.Struct("<?I")  # whether it is a farewell, and the bytes that follow
# How many calls a rank has taken part in, the rank whose fault it is, and what happened to that.
FAREWELL = struct.Struct("<qq112s")
READ = 1 << 16  # bytes at a time
NEVER = float("inf")


@dataclass
class Peer:
    """Another rank, and what is known of its end."""

    rank: int
    socket: socket.socket
    calls: float = NEVER  # that it takes part in
    ended: float = NEVER  # when the connection did
    error: PeerLostError | None = None
    unread: bytearray = field(default_factory=bytearray)  # the beginning of a message
    messages: deque[bytes] = field(default_factory=deque)  # the data of calls to come


class Liveness:
    """The connections of this process to the others of its group. All ranks make one together."""

    def __init__(self, group: Group, function: str) -> None:
        self.rank, self.size = group.rank, group.size
        self.peers: dict[int, Peer] = {}  # by descriptor
        self.poll = select.poll()
        _open.add(self)
        # The garbage collector calls this before the sockets' own finalizers, which warn.
        weakref.finalize(self, _close_all, self.peers).atexit = False
        if group.size > 1:
            with contextlib.ExitStack() as opened, collective(group, function) as call:
                opened.callback(self.close)
                self._connect(group, call, function)
                opened.pop_all()

    def _connect(self, group: Group, call: Agreement, function: str) -> None:
        hosts = group.all_gather(network().encode())
        local = len(set(hosts)) == 1
        with socket.create_server(("127.0.0.1" if local else "", 0), backlog=group.size) as server:
            key = secrets.token_bytes(KEY_BYTES)
            mine = [socket.gethostname(), server.getsockname()[1], key.hex()]
            known = [json.loads(each) for each in group.all_gather(json.dumps(mine).encode())]
            with call:
                for rank in range(group.rank):  # towards the lower ranks
                    name, port, other = known[rank]
                    address = "127.0.0.1" if hosts[rank] == hosts[group.rank] else name
                    peer = socket.create_connection((address, port), PATIENCE)
                    self._add(rank, peer)
                    hello = bytes.fromhex(other) + group.rank.to_bytes(RANK_BYTES, "little")
                    peer.sendall(hello)
                server.settimeout(PATIENCE)
                while len(self.peers) < group.size - 1:
                    self._accept(server, key)
            call.of_all(f"the connections of {function}")

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
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in LIMITS:
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
        self.peers[peer.fileno()] = Peer(rank, peer)
        self.poll.register(peer, select.POLLIN)

    def lost(self, call: int, began: float) -> PeerLostError | None:
        """Return an error if a rank takes no part in a call, by its number and start.

        The call of a rank that took part is completed; if it sent no message for the call, unless
        its process was killed thereafter.
        """
        for descriptor, _ in self.poll.poll(0):
            self._hear(self.peers[descriptor])
        now = time.monotonic()
        for peer in sorted(self.peers.values(), key=lambda peer: peer.rank):
            if peer.messages:
                continue
            if call > peer.calls or now > max(peer.ended, began) + GRACE:
                return peer.error or self.ended(peer.rank)
        return None

    def late(self, seconds: float) -> PeerLostError | None:
        """Return an error for a rank whose message is missing."""
        missing = sorted(peer.rank for peer in self.peers.values() if not peer.messages)
        if not missing:
            return None
        text = f"rank {missing[0]} of {self.size} has not made the call in {seconds:g} s"
        return PeerLostError(text, missing[0])

    def ended(self, rank: int) -> PeerLostError:
        """Return the error for the end of a process."""
        return PeerLostError(f"rank {rank} of {self.size} has ended", rank)

    def _hear(self, peer: Peer) -> None:
        read = b""
        with contextlib.suppress(OSError):
            read = peer.socket.recv(READ)
        peer.unread += read
        while len(peer.unread) >= MESSAGE.size:
            is_farewell, size = MESSAGE.unpack_from(peer.unread)
            end = MESSAGE.size + size
            if len(peer.unread) < end:
                break
            data = bytes(peer.unread[MESSAGE.size : end])
            del peer.unread[:end]
            if is_farewell:
                peer.calls, rank, text = FAREWELL.unpack(data)
                peer.error = PeerLostError(text.rstrip(b"\0").decode(errors="replace"), rank)
            else:
                peer.messages.append(data)
        if read:
            return
        peer.ended = time.monotonic()
        if peer.error is None:  # it did not say farewell
            peer.calls = -1
        self.poll.unregister(peer.socket)

    def say(self, calls: int, error: PeerLostError) -> None:
        """Tell the other ranks that this one takes part in no more calls, and why."""
        self.send(FAREWELL.pack(calls, error.rank, str(error).encode()), is_farewell=True)

    def send(self, data: bytes, is_farewell: bool = False) -> None:
        """Send data of this rank for a call: at most a few KiB, which no rank waits to send."""
        for peer in self.peers.values():
            with contextlib.suppress(OSError):
                message = MESSAGE.pack(is_farewell, len(data)) + data
                peer.socket.sendall(message, socket.MSG_NOSIGNAL)

    def receive(self, call: int, seconds: float) -> list[bytes] | None:
        """Return the data of the other ranks for a call, by rank; None if they are not there yet.

        Waits for at most some seconds, and not for a rank that has ended.
        """
        while True:
            missing = [peer for peer in self.peers.values() if not peer.messages]
            if not missing:
                by_rank = sorted(self.peers.values(), key=lambda peer: peer.rank)
                return [peer.messages.popleft() for peer in by_rank]
            if any(peer.calls < call for peer in missing):
                return None
            heard = self.poll.poll(1000 * seconds)
            for descriptor, _ in heard:
                self._hear(self.peers[descriptor])
            if not heard:
                return None

    def close(self) -> None:
        """Close the connections. A process that ends leaves this to the kernel."""
        _close_all(self.peers)
        self.poll = select.poll()


def _close_all(peers: dict[int, Peer]) -> None:
    for peer in peers.values():
        peer.socket.close()
    peers.clear()


# Copies of the connections in a forked child would outlive the process.
_open: "weakref.WeakSet[Liveness]" = weakref.WeakSet()


def _after_fork() -> None:
    for each in _open:
        each.close()


os.register_at_fork(after_in_child=_after_fork)


def network() -> str:
    """Return a name that two processes share if they reach each other by 127.0.0.1."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()} {os.stat('/proc/self/ns/net').st_ino}"
