# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""gpukern's C ABI by ctypes: its structs, and calls on one stream.

Every ``<operation>_call`` returns a function without arguments that makes the call.
"""

import ctypes
import os
from ctypes import byref, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_void_p

import gpukern

MODES = {"raise": 0, "wrap": 1, "clip": 2, "fill": 3}
REDUCTIONS = {None: 0, "add": 1, "sum": 1, "multiply": 2, "min": 3, "max": 4, "mean": 5}
ORDERS = {"fixed": 0, "any": 1}
PATHS = {None: 0, "direct": 1, "partitioned": 2}
TYPE_CODES = {"int": 0, "uint": 1, "float": 2, "opaque": 3, "bfloat": 4, "complex": 5}
CUDA = 2


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


def set_further_indices(options, tensors):
    """Set the index tensors after the first one, which the options keep alive."""
    pointers = (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
    options.kept = pointers, tensors
    options.further_index_count = len(tensors)
    options.further_indices = ctypes.addressof(pointers) if tensors else None


class Gpukern:
    """``libgpukern.so`` and calls of it; ``self.exec`` has the stream."""

    device_type = CUDA

    def __init__(self):
        self.gpukern = ctypes.CDLL(os.path.join(gpukern.get_library_dir(), "libgpukern.so"))
        self.gpukern.gpukern_last_error.restype = ctypes.c_char_p

    def tensor(self, address, shape, dtype, strides=None):
        """Return a ``gpukern_tensor`` on the first device, contiguous unless it has strides."""
        code, bits = dtype_code(dtype)
        extents = (c_int64 * len(shape))(*shape)
        steps = None if strides is None else (c_int64 * len(shape))(*strides)
        return Tensor(address, self.device_type, 0, len(shape), code, bits, 1, extents, steps, 0)

    def check(self, status):
        """Raise gpukern's error."""
        if status != 0:
            raise BenchError(self.gpukern.gpukern_last_error().decode("utf-8", "replace"))

    def calling(self, name, *arguments):
        """Return a function that calls ``gpukern_<name>``; structs are passed by reference."""
        function = getattr(self.gpukern, f"gpukern_{name}")
        passed = [byref(each) if isinstance(each, ctypes.Structure) else each for each in arguments]
        passed.append(byref(self.exec))
        return lambda: self.check(function(*passed))

    def saxpy_call(self, scalar, x, y, out):
        """Make ``out = a x + y`` for the bytes of ``a``."""
        return self.calling("saxpy", scalar, x, y, out)

    def gather_call(self, source, indices, out, mode="clip", path=None, new_out=False):
        """Make a gather along the first axes, one for each index.

        A new out may change before an index out of bounds is found.
        """
        size, (index, *further) = ctypes.sizeof(GatherOptions), indices
        options = GatherOptions(size, MODES[mode], PATHS[path], None, new_out)
        set_further_indices(options, further)
        return self.calling("gather", source, index, c_int32(0), out, options)

    def take_along_axis_call(self, source, index, axis, out):
        """Make take_along_axis in mode clip."""
        options = GatherOptions(ctypes.sizeof(GatherOptions), MODES["clip"])
        return self.calling("take_along_axis", source, index, c_int32(axis), out, options)

    def scatter_call(self, target, indices, values, reduce, order="fixed", mode="clip", out=None):
        """Make a scatter along the first axes, one for each index; into the target without out."""
        size, (index, *further) = ctypes.sizeof(ScatterOptions), indices
        options = ScatterOptions(size, MODES[mode], REDUCTIONS[reduce], ORDERS[order])
        set_further_indices(options, further)
        return self.calling("scatter", target, index, values, c_int32(0), out, options)

    def put_along_axis_call(self, target, index, values, axis):
        """Make put_along_axis in mode clip."""
        options = ScatterOptions(ctypes.sizeof(ScatterOptions), MODES["clip"])
        arguments = (target, index, values, c_int32(axis), None, options)
        return self.calling("put_along_axis", *arguments)

    def bags_call(self, source, index, offsets, weights, out, reduce):
        """Make a reduction of bags in mode clip; of segments if the index is None."""
        size = ctypes.sizeof(GatherReduceOptions)
        options = GatherReduceOptions(size, MODES["clip"], REDUCTIONS[reduce])
        inputs, name = (source, offsets), "segment_reduce"
        if index is not None:
            inputs, name = (source, index, offsets, weights), "gather_reduce"
        return self.calling(name, *inputs, c_int32(0), out, options)

    def compress_call(self, mask, source, out):
        """Make the selection of items along axis 0."""
        return self.calling("compress", mask, source, c_int32(0), out, None)

    def nonzero_call(self, mask, out):
        """Make the coordinates of the nonzero elements."""
        return self.calling("nonzero", mask, out, None)

    def count_call(self, mask):
        """Make the count of the nonzero elements, which the function returns."""
        count = c_int64()
        call = self.calling("count_nonzero", mask, ctypes.pointer(count))

        def run():
            call()
            return count.value

        return run


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
