# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Producers of DLPack that do not keep to it, and a record of what becomes of their capsules."""

import ctypes
import gc
import struct
from collections import Counter

from described import description, noted, sizes_memory

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
# A capsule keeps no copy of its name.
API_NAME, NO_API_NAME = b"dlpack_exchange_api", b"dlpack_exchange"
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
WRONG_NAMES = (*USED.values(), b"DLTENSOR", b"dltensor ", b"", b"arrow_array", None)


def python_function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


NEW = python_function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
RENAME = python_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# In a destructor the capsule must not be an object again.
IS_VALID = python_function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
POINTER = python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
MANAGE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))

#: How often the deleter of each exported tensor was called.
DELETED = Counter()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def delete(pointer):
    DELETED[pointer] += 1


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def destroy(capsule):
    """What DLPack asks of the destructor of a capsule: to delete what nobody took."""
    for name in (PLAIN, VERSIONED):
        if IS_VALID(capsule, name):
            delete(POINTER(capsule, name))


class Managed:
    """The memory of a DLManagedTensor, with or without a version."""

    def __init__(self, described, versioned, with_deleter=True):
        self.shape, self.strides = map(sizes_memory, (described.shape, described.strides))
        tensor = struct.pack(
            "<QiiiBBHQQQ", described.data, *described.device, described.ndim, described.code,
            described.bits, described.lanes, address(self.shape), address(self.strides),
            described.byte_offset,
        )  # fmt: skip
        deleter = ctypes.cast(delete, ctypes.c_void_p).value if with_deleter else 0
        end = struct.pack("<QQ", 0, deleter)
        if versioned:
            head = struct.pack("<II", *described.version) + end
            text = head + struct.pack("<Q", described.flags) + tensor
        else:
            text = tensor + end
        self.memory = ctypes.create_string_buffer(text, len(text))
        self.pointer = ctypes.addressof(self.memory)
        DELETED[self.pointer] = 0  # a tensor of another test may have been here
        self.due = 1 if with_deleter else 0

    def is_deleted_as_due(self):
        return DELETED.pop(self.pointer, 0) == self.due


def address(memory):
    return 0 if memory is None else ctypes.addressof(memory)


class Exports:
    """The tensors and capsules that a producer has given, and what it does instead of that."""

    def __init__(self, described, name, versioned):
        self.described, self.name, self.versioned = described, name, versioned
        self.device = described.device
        self.with_deleter = True
        self.gives = self.raises = self.device_raises = None
        self.managed, self.capsules = [], []

    def new_managed(self, versioned):
        self.managed.append(Managed(self.described, versioned, self.with_deleter))
        return self.managed[-1]

    def capsule(self):
        if self.raises is not None:
            raise noted(self.raises)
        if self.gives is not None:
            return self.gives[0]
        managed = self.new_managed(self.versioned)
        made = NEW(managed.pointer, VERSIONED if self.versioned else PLAIN, destroy)
        if self.name not in (PLAIN, VERSIONED):
            RENAME(made, self.name)
            # One that was used, or is another's: its tensor is not the capsule's to delete.
            managed.due = 0
        # The last reference is dropped by the test: no exception is set then.
        self.capsules.append(made)
        return made

    def device_pair(self):
        if self.device_raises is not None:
            raise noted(self.device_raises)
        return self.device

    def names_gpu(self):
        return any(
            isinstance(device, tuple) and device[:1] in ((2,), (13,))
            for device in (self.device, self.described.device)
        )

    def release(self):
        """Drops the capsules; returns whether each tensor was deleted once."""
        self.capsules.clear()
        managed, self.managed = self.managed, []
        if any(DELETED[each.pointer] < each.due for each in managed):
            gc.collect()  # a traceback may hold an import in a cycle
        # All of them, so that none is counted again.
        return [each.is_deleted_as_due() for each in managed].count(False) == 0


class Producer:
    def __init__(self, exports):
        self.exports = exports

    def __dlpack_device__(self):
        return self.exports.device_pair()

    def __dlpack__(self, **options):
        return self.exports.capsule()


class OldProducer(Producer):
    def __dlpack__(self, stream=None):
        return self.exports.capsule()


class BareProducer(Producer):
    def __dlpack__(self):
        return self.exports.capsule()


class StrictProducer(Producer):
    def __dlpack__(self, *, max_version, stream=None, dl_device=None, copy=None):
        return self.exports.capsule()


class DemandingProducer(Producer):
    def __dlpack__(self, device, stream):
        raise AssertionError("nobody knows these arguments")


class UncallableProducer(Producer):
    __dlpack__ = 5


class NoneProducer(Producer):
    __dlpack__ = None


class LostProducer:
    def __init__(self, exports):
        self.exports = exports

    def __dlpack__(self, **options):
        return self.exports.capsule()


@MANAGE
def manage(array, out):
    out[0] = None if array.exports.gives else array.exports.new_managed(True).pointer
    return 0


def exchange_api(major):
    """The struct of the C exchange API, as far as it is called without a GPU."""
    function = ctypes.cast(manage, ctypes.c_void_p).value
    return ctypes.create_string_buffer(struct.pack("<IIQQQQQQ", major, 3, 0, 0, function, 0, 0, 0))


APIS = [exchange_api(1), exchange_api(2)]


class ExchangeProducer(Producer):
    __dlpack_c_exchange_api__ = NEW(ctypes.addressof(APIS[0]), API_NAME, None)


class FutureProducer(Producer):
    __dlpack_c_exchange_api__ = NEW(ctypes.addressof(APIS[1]), API_NAME, None)


class NoApiProducer(Producer):
    __dlpack_c_exchange_api__ = NEW(ctypes.addressof(APIS[0]), NO_API_NAME, None)
    __c_dlpack_exchange_api__ = "an address"


RIGHT = (Producer, OldProducer, BareProducer, StrictProducer, NoApiProducer, FutureProducer)
WRONG = (DemandingProducer, UncallableProducer, NoneProducer, LostProducer)
WRONG_DEVICES = (None, 1, (), (1,), (1, 0, 0), "1x", ("1", "x"), (None, 0), (2**40, 0), (1, 2**40),
                 (2, 0), (2, -1), (13, 5), (10, 0), (-1, 0), ([1], [0]))  # fmt: skip
NO_CAPSULES = (None, 0, "dltensor", (), object(), [1.0], Producer)


def made(rng, error_of):
    """A producer, its exports, and what is wrong with it besides its description: None, "broken",
    or "raises"."""
    described = description(rng)
    versioned = rng.random() < 0.5
    exports = Exports(described, VERSIONED if versioned else PLAIN, versioned)
    exports.with_deleter = rng.random() < 0.9
    kind, fault = rng.choice(RIGHT), None
    draw = rng.random()
    if draw < 0.15:
        kind = ExchangeProducer
        exports.versioned = True
        if draw < 0.02:
            exports.gives, fault = (None,), "broken"
    elif draw < 0.20:
        kind, fault = rng.choice(WRONG), "broken"
    elif draw < 0.25:
        exports.gives, fault = (rng.choice(NO_CAPSULES),), "broken"
    elif draw < 0.30:
        exports.name, fault = rng.choice(WRONG_NAMES), "broken"
    elif draw < 0.35:
        exports.device, fault = rng.choice(WRONG_DEVICES), "broken"
    elif draw < 0.45:
        which, fault = rng.choice(("raises", "device_raises")), "raises"
        setattr(exports, which, error_of(rng))
    if not exports.versioned:
        described.version, described.flags = (1, 0), 0
    return kind(exports), exports, fault
