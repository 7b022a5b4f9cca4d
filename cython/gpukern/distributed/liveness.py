# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Detection of processes of a group that have ended, by a TCP connection between each two.

The kernel closes the connections of a process that ends in any way; one that leaves first sends a
shutdown message with the number of calls that it has completed. Keep-alive probes detect a host
that stops. The connections also carry the data of calls, if it is short.
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
CONNECT_TIMEOUT = 30.0  # seconds for all to connect
GRACE_PERIOD = 5.0  # seconds to complete a call that a rank took part in before it ended
# A connection to a host that stopped ends after 3 + 2 * 2 seconds, or after 7000 milliseconds if
# something was sent: probes are for idle connections.
SOCKET_OPTIONS = (
    (socket.TCP_KEEPIDLE, 3),
    (socket.TCP_KEEPINTVL, 2),
    (socket.TCP_KEEPCNT, 2),
    (socket.TCP_USER_TIMEOUT, 7000),
)
HEADER = struct.Struct("<?I")  # whether it is a shutdown message, and the bytes that follow
# The number of calls that a rank has completed, the rank that failed, and the text of the error.
SHUTDOWN = struct.Struct("<qq112s")
BUFFER_BYTES = 1 << 16  # received at a time
NEVER = float("inf")


@dataclass
class Peer:
    """Another rank, its connection, and how it ended."""

    rank: int
    socket: socket.socket
    calls: float = NEVER  # that it completes
    closed: float = NEVER  # when the connection was
    error: PeerLostError | None = None
    buffer: bytearray = field(default_factory=bytearray)  # of a message that is not complete
    messages: deque[bytes] = field(default_factory=deque)  # the data of later calls


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
                for rank in range(group.rank):  # to the lower ranks
                    name, port, other = known[rank]
                    address = "127.0.0.1" if hosts[rank] == hosts[group.rank] else name
                    peer = socket.create_connection((address, port), CONNECT_TIMEOUT)
                    self._add(rank, peer)
                    handshake = bytes.fromhex(other) + group.rank.to_bytes(RANK_BYTES, "little")
                    peer.sendall(handshake)
                server.settimeout(CONNECT_TIMEOUT)
                while len(self.peers) < group.size - 1:
                    self._accept(server, key)
            call.of_all(f"the connections of {function}")

    def _accept(self, server: socket.socket, key: bytes) -> None:
        peer = server.accept()[0]
        peer.settimeout(CONNECT_TIMEOUT)
        handshake = peer.recv(KEY_BYTES + RANK_BYTES, socket.MSG_WAITALL)
        if handshake[:KEY_BYTES] != key:  # not of this group
            peer.close()
            return
        self._add(int.from_bytes(handshake[KEY_BYTES:], "little"), peer)

    def _add(self, rank: int, peer: socket.socket) -> None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in SOCKET_OPTIONS:
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
        self.peers[peer.fileno()] = Peer(rank, peer)
        self.poll.register(peer, select.POLLIN)

    def lost(self, call: int, began: float) -> PeerLostError | None:
        """Return an error if a rank does not take part in a call, given its number and start time.

        A call can complete without a rank that took part and then ended: the error comes after
        the grace period.
        """
        for descriptor, _ in self.poll.poll(0):
            self._receive_from(self.peers[descriptor])
        now = time.monotonic()
        for peer in sorted(self.peers.values(), key=lambda peer: peer.rank):
            if peer.messages:
                continue
            if call > peer.calls or now > max(peer.closed, began) + GRACE_PERIOD:
                return peer.error or self.ended(peer.rank)
        return None

    def timed_out(self, seconds: float) -> PeerLostError | None:
        """Return an error for a rank whose message is missing."""
        missing = sorted(peer.rank for peer in self.peers.values() if not peer.messages)
        if not missing:
            return None
        text = f"rank {missing[0]} of {self.size} has not made the call in {seconds:g} s"
        return PeerLostError(text, missing[0])

    def ended(self, rank: int) -> PeerLostError:
        """Return the error for the end of a process."""
        return PeerLostError(f"rank {rank} of {self.size} has ended", rank)

    def _receive_from(self, peer: Peer) -> None:
        read = b""
        with contextlib.suppress(OSError):
            read = peer.socket.recv(BUFFER_BYTES)
        peer.buffer += read
        while len(peer.buffer) >= HEADER.size:
            is_shutdown, size = HEADER.unpack_from(peer.buffer)
            end = HEADER.size + size
            if len(peer.buffer) < end:
                break
            data = bytes(peer.buffer[HEADER.size : end])
            del peer.buffer[:end]
            if is_shutdown:
                peer.calls, rank, text = SHUTDOWN.unpack(data)
                peer.error = PeerLostError(text.rstrip(b"\0").decode(errors="replace"), rank)
            else:
                peer.messages.append(data)
        if read:
            return
        peer.closed = time.monotonic()
        if peer.error is None:  # without a shutdown message
            peer.calls = -1
        self.poll.unregister(peer.socket)

    def send_shutdown(self, calls: int, error: PeerLostError) -> None:
        """Tell the other ranks that this one takes part in no more calls, and why."""
        self.send(SHUTDOWN.pack(calls, error.rank, str(error).encode()), is_shutdown=True)

    def send(self, data: bytes, is_shutdown: bool = False) -> None:
        """Send data of this rank for a call: at most a few KiB, which does not block."""
        for peer in self.peers.values():
            with contextlib.suppress(OSError):
                message = HEADER.pack(is_shutdown, len(data)) + data
                peer.socket.sendall(message, socket.MSG_NOSIGNAL)

    def receive(self, call: int, seconds: float) -> list[bytes] | None:
        """Return the data of the other ranks for a call, by rank; None if one is missing.

        Waits for at most some seconds, and not for a rank that has ended.
        """
        while True:
            missing = [peer for peer in self.peers.values() if not peer.messages]
            if not missing:
                by_rank = sorted(self.peers.values(), key=lambda peer: peer.rank)
                return [peer.messages.popleft() for peer in by_rank]
            if any(peer.calls < call for peer in missing):
                return None
            ready = self.poll.poll(1000 * seconds)
            for descriptor, _ in ready:
                self._receive_from(self.peers[descriptor])
            if not ready:
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
