# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``libgpukern_bench.so`` by ctypes: streams, data and peers; and gpukern itself.

gpukern is called through its C ABI, so that no array library is needed and pointers may have any
alignment. call_cost measures the cost of the Python call.
"""

import ctypes
import os
from ctypes import byref, c_double, c_int, c_int64, c_void_p
from pathlib import Path

from benchmarks.c_api import BenchError, Exec, Gpukern

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libgpukern_bench.so"

# Numbered as in peers/types.cuh and peers/data.cuh.
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int32", "int64",
)  # fmt: skip
ITEMSIZE = dict(zip(DTYPES, (2, 2, 4, 8, 8, 16, 4, 8), strict=True))
DISTRIBUTIONS = (
    "uniform", "sorted", "blocked", "zipf", "scattered zipf", "equal", "skewed", "half",
)  # fmt: skip
# The format of bench_fill()'s random numbers, so that no sum is infinite; 0 means any bits.
FLOAT_BITS = {
    "float16": 16, "bfloat16": 17, "float32": 32, "complex64": 32, "float64": 64, "complex128": 64,
}  # fmt: skip

L2_CACHE_SIZE = 38  # cudaDevAttrL2CacheSize


def find_library():
    """Return the path of the newest build of libgpukern_bench.so, None without one."""
    if named := os.environ.get("GPUKERN_BENCH_LIBRARY"):
        return Path(named)
    found = ROOT.glob(f"build/*/benchmarks/peers/{LIBRARY}")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def argument(value):
    """Convert a Python number or a ctypes object to an argument."""
    if isinstance(value, float):
        return c_double(value)
    # Integers are pointers and sizes here. A callee that takes an int reads the low half.
    return c_int64(value) if isinstance(value, int) else value


class Native(Gpukern):
    """The libraries, one stream on the current device, and calls on it."""

    def __init__(self, path=None):
        path = path or find_library()
        if path is None:
            raise BenchError(f"there is no {LIBRARY}: `make bench` builds it")
        self.bench = ctypes.CDLL(str(path))
        self.bench.bench_last_error.restype = ctypes.c_char_p
        self.bench.bench_index_at.restype = c_int64
        super().__init__()
        self.stream = 0

    def open(self):
        """Create the stream, which all but JAX use."""
        self.stream = self.get(c_void_p, "stream_create")
        self.exec = Exec(ctypes.sizeof(Exec), 0, 0, self.stream)
        self.events = tuple(self.get(c_void_p, "event_create") for _ in range(2))

    def call(self, name, *arguments):
        """Call ``bench_<name>``; raise BenchError for an error."""
        function = getattr(self.bench, f"bench_{name}")
        if function(*map(argument, arguments)) != 0:
            raise BenchError(self.bench.bench_last_error().decode("utf-8", "replace"))

    def get(self, kind, name, *arguments):
        """Call ``bench_<name>`` with one more argument, for the result."""
        result = kind()
        self.call(name, *arguments, byref(result))
        return result.value

    def enqueue(self, name, *arguments):
        """Call ``bench_<name>`` on the stream."""
        self.call(name, *arguments, c_void_p(self.stream))

    # ---- the device -------------------------------------------------------------------------

    def l2_bytes(self):
        """Return the size of the device's L2 cache."""
        return self.get(c_int, "attribute", L2_CACHE_SIZE)

    def free_bytes(self):
        """Return the bytes of device memory that are free."""
        total = c_int64()
        free = c_int64()
        self.call("memory", byref(free), byref(total))
        return free.value

    def allocate(self, size):
        """Return the address of new device memory."""
        return self.get(c_void_p, "allocate", size)

    def synchronize(self):
        """Wait for everything on the device."""
        self.call("synchronize_device")

    # ---- time -------------------------------------------------------------------------------

    def record(self, event):
        """Record an event on the stream."""
        self.enqueue("event_record", event)

    def elapsed(self, first, last):
        """Wait for an event and return the seconds since another."""
        return self.get(c_double, "event_elapsed", first, last)

    def spin(self, seconds):
        """Keep the stream busy."""
        self.enqueue("spin", float(seconds))

    def capture(self, work):
        """Return a graph of the work that ``work()`` enqueues on the stream."""
        self.enqueue("capture_begin")
        try:
            work()
        except BaseException:
            self.abandon_capture()
            raise
        return self.get(c_void_p, "capture_end", c_void_p(self.stream))

    def abandon_capture(self):
        """End a failed capture, unless it has ended."""
        try:
            self.call("capture_end", c_void_p(self.stream), c_void_p(None))
        except BenchError:
            return

    def replay(self, graph):
        """Launch a graph."""
        self.enqueue("graph_launch", graph)

    def release_graph(self, graph):
        """Release a graph."""
        self.call("graph_release", graph)

    # ---- data -------------------------------------------------------------------------------

    def fill(self, address, size, seed, dtype="opaque"):
        """Fill memory with random bits, or with finite random floats."""
        self.enqueue("fill", address, size, seed, FLOAT_BITS.get(dtype, 0))

    def fill_integers(self, address, dtype, count, seed):
        """Fill ``count`` elements with random integers from -8 to 8, whose sums are exact."""
        self.enqueue("fill_integers", DTYPES.index(dtype), address, count, seed)

    def fill_index(self, address, itemsize, count, distribution, n, seed):
        """Fill an index of ``count`` numbers into ``n`` items."""
        number = DISTRIBUTIONS.index(distribution)
        self.enqueue("fill_index", address, itemsize, count, number, n, seed)

    def upload(self, address, array):
        """Copy an array to the device, and wait for the copy."""
        self.enqueue("copy", address, array.ctypes.data, array.nbytes)
        self.synchronize()

    def poison(self, address, size):
        """Overwrite memory with a byte that is not in results."""
        self.enqueue("set_bytes", address, 0xA5, size)

    def differing(self, left, right, size, scratch):
        """Wait, and return the number of words that differ between two pieces of memory."""
        differ = c_int64()
        self.enqueue("compare", left, right, size, scratch, byref(differ))
        return differ.value
