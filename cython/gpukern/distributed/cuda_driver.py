# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The few functions of the CUDA driver that NCCL's callers need."""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from gpukern.errors import GpukernCudaError

NOT_READY = 600
DISABLE_TIMING = 2
NON_BLOCKING = 1
FIRST = -1000  # priority; the driver takes the nearest that it has
LEGACY_STREAM = ctypes.c_void_p(1)


class Driver:
    """The driver's functions, and the primary context of a device."""

    def __init__(self, device: int) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self._context = ctypes.c_void_p()
        self._device = ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self._device), device)
        # The context that gpukern uses, for the life of the process.
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function, which must succeed."""
        self.require(getattr(self._library, name)(*arguments), name)

    def require(self, result: int, name: str) -> None:
        """Raise an error for a result other than success."""
        if result != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(result, ctypes.byref(text))
            raise GpukernCudaError(f"{name} failed: {(text.value or b'').decode()} ({result})")

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make the device current in this thread."""
        self.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def identity(self) -> str:
        """Return what no other GPU has."""
        uuid = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", uuid, self._device)
        return bytes(uuid).hex()

    def event(self) -> ctypes.c_void_p:
        """Make an event; the device is current."""
        made = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(made), DISABLE_TIMING)
        return made

    def stream(self) -> ctypes.c_void_p:
        """Make a stream whose kernels start before those of others; the device is current."""
        made = ctypes.c_void_p()
        self.call("cuStreamCreateWithPriority", ctypes.byref(made), NON_BLOCKING, FIRST)
        return made

    def is_done(self, event: ctypes.c_void_p) -> bool:
        """Whether the work before an event has run."""
        result = self._library.cuEventQuery(event)
        if result != NOT_READY:
            self.require(result, "cuEventQuery")
        return bool(result == 0)
