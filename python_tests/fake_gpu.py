# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmark's native side without a GPU: host memory, and peers by NumPy."""

import ctypes
import time
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from benchmarks.c_api import BenchError, Exec, Gpukern
from benchmarks.native import DTYPES, Native

CPU = 1
SIZE = 1 << 24


def host(address, count, dtype):
    """The memory at an address as an array."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def numpy_dtype(name):
    """NumPy's dtype of a name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def add(y, x, alpha, out):
    """torch.add; whatever the bits, which the timed copies leave behind."""
    with np.errstate(all="ignore"):
        np.add(y, alpha * x, out=out)


def reduce_bags(rows, starts, mode):
    """Reduce bags of rows, which begin at some of them; in float32 if they are narrower."""
    wide = np.asarray(rows).astype(np.result_type(rows, "f4"))
    reduced = (np.maximum if mode == "max" else np.add).reduceat(wide, np.asarray(starts))
    if mode == "mean":
        reduced /= np.diff(starts, append=len(rows)).reshape(-1, 1)
    return reduced.astype(rows.dtype)


class FakeNative(Native):
    """Computes immediately what Native enqueues."""

    device_type = CPU

    def __init__(self):
        Gpukern.__init__(self)
        self.stream = 0
        self.rng = np.random.default_rng()
        self.called = set()
        self.lost = False

    def open(self):
        self.exec = Exec(ctypes.sizeof(Exec), 0, 0, None)
        self.events = [0.0], [0.0]

    def l2_bytes(self):
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
        name = numpy_dtype(DTYPES[dtype])
        x, y, out = (host(address, n, name) for address in (x, y, out))
        add(y, x, np.asarray(2, x.dtype), out)

    do_saxpy_cub = do_saxpy_plain

    def do_saxpy_cublas(self, dtype, x, y, n):
        raise BenchError("no libcublas.so")

    def do_gather_unchecked(self, width, index_width, source, index, out, n):
        index = host(index, n, f"i{index_width}")
        items = host(source, (int(index.max()) + 1), f"V{width}")
        host(out, n, f"V{width}")[:] = items[index]

    def do_fill_integers(self, dtype, address, count, seed):
        numbers = np.random.default_rng(seed).integers(-8, 9, count)
        host(address, count, numpy_dtype(DTYPES[dtype]))[:] = numbers

    def combine(self, put, dtype, index_width, target, index, values, rows, width):
        index = host(index, rows, f"i{index_width}")
        target = host(target, (int(index.max()) + 1) * width, dtype).reshape(-1, width)
        put(target, index, host(values, rows * width, dtype).reshape(rows, width))

    def do_scatter_add(self, dtype, *arguments):
        self.combine(np.add.at, numpy_dtype(DTYPES[dtype]), *arguments)

    def do_scatter_max(self, *arguments):
        self.combine(np.maximum.at, "f4", *arguments)

    def do_scatter_min(self, *arguments):
        self.combine(np.minimum.at, "f4", *arguments)

    def do_scatter_put(self, *arguments):
        self.combine(np.ndarray.__setitem__, "f4", *arguments)

    def do_bags(
        self, dtype, reduction, threads, source, index, offsets, weights, out, bags, columns
    ):
        assert 32 <= threads <= 1024
        dtype, offsets = numpy_dtype(DTYPES[dtype]), host(offsets, bags + 1, "i8")
        at = host(index, offsets[-1], "i8") if index else np.arange(offsets[-1])
        rows = host(source, (int(at.max()) + 1) * columns, dtype).reshape(-1, columns)[at]
        if weights:
            rows = rows * host(weights, offsets[-1], dtype)[:, None]
        mode = ("sum", "mean", "max")[reduction]
        host(out, bags * columns, dtype)[:] = reduce_bags(rows, offsets[:-1], mode).reshape(-1)

    def do_put_along_axis(self, index_width, target, index, values, rows, columns, axis):
        target, index, values = (
            host(address, rows * columns, kind).reshape(rows, columns)
            for address, kind in ((target, "f4"), (index, f"i{index_width}"), (values, "f4"))
        )
        np.put_along_axis(target, index, values, axis)

    def do_take_along_axis(self, index_width, target, index, values, rows, columns, axis):
        target, index, values = (
            host(address, rows * columns, kind).reshape(rows, columns)
            for address, kind in ((target, "f4"), (index, f"i{index_width}"), (values, "f4"))
        )
        values[...] = np.take_along_axis(target, index, axis)

    do_gather_thrust = do_gather_rows = do_gather_unchecked


