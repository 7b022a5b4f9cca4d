# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Memory, and right and wrong descriptions of arrays in it."""

import ctypes
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

SIZE = 1 << 14
HUGE = (1 << 31, 1 << 40, 1 << 60, (1 << 63) - 1)
# The types of DLPack that NumPy has, by code and bits.
NAMES = {
    **{(0, bits): f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"f{bits // 8}" for bits in (16, 32, 64, 128)},
    **{(5, bits): f"c{bits // 8}" for bits in (64, 128, 256)},
    (4, 16): ml_dtypes.bfloat16,
    (6, 8): "?",
}
PLAIN_TYPES = [(2, 32), (2, 64), (0, 32), (0, 64), (0, 8), (1, 8), (1, 64), (6, 8), (5, 64),
               (5, 128), (4, 16), (2, 16), (1, 16)]  # fmt: skip


def _values():
    """Bytes that are moderate numbers in every type: sums of them are exact."""
    return np.random.default_rng(1).integers(0x20, 0x3C, SIZE).astype(np.uint8)


class Memory:
    """The bytes of all arrays, with a copy that shows what a call has changed."""

    def __init__(self):
        self.values = _values()
        self.before = self.values.copy()
        self.address = self.values.ctypes.data

    def restore(self):
        self.values[...] = self.before

    def is_as_before(self):
        return self.holds(self.before)

    def holds(self, values):
        return np.array_equal(self.values, values)


MEMORY = Memory()


@dataclass
class Description:
    """What DLTensor says; strides count elements, None for NULL."""

    data: int = 0
    device: tuple = (1, 0)
    ndim: int = 0
    code: int = 2
    bits: int = 32
    lanes: int = 1
    shape: list | None = field(default_factory=list)
    strides: list | None = None
    byte_offset: int = 0
    version: tuple = (1, 0)
    flags: int = 0

    @property
    def itemsize(self):
        return self.bits * self.lanes // 8

    @property
    def dtype(self):
        name = NAMES.get((self.code, self.bits)) if self.lanes == 1 else None
        return np.dtype(name or f"V{self.itemsize}")

    @property
    def sizes(self):
        return (self.shape or [])[: self.ndim]

    def steps(self):
        """The strides, in bytes."""
        if self.strides is not None:
            return [stride * self.itemsize for stride in self.strides[: self.ndim]]
        made, step = [], self.itemsize
        for size in reversed(self.sizes):
            made.insert(0, step)
            step *= size
        return made

    def is_broken(self):
        """Whether no memory can be like this, so that every call must refuse it."""
        if self.version[0] != 1 or self.device[0] not in (1, 3):
            return True
        if not 0 <= self.ndim <= 64 or self.bits * self.lanes % 8 or self.itemsize == 0:
            return True
        if self.ndim > 0 and self.shape is None:
            return True
        sizes = self.sizes
        if any(size < 0 for size in sizes):
            return True
        return 0 not in sizes and self.data_is_broken(sizes)

    def data_is_broken(self, sizes):
        if self.data == 0 or self.byte_offset >= 1 << 63:
            return True
        below, above = self.extent(sizes)
        start = self.data + self.byte_offset
        count = np.prod(sizes, dtype=object)
        return start + below < 0 or above >= 1 << 63 or count * self.itemsize >= 1 << 63

    def extent(self, sizes):
        """The first byte and that behind the last, from the address on."""
        reaches = [
            (size - 1) * step for size, step in zip(sizes, self.steps(), strict=True) if size > 1
        ]
        return (
            sum(min(reach, 0) for reach in reaches),
            sum(max(reach, 0) for reach in reaches) + self.itemsize,
        )

    def array(self, memory=MEMORY, dtype=None):
        """The same as an ndarray; None if it is large, or leaves the memory."""
        dtype = self.dtype if dtype is None else dtype
        sizes = self.sizes
        if np.prod(sizes, dtype=object) * self.itemsize > SIZE or any(s > SIZE for s in sizes):
            return None
        if 0 in sizes:
            return np.empty(sizes, dtype)
        start = self.data + self.byte_offset - memory.address
        below, above = self.extent(sizes)
        if start + below < 0 or start + above > SIZE:
            return None
        steps = [step if size > 1 else 0 for size, step in zip(sizes, self.steps(), strict=True)]
        return np.ndarray(sizes, dtype, memory.values, start, steps)


