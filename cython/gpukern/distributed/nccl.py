# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Rows from GPU to GPU through NCCL, which is opened when the first array needs it.

https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html
"""

import contextlib
import ctypes
import importlib.util
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpukern
from gpukern._memory.device_array import address_for
from gpukern.distributed.cuda_driver import LEGACY_STREAM, Driver
from gpukern.distributed.group import LAG, Group, Transfer, collective
from gpukern.distributed.live_group import ConnectedGroup
from gpukern.distributed.liveness import NEVER, Liveness
from gpukern.errors import GpukernCudaError, PeerLostError

SPIN = 0.002  # seconds without sleep in a wait
PATIENCE = 120.0  # seconds for all to connect
LIBRARY = "libnccl.so.2"
ID_BYTES = 128
UINT8 = 1  # ncclDataType_t
SUCCESS, IN_PROGRESS = 0, 7  # ncclResult_t
MAGIC, FIRST_VERSION = 0xCAFEBEEF, 21400  # of ncclConfig_t, which has grown since


def _structure(*fields: tuple[str, Any]) -> Any:
    """Return a structure of C."""
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})


def open_library() -> ctypes.CDLL | None:
    """Open $GPUKERN_NCCL, or else that of nvidia-nccl-cu* or of the system; None without one."""
    given = os.environ.get("GPUKERN_NCCL")
    found = [LIBRARY] if given is None else [given] if given else []
    spec = None
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec("nvidia.nccl") if given is None else None
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        found.insert(0, str(Path(folder) / "lib" / LIBRARY))
    for name in found:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


class Nccl(ConnectedGroup):
    """A communicator of one device of each rank. All ranks make one together.

    Calls do not block in NCCL: where a rank has ended or left a call by an error, the others get a
    PeerLostError.
    """

    def __init__(self, library: ctypes.CDLL, group: Group, driver: Driver) -> None:
        self._library = library
        self._driver = driver
        self.rank, self.size = group.rank, group.size
        self._comm = ctypes.c_void_p()
        self._process = os.getpid()
        self._liveness = Liveness(group, "NCCL")
        library.ncclGetErrorString.restype = ctypes.c_char_p
        identity = _structure(("data", ctypes.c_char * ID_BYTES))()
        config = _structure(
            ("size", ctypes.c_size_t),
            ("magic", ctypes.c_uint),
            ("version", ctypes.c_uint),
            ("blocking", ctypes.c_int),
        )()
        with collective(group, "NCCL") as call:
            with call:
                if group.rank == 0:
                    self._require(
                        library.ncclGetUniqueId(ctypes.byref(identity)), "ncclGetUniqueId"
                    )
            call.of_all("the identity of a communicator")
            # Byte by byte: it is no text, and may have zeros.
            raw = group.all_gather(bytes(memoryview(identity).cast("B")))[0]
            ctypes.memmove(ctypes.byref(identity), raw, ID_BYTES)
            with call, self._call(), driver.current():
                config.size, config.blocking = ctypes.sizeof(config), 0
                config.magic, config.version = MAGIC, FIRST_VERSION
                result = library.ncclCommInitRankConfig(
                    ctypes.byref(self._comm), group.size, identity, group.rank, ctypes.byref(config)
                )
                self._finish(result, "ncclCommInitRank", PATIENCE)
            with call, self._call(), driver.current():
                # Arrays that it wrote may outlive this object, so it is not destroyed.
                self._stream = driver.stream()
                self._exchanged = driver.event()
                self._computed = [driver.event() for _ in range(LAG)]
            call.of_all("a communicator of NCCL")

    def __del__(self) -> None:
        """Free the communicator, unless CUDA is gone: at the end of the process or in a child."""
        if self._liveness is not None:
            self._liveness.close()
        is_ours = self._process == os.getpid() and not sys.is_finalizing()
        if self._comm and self._error is None and is_ours:
            self._library.ncclCommAbort(self._comm)

    def steps(self, arrays: Sequence[gpukern.DeviceArray]) -> "NcclSteps":
        """Return the steps of a call that sends and receives these arrays."""
        return NcclSteps(self, arrays)

    def _enqueue(self, transfers: Sequence[Transfer], addresses: dict[int, int]) -> None:
        """Enqueue sends and receives on the stream."""
        library = self._library
        self._require(library.ncclGroupStart(), "ncclGroupStart")
        try:
            for rows, starts, counts, received, received_starts, received_counts in transfers:
                width = rows.itemsize * math.prod(rows.shape[1:])
                for peer in range(self.size):
                    for function, array, first, count in (
                        (library.ncclSend, rows, starts[peer], counts[peer]),
                        (library.ncclRecv, received, received_starts[peer], received_counts[peer]),
                    ):
                        if count:
                            result = function(
                                ctypes.c_void_p(addresses[id(array)] + int(first) * width),
                                ctypes.c_size_t(int(count) * width),
                                UINT8,
                                peer,
                                self._comm,
                                self._stream,
                            )
                            if result != IN_PROGRESS:
                                self._require(result, "ncclSend")
        finally:
            ended = library.ncclGroupEnd()
        self._finish(ended, "ncclGroupEnd")

    def _fail(self, error: PeerLostError) -> None:
        if self._error is None and self._liveness is not None:
            self._liveness.send_shutdown(self._calls, error)
            if self._comm:
                self._library.ncclCommAbort(self._comm)
        super()._fail(error)

    def _finish(self, result: int, name: str, timeout: float = NEVER) -> None:
        """Wait until a call that has begun is complete."""
        state = ctypes.c_int(result)

        def is_done() -> bool:
            if state.value == IN_PROGRESS:
                code = self._library.ncclCommGetAsyncError(self._comm, ctypes.byref(state))
                self._require(code, "ncclCommGetAsyncError")
            return state.value != IN_PROGRESS

        self._wait_until(is_done, SPIN, timeout)
        self._require(state.value, name)

    def _require(self, result: int, name: str) -> None:
        if result != SUCCESS:
            text = self._library.ncclGetErrorString(result).decode()
            raise GpukernCudaError(f"{name} failed: {text} ({result})")


class NcclSteps:
    """The exchanges of a call, each of which overlaps with what the step before computes.

    Exchanges have a stream, and computations the legacy default stream. An exchange begins after
    the computation of the step before the last, and a computation after the exchange of its step.
    """

    def __init__(self, nccl: Nccl, arrays: Sequence[gpukern.DeviceArray]) -> None:
        self._nccl = nccl
        with nccl._call():
            # The stream waits for all work on them until now, and their release for the stream.
            self._addresses = {id(each): address_for(each, nccl._stream.value) for each in arrays}

    def exchange(self, step: int, transfers: Sequence[Transfer]) -> None:
        """Enqueue an exchange of rows; see exchange_rows() of group."""
        nccl, driver = self._nccl, self._nccl._driver
        with nccl._call(), driver.current():
            if step >= LAG:
                computed = nccl._computed[step % LAG]
                driver.call("cuStreamWaitEvent", nccl._stream, computed, 0)
            nccl._enqueue(transfers, self._addresses)
            driver.call("cuEventRecord", nccl._exchanged, nccl._stream)
            driver.call("cuStreamWaitEvent", LEGACY_STREAM, nccl._exchanged, 0)

    def computed(self, step: int) -> None:
        """Note that the computation of a step has been enqueued."""
        nccl = self._nccl
        with nccl._call(), nccl._driver.current():
            nccl._driver.call("cuEventRecord", nccl._computed[step % LAG], LEGACY_STREAM)

    def finish(self) -> None:
        """Wait for the exchanges, or raise an error if a rank has ended."""
        nccl = self._nccl
        with nccl._call(), nccl._driver.current():
            nccl._wait_until(lambda: nccl._driver.is_done(nccl._exchanged), SPIN)
            nccl._calls += 1

    def leave(self, reason: str) -> None:
        """Make the exchanges of the other ranks raise a PeerLostError."""
        self._nccl.leave(reason)
