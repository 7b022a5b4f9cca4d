# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Objects whose array interfaces and buffers are wrong, or right in an unusual way."""

import array
import ctypes
import sys

import numpy as np
from described import MEMORY, SIZE, Description, noted, plain

TYPESTRS = ("<f4", ">f4", "|V8", "|V0", "|S0", "<U0", "|O", "<f3", "f", "", "nonsense", "<i8,<i4",
            "(2,)<i4", "<M8[s]", "<c8", "|b1", "<f16", "|V70000", None, 5, b"<f4", ["<f4"],
            "<f4" * 99, "\0", "é")  # fmt: skip
DATA = (None, 0, (), (4096,), (4096, False, 1), (0, False), (-1, False), (2**64, False),
        (2**70, True), ("4096", False), (None, None), (4096.5, False), b"1234", "ab",
        {4096: 1, 2: 3})  # fmt: skip
SHAPES = (None, 3, (), (-1,), (2**31,), (2**63,), (2**62, 2**62), (0, 2**62), ("3",), (None,),
          (1.5,), [3], (3,) * 65, (1,) * 64, "33", {3: 1}, (True,), (np.int8(3),))  # fmt: skip
STRIDES = (None, (), (4,), (4, 4), (0,), (-4,), (3,), (2**62,), (2**63,), (-(2**63),), ("4",),
           (None,), 4, "4", [4], (4.0,))  # fmt: skip
VERSIONS = (0, 1, 2, 3, 4, -1, 2**40, "3", None)
STREAMS = (None, 0, 1, 2, -1, 2**63, 2**64, "1", 1.5, True, object(), (1,), [])
MASKS = (None, object(), False, True, "mask")
DESCRS = (None, [], [("", "<f4")], [("a", "<f4"), ("b", "<i4")], [("a",), ("b",)], 5, "descr",
          [("a", "<f4"), ("a", "<f4")], [1, 2])  # fmt: skip
FIELDS = {"typestr": TYPESTRS, "data": DATA, "shape": SHAPES, "strides": STRIDES,
          "version": VERSIONS, "stream": STREAMS, "mask": MASKS, "descr": DESCRS}  # fmt: skip
NO_DICTS = (None, 5, (), "interface", [("shape", (3,))], object)


class Raiser:
    """An exception in place of an attribute or a result."""

    def __init__(self, error):
        self.error = error


def value_of(found):
    if isinstance(found, Raiser):
        raise noted(found.error)
    return found


class CudaInterface:
    def __init__(self, found):
        self.found = found

    @property
    def __cuda_array_interface__(self):
        return value_of(self.found)


class LaterCudaInterface:
    """One whose type does not have it, as of a proxy."""

    def __init__(self, found):
        self.found = found

    def __getattr__(self, name):
        if name == "__cuda_array_interface__":
            return value_of(self.found)
        raise AttributeError(name)


class OwnInterface:
    """One that asks itself without an end."""

    @property
    def __cuda_array_interface__(self):
        return self.__cuda_array_interface__


class HostInterface:
    def __init__(self, found):
        self.found = found

    @property
    def __array_interface__(self):
        return value_of(self.found)


class Convertible:
    def __init__(self, found):
        self.found = found

    def __array__(self, dtype=None, copy=None):
        return value_of(self.found)


class Buffer:
    def __init__(self, found):
        self.found = found

    def __buffer__(self, flags):
        return value_of(self.found)


class Shapeless(np.ndarray):
    """A subclass whose attributes say nothing true."""

    shape = property(lambda self: (2**40,))
    dtype = property(lambda self: "nothing")
    ndim = property(lambda self: -1)
    strides = None
    size = 2**70


class Raising(np.ndarray):
    error = None

    @property
    def shape(self):
        raise noted(self.error)

    dtype = __array_interface__ = __len__ = shape


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int32), ("y", ctypes.c_double)]


class Bits(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint32, 3), ("high", ctypes.c_uint32, 29)]


C_TYPES = (ctypes.c_float, ctypes.c_double, ctypes.c_int8, ctypes.c_uint64, ctypes.c_bool,
           ctypes.c_char, ctypes.c_wchar, ctypes.c_void_p, ctypes.c_longdouble, ctypes.py_object,
           ctypes.c_float.__ctype_be__, ctypes.c_float * 2, ctypes.c_int * 0, Point,
           Bits)  # fmt: skip