def plain(rng):
    """A right description."""
    code, bits = rng.choice(PLAIN_TYPES)
    ndim = rng.choice((0, 1, 1, 2, 2, 3))
    shape = [rng.choice((0, 1, 2, 3, 4, 5)) for _ in range(ndim)]
    made = Description(ndim=ndim, code=code, bits=bits, shape=shape)
    start = SIZE // 2 + rng.choice((0, 0, made.itemsize, 16 * rng.randrange(8)))
    made.data = MEMORY.address + start
    style = rng.randrange(6)
    if style:
        order = list(range(ndim))
        if style > 2:
            rng.shuffle(order)
        made.strides, step = [0] * ndim, rng.choice((1, 1, 2))
        for d in reversed(order):
            made.strides[d] = step * (rng.choice((1, -1)) if style > 3 else 1)
            step *= max(shape[d], 1)
        if style == 5 and ndim and rng.random() < 0.3:
            made.strides[rng.randrange(ndim)] = 0
    return made


def _any_size(rng, made, values):
    if made.shape:
        made.shape[rng.randrange(len(made.shape))] = rng.choice(values)


def _any_stride(rng, made, values):
    if made.shape:
        if made.strides is None:
            made.strides = [1] * len(made.shape)
        made.strides[rng.randrange(len(made.strides))] = rng.choice(values)


def _ndim(rng, made):
    """More dimensions, of size 1, or fewer, or a number that there cannot be."""
    made.ndim = rng.choice((0, 1, 2, 5, 63, 64, 65, 100, 2**31 - 1, -1, -(2**31)))
    for sizes in [each for each in (made.shape, made.strides) if each is not None]:
        sizes.extend([1] * (min(max(made.ndim, 0), 64) - len(sizes)))


def _large_strides(rng, made):
    _any_stride(rng, made, (2**31, 2**62, 2**63 - 1, -(2**63), -(2**62), 1 << 59))


#: Ways to change a description, most of which break it.
CHANGES = {
    "no data": lambda rng, made: setattr(made, "data", 0),
    "no shape": lambda rng, made: setattr(made, "shape", None),
    "no strides": lambda rng, made: setattr(made, "strides", None),
    "ndim": _ndim,
    "negative size": lambda rng, made: _any_size(rng, made, (-1, -2, -(2**31), -(2**63))),
    "huge size": lambda rng, made: _any_size(rng, made, HUGE),
    "empty": lambda rng, made: _any_size(rng, made, (0,)),
    "zero stride": lambda rng, made: _any_stride(rng, made, (0,)),
    "negative stride": lambda rng, made: _any_stride(rng, made, (-1, -7, -100)),
    "large stride": _large_strides,
    "byte_offset": lambda rng, made: setattr(
        made, "byte_offset", rng.choice((1, 8, 64, 1000, 2**63, 2**64 - 8))
    ),
    "code": lambda rng, made: setattr(made, "code", rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 17, 255))),
    "bits": lambda rng, made: setattr(
        made, "bits", rng.choice((0, 1, 4, 7, 8, 12, 16, 24, 32, 64, 80, 128, 248, 255))
    ),
    "lanes": lambda rng, made: setattr(made, "lanes", rng.choice((0, 1, 2, 3, 4, 8, 256, 65535))),
    "device type": lambda rng, made: setattr(
        made, "device", (rng.choice((0, 2, 3, 4, 7, 10, 13, 14, 17, -1, 2**31 - 1)), 0)
    ),
    "device id": lambda rng, made: setattr(
        made, "device", (rng.choice((1, 2, 3, 13)), rng.choice((-1, 1, 7, 2**31 - 1)))
    ),
    "version": lambda rng, made: setattr(
        made, "version", (rng.choice((0, 1, 1, 2, 99, 2**32 - 1)), rng.choice((0, 3, 2**32 - 1)))
    ),
    "flags": lambda rng, made: setattr(made, "flags", rng.choice((1, 2, 3, 4, 7, 2**64 - 1))),
}


def description(rng):
    """A description with up to two changes."""
    made = plain(rng)
    for name in rng.sample(list(CHANGES), rng.choice((0, 1, 1, 1, 2))):
        if made.shape is not None or name in ("no data", "code", "device type", "version"):
            CHANGES[name](rng, made)
    return made


def sizes_memory(sizes):
    """An array of C's int64_t; None for NULL."""
    return None if sizes is None else (ctypes.c_int64 * max(len(sizes), 1))(*sizes)


def noted(error):
    """The exception, which is about to be raised by a method of the caller."""
    error.was_raised = True
    return error
