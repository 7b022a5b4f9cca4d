# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmark's native side without a GPU: host memory, and peers by NumPy."""

import ctypes
import os
import time
from types import SimpleNamespace

import numpy as np

import gpukern
from benchmarks.native import DTYPES, ITEMSIZE, BenchError, Exec, Native

CPU = 1
SIZE = 1 << 24


def host(address, count, dtype):
    """The memory at an address as an array."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def add(y, x, alpha, out):
    """torch.add; whatever the bits, which the timed copies leave behind."""
    with np.errstate(all="ignore"):
        np.add(y, alpha * x, out=out)


class FakeNative(Native):
    """Computes immediately what Native enqueues."""

    device_type = CPU

    def __init__(self):
        self.gpukern = ctypes.CDLL(os.path.join(gpukern.get_library_dir(), "libgpukern.so"))
        self.gpukern.gpukern_last_error.restype = ctypes.c_char_p
        self.stream = 0
        self.rng = np.random.default_rng()
        self.called = set()
        self.lost = False

    def open(self):
        self.exec = Exec(ctypes.sizeof(Exec), 0, 0, None)
        self.events = [0.0], [0.0]

    def attribute(self, name):
        return 1 << 16

    def free_bytes(self):
        return SIZE * 2

    def allocate(self, size):
        self.memory = np.zeros(size + 4096, np.uint8)
        return (self.memory.ctypes.data + 4095) // 4096 * 4096

    def synchronize(self):
        if self.lost:
            raise BenchError("the GPU is lost")

    def record(self, event):
        event[0] = time.perf_counter()

    def elapsed(self, first, last):
        return max(last[0] - first[0], 1e-7)

    def spin(self, seconds):
        assert seconds >= 0

    def capture(self, work):
        work()
        return work

    def replay(self, graph):
        graph()

    def release_graph(self, graph):
        assert graph is not None

    def fill(self, address, size, seed, dtype="opaque"):
        if dtype == "bfloat16":  # 1 to 100
            host(address, size // 2, "u2")[:] = self.rng.integers(0x3F80, 0x42C8, size // 2)
            return
        kind = {"float16": "f2", "float64": "f8", "complex128": "f8"}.get(dtype, "f4")
        kind = {"int32": "i4", "int64": "i8"}.get(dtype, kind)
        count = size // np.dtype(kind).itemsize
        host(address, count, kind)[:] = self.rng.uniform(1, 100, count)

    def fill_index(self, address, itemsize, count, distribution, n, seed):
        host(address, count, f"i{itemsize}")[:] = self.rng.integers(0, n, count)

    def differing(self, left, right, size, scratch):
        return int(np.count_nonzero(host(left, size, "u1") != host(right, size, "u1")))

    def enqueue(self, name, *arguments):
        self.called.add(name)
        getattr(self, f"do_{name}")(*arguments)

    def do_set_bytes(self, address, value, size):
        host(address, size, "u1")[:] = value

    def do_copy(self, to, origin, size):
        host(to, size, "u1")[:] = host(origin, size, "u1")

    do_copy_kernel = do_copy

    def do_saxpy_plain(self, dtype, scalar, x, y, out, n):
        name = DTYPES[dtype]
        if name == "bfloat16":
            import ml_dtypes

            name = ml_dtypes.bfloat16
        x, y, out = (host(address, n, name) for address in (x, y, out))
        add(y, x, np.asarray(2, x.dtype), out)

    do_saxpy_cub = do_saxpy_plain

    def do_saxpy_cublas(self, dtype, x, y, n):
        raise BenchError("no libcublas.so")

    def do_gather_unchecked(self, width, index_width, source, index, out, n):
        index = host(index, n, f"i{index_width}")
        items = host(source, (int(index.max()) + 1), f"V{width}")
        host(out, n, f"V{width}")[:] = items[index]

    do_gather_thrust = do_gather_rows = do_gather_unchecked


class FakeTorch:
    """The parts of torch that the benchmark uses, implemented by NumPy."""

    version = "0.0"

    def __init__(self, memory, stream):
        self.module = SimpleNamespace(
            add=add,
            index_select=lambda s, axis, i, out: np.take(s, i, axis=axis, out=out, mode="clip"),
            nn=SimpleNamespace(functional=SimpleNamespace(embedding=self.embedding)),
        )

    def embedding(self, index, source):
        return source[index].view(WithPointer)

    def array(self, address, shape, dtype):
        if dtype == "bfloat16":
            import ml_dtypes

            dtype = ml_dtypes.bfloat16
        return host(address, int(np.prod(shape)), dtype).reshape(shape)


class WithPointer(np.ndarray):
    """An array that names its address as torch does."""

    def data_ptr(self):
        return self.ctypes.data


class FakeCupy(FakeTorch):
    """The parts of CuPy that the benchmark uses; its saxpy is wrong, so that the check fails."""

    def __init__(self, memory, stream):
        self.module = SimpleNamespace(
            take=lambda s, i, axis, out: np.take(s, i, axis=axis, out=out, mode="clip")
        )

    def saxpy(self, a, x, y, out):
        out[...] = a * x


class FakeJax:
    """A library that is not installed."""

    def __init__(self, memory, stream):
        raise ImportError("No module named 'jax'")


CLASSES = {"torch": FakeTorch, "cupy": FakeCupy, "jax": FakeJax}
ALL_DTYPES = tuple(ITEMSIZE)