class Tensor(np.ndarray):
    """An array with the methods of torch.Tensor that write by an index, and its data_ptr()."""

    def view(self, *shape):
        return super().reshape(shape) if isinstance(shape[0], int) else super().view(*shape)

    def expand(self, *shape):
        return np.broadcast_to(self, shape)

    def data_ptr(self):
        return self.ctypes.data

    def along(self, axis, index, combine):
        places = list(np.indices(index.shape, sparse=True))
        places[axis] = index
        combine(self, tuple(places))

    def scatter_(self, axis, index, values):
        self.along(axis, index, lambda target, at: target.__setitem__(at, values))

    def scatter_add_(self, axis, index, values):
        self.along(axis, index, lambda target, at: np.add.at(target, at, values))

    def scatter_reduce_(self, axis, index, values, reduce, include_self):
        assert include_self
        ufunc = {"amax": np.maximum, "amin": np.minimum}[reduce]
        self.along(axis, index, lambda target, at: ufunc.at(target, at, values))

    def zero_(self):
        self.fill(0)

    def index_put_(self, indices, values, accumulate):
        assert accumulate
        np.add.at(self, indices, values)

    def index_copy_(self, axis, index, values):
        self[index] = values

    def index_add_(self, axis, index, values):
        np.add.at(self, index, values)


class FakeTorch:
    """The parts of torch that the benchmark uses, implemented by NumPy."""

    version = "0.0"

    def __init__(self, memory, stream):
        self.module = SimpleNamespace(
            add=add,
            index_select=lambda s, axis, i, out: np.take(s, i, axis=axis, out=out, mode="clip"),
            use_deterministic_algorithms=lambda on: None,
            segment_reduce=self.segment_reduce,
            take_along_dim=self.take_along_dim,
            nonzero=lambda mask: np.argwhere(mask).view(Tensor),
            count_nonzero=np.count_nonzero,
            bincount=self.bincount,
            nn=SimpleNamespace(
                functional=SimpleNamespace(
                    embedding=self.embedding, embedding_bag=self.embedding_bag
                )
            ),
        )

    def take_along_dim(self, source, index, axis, out):
        out[...] = np.take_along_axis(source, index, axis)

    def bincount(self, index, weights, minlength):
        return np.bincount(index, weights, minlength).view(Tensor)

    def embedding(self, index, source):
        return source[index]

    def embedding_bag(self, index, source, starts, mode, per_sample_weights):
        rows = source[index]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[:, None]
        return reduce_bags(rows, starts, mode).view(Tensor)

    def segment_reduce(self, source, reduce, offsets, unsafe):
        return reduce_bags(source, offsets[:-1], reduce).view(Tensor)

    def array(self, address, shape, dtype):
        count = int(np.prod(shape))
        return host(address, count, numpy_dtype(dtype)).reshape(shape).view(Tensor)


class FakeCupy(FakeTorch):
    """The parts of CuPy that the benchmark uses; its saxpy is wrong, so that the check fails."""

    def __init__(self, memory, stream):
        self.module = SimpleNamespace(
            take=lambda s, i, axis, out: np.take(s, i, axis=axis, out=out, mode="clip"),
            add=np.add,
            maximum=np.maximum,
            minimum=np.minimum,
            put_along_axis=np.put_along_axis,
            take_along_axis=np.take_along_axis,
            nonzero=np.nonzero,
            count_nonzero=np.count_nonzero,
            bincount=np.bincount,
        )

    def address_of(self, array):
        return array.ctypes.data

    def saxpy(self, a, x, y, out):
        out[...] = a * x


class FakeJax:
    """A library that is not installed."""

    def __init__(self, memory, stream):
        raise ImportError("No module named 'jax'")


CLASSES = {"torch": FakeTorch, "cupy": FakeCupy, "jax": FakeJax}