def interface(rng, changed, right):
    """An interface's dict with up to three wrong entries."""
    made = dict(right)
    for name in rng.sample(sorted(changed), rng.choice((0, 1, 1, 2, 3))):
        if rng.random() < 0.15:
            made.pop(name, None)
        else:
            made[name] = rng.choice(changed[name])
    if rng.random() < 0.1:
        made["unknown"] = object()
    return rng.choice(NO_DICTS) if rng.random() < 0.05 else made


def cuda(rng, error_of):
    """An object with __cuda_array_interface__; no GPU has its memory."""
    if rng.random() < 0.01:
        return OwnInterface(), None
    kind = rng.choice((CudaInterface, LaterCudaInterface))
    if rng.random() < 0.1:
        error = error_of(rng)
        return kind(Raiser(error)), error
    right = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}
    return kind(interface(rng, FIELDS, right)), None


def host_interface(rng, error_of):
    """An object with __array_interface__ or __array__; NumPy believes its address."""
    draw = rng.random()
    if draw < 0.2:
        error = error_of(rng)
        return rng.choice((HostInterface, Convertible))(Raiser(error)), error, None
    if draw < 0.5:
        odd = (None, 5, "text", [1.0], object(), plain_array(rng), plain_array(rng))
        found = rng.choice(odd)
        ref = found if isinstance(found, np.ndarray) else None
        return Convertible(found), None, ref
    address = MEMORY.address + SIZE // 2
    right = {"shape": (3,), "typestr": "<f4", "data": (address, False), "version": 3}
    # None that NumPy would follow out of the memory.
    changed = {
        "typestr": [each for each in TYPESTRS if each != "|V70000"],
        "data": [None, 0, (), (4096,), (4096, False, 1), "ab"],
        "shape": [each for each in SHAPES if each not in ((2**31,), (2**62, 2**62))],
        "strides": [each for each in STRIDES if each not in ((2**62,), (-(2**63),))],
        "version": VERSIONS,
        "mask": MASKS,
        "descr": DESCRS,
    }
    return HostInterface(interface(rng, changed, right)), None, None


def plain_array(rng):
    """An ndarray in MEMORY."""
    while True:
        made = plain(rng).array()
        if made is not None:
            return made


def buffer(rng, error_of):
    """A Python buffer, or an object that looks like one."""
    return rng.choice(BUFFERS)(rng, error_of)


def _ctypes_array(rng, error_of):
    return (rng.choice(C_TYPES) * rng.choice((0, 1, 3)))(), None, None


def _memoryview(rng, error_of):
    found = plain_array(rng)
    if found.dtype.kind == "V" or found.dtype.isbuiltin != 1:
        found = found.view("u1") if found.flags.c_contiguous and found.ndim else found.copy()
    if found.dtype.isbuiltin != 1:
        return found, None, found
    view = memoryview(found)
    return (view.toreadonly() if rng.random() < 0.3 else view), None, found


def _cast(rng, error_of):
    """A memoryview of a format that NumPy may not have."""
    form = rng.choice(("b", "B", "c", "?", "h", "i", "l", "q", "n", "N", "f", "d", "e", "P", "@i"))
    try:
        return memoryview(bytearray(24)).cast(form), None, None
    except ValueError:
        return memoryview(b""), None, None


def _released(rng, error_of):
    view = memoryview(bytearray(8))
    view.release()
    return view, None, None


def _subclass(rng, error_of):
    found = plain_array(rng)
    if rng.random() < 0.5:
        return found.view(Shapeless), None, found
    made = found.view(Raising)
    made.error = error_of(rng)
    return made, made.error, None


def _python_buffer(rng, error_of):
    if rng.random() < 0.5:
        error = error_of(rng)
        return Buffer(Raiser(error)), error, None
    odd = (memoryview(bytearray(12)), memoryview(b"12"), None, 5, bytearray(4), plain_array(rng))
    return Buffer(rng.choice(odd)), None, None


def _others(rng, error_of):
    read_only = plain_array(rng)
    read_only.flags.writeable = False
    return rng.choice((
        b"bytes", bytearray(b"bytes"), bytearray(), array.array("d", [1, 2, 3]), array.array("q"),
        array.array("f", [1.0]), read_only, object(), Description, np.float32(1), "text",
        [], [[1], [1, 2]], (1, 2), [None], range(3), {1: 2}, {1}, iter(()), 1j, 2**70, slice(3),
        np.zeros(0, "V0"), np.zeros(2, "U0"), np.zeros(3, "O"), np.zeros((1,) * 32), np.float64,
    )), None, None  # fmt: skip


BUFFERS = [_ctypes_array, _memoryview, _cast, _released, _subclass, _others]
if sys.version_info >= (3, 12):
    BUFFERS.append(_python_buffer)
