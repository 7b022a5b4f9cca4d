# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Streams and graphs by the CUDA driver API, for tests without another library."""

import ctypes
import functools


@functools.cache
def driver():
    """The driver's library, initialized."""
    library = ctypes.CDLL("libcuda.so.1")
    assert library.cuInit(0) == 0
    return library


@functools.cache
def primary_context():
    context = ctypes.c_void_p()
    assert driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    return context


def cuda(name, *arguments):
    """Calls a function of the driver in device 0's context."""
    popped = ctypes.c_void_p()
    assert driver().cuCtxPushCurrent_v2(primary_context()) == 0
    status = getattr(driver(), name)(*arguments)
    assert driver().cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0
    assert status == 0, f"{name} gave {status}"


class Stream:
    """A non-blocking stream, destroyed with the object or by destroy()."""

    def __init__(self):
        handle = ctypes.c_void_p()
        cuda("cuStreamCreate", ctypes.byref(handle), 1)
        self.handle = handle.value

    def __cuda_stream__(self):
        return 0, self.handle

    def __del__(self):
        self.destroy()

    def destroy(self):
        if self.handle is not None:
            cuda("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))
            self.handle = None

    def delay(self, microseconds):
        """Keeps the stream busy, so that a missing wait shows."""
        sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
        cuda(
            "cuLaunchHostFunc",
            ctypes.c_void_p(self.handle),
            sleep,
            ctypes.c_void_p(microseconds),
        )

    def fill(self, pointer, value, count):
        """Writes `count` 32-bit words."""
        cuda(
            "cuMemsetD32Async",
            ctypes.c_uint64(pointer),
            ctypes.c_uint32(value),
            ctypes.c_size_t(count),
            ctypes.c_void_p(self.handle),
        )

    def synchronize(self):
        cuda("cuStreamSynchronize", ctypes.c_void_p(self.handle))

    def capture(self, mode=0):
        """A context in which the work on the stream is captured: 0 global, 1 thread-local, 2
        relaxed."""
        return Graph(self, mode)


class DefaultStream(Stream):
    """The legacy default stream."""

    def __init__(self):
        self.handle = None


class Graph:
    """The work of a stream, captured while the context is entered; launch() runs it."""

    def __init__(self, stream, mode):
        self.stream = stream
        self.mode = mode
        self.graph = ctypes.c_void_p()
        self.executable = ctypes.c_void_p()

    def __enter__(self):
        cuda("cuStreamBeginCapture_v2", ctypes.c_void_p(self.stream.handle), self.mode)
        return self

    def __exit__(self, kind, error, trace):
        cuda("cuStreamEndCapture", ctypes.c_void_p(self.stream.handle), ctypes.byref(self.graph))
        cuda(
            "cuGraphInstantiateWithFlags",
            ctypes.byref(self.executable),
            self.graph,
            ctypes.c_uint64(0),
        )

    def launch(self):
        cuda("cuGraphLaunch", self.executable, ctypes.c_void_p(self.stream.handle))
        self.stream.synchronize()

    def __del__(self):
        if self.executable:
            cuda("cuGraphExecDestroy", self.executable)
        if self.graph:
            cuda("cuGraphDestroy", self.graph)
