# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``libgpukern_bench.so`` and ``libgpukern.so`` by ctypes: streams, data, peers, gpukern itself.

gpukern is called through its C ABI, so that no array library is needed and pointers may have any
alignment. call_cost measures the cost of the Python call.
"""

import ctypes
import os
from ctypes import byref, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_void_p
from pathlib import Path

import gpukern

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

MODES = {"raise": 0, "wrap": 1, "clip": 2, "fill": 3}
REDUCTIONS = {None: 0, "add": 1, "sum": 1, "multiply": 2, "min": 3, "max": 4, "mean": 5}
ORDERS = {"fixed": 0, "any": 1}
PATHS = {None: 0, "direct": 1, "partitioned": 2}
TYPE_CODES = {"int": 0, "uint": 1, "float": 2, "opaque": 3, "bfloat": 4, "complex": 5}
CUDA = 2

# cudaDeviceAttr
ATTRIBUTES = {
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
}


class BenchError(Exception):
    """An error that a peer or the machine reported, with its message."""


class Tensor(ctypes.Structure):
    """``gpukern_tensor``."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Exec(ctypes.Structure):
    """``gpukern_exec``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("stream", c_void_p),
        ("device_memory_limit", c_size_t),
        ("progress", c_void_p),
        ("progress_user", c_void_p),
        ("explanation", c_void_p),
    )


class GatherOptions(ctypes.Structure):
    """``gpukern_gather_options``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("mode", c_int32),
        ("path", c_int32),
        ("fill_value", c_void_p),
        ("out_may_change", c_int32),
        ("further_index_count", c_int32),
        ("further_indices", c_void_p),
    )


class ScatterOptions(ctypes.Structure):
    """``gpukern_scatter_options``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("mode", c_int32),
        ("reduce", c_int32),
        ("order", c_int32),
        ("unique", c_int32),
        ("further_index_count", c_int32),
        ("further_indices", c_void_p),
    )


class GatherReduceOptions(ctypes.Structure):
    """``gpukern_gather_reduce_options``."""

    _fields_ = (("struct_size", c_size_t), ("mode", c_int32), ("reduce", c_int32))


def dtype_code(name):
    """``gpukern_dtype`` of a dtype's name, as (code, bits)."""
    kind = name.rstrip("0123456789")
    return TYPE_CODES[kind], int(name[len(kind) :])


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


class Native:
    """The libraries, one stream on the current device, and calls on it."""

    device_type = CUDA

    def __init__(self, path=None):
        path = path or find_library()
        if path is None:
            raise BenchError(f"there is no {LIBRARY}: `make bench` builds it")
        self.bench = ctypes.CDLL(str(path))
        self.bench.bench_last_error.restype = ctypes.c_char_p
        self.bench.bench_index_at.restype = c_int64
        self.gpukern = ctypes.CDLL(os.path.join(gpukern.get_library_dir(), "libgpukern.so"))
        self.gpukern.gpukern_last_error.restype = ctypes.c_char_p
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

    def attribute(self, name):
        """Return an attribute of the device, by its name in ATTRIBUTES."""
        return self.get(c_int, "attribute", ATTRIBUTES[name])

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

    # ---- gpukern ----------------------------------------------------------------------------

    def tensor(self, address, shape, dtype):
        """Return a contiguous ``gpukern_tensor`` on the first device."""
        code, bits = dtype_code(dtype)
        dimensions = (c_int64 * len(shape))(*shape)
        return Tensor(address, self.device_type, 0, len(shape), code, bits, 1, dimensions, None, 0)

    def check_gpukern(self, status):
        """Raise gpukern's error."""
        if status != 0:
            raise BenchError(self.gpukern.gpukern_last_error().decode("utf-8", "replace"))

    def saxpy_call(self, scalar, x, y, out):
        """Return a function that enqueues ``out = a x + y`` for the bytes of ``a``."""
        arguments = (scalar, byref(x), byref(y), byref(out), byref(self.exec))
        function = self.gpukern.gpukern_saxpy
        return lambda: self.check_gpukern(function(*arguments))

    def gather_call(self, source, index, out, mode, path=None, new_out=False):
        """Return a function that gathers along axis 0, optionally as into a new array."""
        size = ctypes.sizeof(GatherOptions)
        options = GatherOptions(size, MODES[mode], PATHS[path], None, new_out)
        arguments = (byref(source), byref(index), c_int32(0), byref(out), byref(options))
        arguments += (byref(self.exec),)
        function = self.gpukern.gpukern_gather
        return lambda: self.check_gpukern(function(*arguments))

    def scatter_call(self, target, index, values, axis, reduce, order, along=False):
        """Return a function that scatters in mode clip, or puts along an axis."""
        size = ctypes.sizeof(ScatterOptions)
        options = ScatterOptions(size, MODES["clip"], REDUCTIONS[reduce], ORDERS[order], 0)
        arguments = (byref(target), byref(index), byref(values), c_int32(axis), None)
        arguments += (byref(options), byref(self.exec))
        name = "gpukern_put_along_axis" if along else "gpukern_scatter"
        function = getattr(self.gpukern, name)
        return lambda: self.check_gpukern(function(*arguments))

    def bags_call(self, source, index, offsets, weights, out, reduce):
        """Return a function that reduces bags in mode clip; segments if the index is None."""
        size = ctypes.sizeof(GatherReduceOptions)
        options = GatherReduceOptions(size, MODES["clip"], REDUCTIONS[reduce])
        inputs, name = (byref(source), byref(offsets)), "gpukern_segment_reduce"
        if index is not None:
            inputs = (byref(source), byref(index), byref(offsets), weights and byref(weights))
            name = "gpukern_gather_reduce"
        arguments = (*inputs, c_int32(0), byref(out), byref(options), byref(self.exec))
        function = getattr(self.gpukern, name)
        return lambda: self.check_gpukern(function(*arguments))

    def compress_call(self, mask, source, out):
        """Return a function that selects items along axis 0."""
        arguments = (byref(mask), byref(source), c_int32(0), byref(out), None, byref(self.exec))
        function = self.gpukern.gpukern_compress
        return lambda: self.check_gpukern(function(*arguments))

    def count_call(self, mask):
        """Return a function that counts the nonzero elements of a mask."""
        arguments = (byref(mask), byref(c_int64()), byref(self.exec))
        function = self.gpukern.gpukern_count_nonzero
        return lambda: self.check_gpukern(function(*arguments))


def scalar_two(dtype):
    """Return the bytes of the number 2 of a dtype, in host memory."""
    import struct

    encoded = {
        "float16": struct.pack("<e", 2.0),
        "bfloat16": struct.pack("<f", 2.0)[2:],
        "float32": struct.pack("<f", 2.0),
        "float64": struct.pack("<d", 2.0),
        "complex64": struct.pack("<ff", 2.0, 0.0),
        "complex128": struct.pack("<dd", 2.0, 0.0),
        "int32": struct.pack("<i", 2),
        "int64": struct.pack("<q", 2),
    }[dtype]
    return ctypes.create_string_buffer(encoded, 16)
