# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays in GPU memory whose __cuda_array_interface__ is right or wrong, and what it means."""

import operator
import random

import numpy as np
from described import MEMORY, SIZE, Description, description
from malformed_objects import (
    FIELDS,
    NO_DICTS,
    CudaInterface,
    LaterCudaInterface,
    OwnInterface,
    Raiser,
)

import gpukern

# Other numbers would be taken for the handle of a stream.
STREAMS = (None, 1, 2)
NO_STREAMS = (0, -1, 2**64, "1", 1.5, (1,), [])


def wait():
    """Waits for the work of all calls, of which the memory does not know."""
    for stream in STREAMS:
        gpukern.synchronize("cuda", stream=stream)


class GpuMemory:
    """The bytes of all arrays, their image on the host, and what both are before a call."""

    def __init__(self):
        self.before = MEMORY.before.copy()
        self.values = self.before.copy()
        self.array = gpukern.to_device(self.before, "cuda")
        self.address = self.array.__cuda_array_interface__["data"][0]

    def restore(self):
        self.values[...] = self.before
        wait()
        gpukern.copyto(self.array, self.before)

    def is_as_before(self):
        return self.holds(self.before)

    def holds(self, values):
        wait()
        return np.array_equal(self.array.numpy(), values)


def made(rng, memory):
    """The dict of an interface, mostly right."""
    described = description(rng)
    sizes = described.sizes
    found = {"shape": tuple(sizes), "typestr": described.dtype.str, "version": 3}
    address = described.data + described.byte_offset
    if described.data != 0:
        address += memory.address - MEMORY.address
    found["data"] = (address, rng.random() < 0.2)
    if described.strides is not None:
        found["strides"] = tuple(described.steps()[: len(sizes)])
    if rng.random() < 0.3:
        found["stream"] = rng.choice(STREAMS)
    for name in rng.sample(sorted(FIELDS), rng.choice((0, 0, 0, 1, 2))):
        if rng.random() < 0.15:
            found.pop(name, None)
        else:
            values = (*STREAMS, *NO_STREAMS) if name == "stream" else FIELDS[name]
            found[name] = rng.choice(values)
    return found


def meaning(found):
    """The description, the dtype and whether it is read-only; None for what must be refused."""
    if not isinstance(found, dict) or found.get("mask") is not None:
        return None
    if any(found.get("stream") is each for each in NO_STREAMS):
        return None
    try:
        address, readonly = found["data"]
        address = 0 if address is None else operator.index(address)
        shape = [operator.index(found["shape"][d]) for d in range(len(found["shape"]))]
        dtype = dtype_of(found)
        strides = elements(found.get("strides"), shape, dtype.itemsize)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    limits = (*shape, *(strides or ()))
    if (
        dtype.hasobject
        or dtype.subdtype is not None
        or len(shape) > 64
        or not 0 <= address < 1 << 64
    ):
        return None
    if any(not -(1 << 63) <= each < 1 << 63 for each in limits):
        return None
    described = Description(
        data=address, ndim=len(shape), bits=8 * dtype.itemsize, shape=shape, strides=strides
    )
    if dtype.itemsize > 0 and described.is_broken():
        return None
    return described, dtype, bool(readonly)


def dtype_of(found):
    fields = found.get("descr")
    if fields is not None and len(fields) > 1:
        return np.dtype([tuple(each) for each in fields])
    if not isinstance(found["typestr"], str):
        raise TypeError
    return np.dtype(found["typestr"])


def elements(strides, shape, itemsize):
    """The strides in elements."""
    if strides is None:
        return None
    strides = [operator.index(strides[d]) for d in range(len(strides))]
    if len(strides) != len(shape):
        raise ValueError
    if any(step % itemsize and size > 1 for step, size in zip(strides, shape, strict=True)):
        raise ValueError
    return [step // itemsize for step in strides]


class GpuCase:
    """As a case of test_malformed_arrays."""

    exports = None

    def __init__(self, number, memory, roles, error_of):
        self.number, self.memory, self.all_roles = number, memory, roles
        self.rng = rng = random.Random(number)
        self.ref = self.error = None
        self.readable = self.certain = self.readonly = False
        self.broken = True
        kind = rng.choice((CudaInterface, LaterCudaInterface))
        draw = rng.random()
        if draw < 0.01:
            self.given = OwnInterface()
        elif draw < 0.1:
            self.error = error_of(rng)
            self.given = kind(Raiser(self.error))
        elif draw < 0.13:
            self.given = kind(rng.choice(NO_DICTS))
        else:
            found = made(rng, memory)
            self.given = kind(found)
            self.set_meaning(meaning(found))

    def set_meaning(self, meant):
        self.broken = meant is None
        if meant is None:
            return
        described, dtype, self.readonly = meant
        if 0 < dtype.itemsize <= SIZE:
            self.ref = described.array(self.memory, dtype)
        self.readable = self.ref is not None
        self.certain = self.readable and self.ref.size > 0 and dtype.isbuiltin == 1

    def roles(self):
        nothing, read, written = self.all_roles
        if not (self.broken or self.readable):
            # What it describes is not ours to read.
            return [nothing]
        return [self.rng.choice(read), self.rng.choice(read), self.rng.choice(written)]

    def __str__(self):
        return f"case {self.number}: {getattr(self.given, 'found', '')!r:.300}"
