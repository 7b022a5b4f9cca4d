# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Reference results of axpby and fma, in the integers of oracle.py, and calls at random."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import oracle
from oracle import BFLOAT16, FLOAT16, FLOAT32, FLOAT64

FORMATS = {"float16": FLOAT16, "bfloat16": BFLOAT16, "float32": FLOAT32, "float64": FLOAT64}


def dtype_of(name):
    return np.dtype(oracle.bfloat16) if name == "bfloat16" else np.dtype(name)


def bits_of(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").ravel().tolist()


def array_of(bits, dtype, shape):
    return np.array(bits, f"u{dtype.itemsize}").view(dtype).reshape(shape)


def format_of(dtype):
    return FORMATS[dtype.name]


def convert(array, target):
    """Each element rounded once to a format."""
    source = format_of(array.dtype)
    return [oracle.convert_bits(source, target, bits) for bits in bits_of(array)]


def one(value):
    return bits_of(np.atleast_1d(value))[0]


def fma(f, a, x, y):
    """Of numbers of the dtype of a format."""
    bits = oracle.fma_bits(f, one(a), one(x), one(y))
    return array_of([bits], np.asarray(a).dtype, ())[()]


numbers = SimpleNamespace(fma=fma)


def random_bits(rng, dtype, shape):
    """Any bits at all, or numbers of about one, which cancel."""
    raw = np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype)
    if rng.random() < 0.5:
        raw = (rng.integers(-8, 9, raw.size) / 4).astype(dtype)
    return raw.reshape(shape).copy()


def random_layout(rng, array):
    """The same elements with other strides, or one that is repeated."""
    style = rng.integers(5)
    if style == 1:
        return np.asfortranarray(array)
    if style == 2 and array.ndim:
        return np.repeat(array, 2, -1)[..., ::2]
    if style == 3 and array.ndim:
        return array[..., ::-1].copy()[..., ::-1]
    return array


@dataclass
class Call:
    operands: list
    shape: tuple
    dtype: np.dtype  # of the result
    out_dtype: np.dtype

    @property
    def wide(self):
        return any(operand.dtype == np.float64 for operand in self.operands)

    @property
    def arithmetic(self):
        return np.dtype(np.float64 if self.wide else np.float32)

    def widened(self, array):
        full = np.broadcast_to(array, self.shape)
        return array_of(convert(full, format_of(self.arithmetic)), self.arithmetic, self.shape)

    def product(self, b, y):
        """b * y, rounded in the arithmetic."""
        f = format_of(self.arithmetic)
        b, y = self.widened(b), self.widened(y)
        signs = [(p ^ q) & f.sign for p, q in zip(bits_of(b), bits_of(y), strict=True)]
        made = [
            oracle.fma_bits(f, p, q, sign)
            for p, q, sign in zip(bits_of(b), bits_of(y), signs, strict=True)
        ]
        return array_of(made, self.arithmetic, self.shape)

    def expected(self, addend):
        """operands[0] * operands[1] + addend, in the dtype of the result."""
        f = format_of(self.arithmetic)
        a, x = (bits_of(self.widened(operand)) for operand in self.operands[:2])
        made = [
            oracle.fma_bits(f, *each)
            for each in zip(a, x, bits_of(self.widened(addend)), strict=True)
        ]
        self.exact = array_of(made, self.arithmetic, self.shape)
        return array_of(convert(self.exact, format_of(self.dtype)), self.dtype, self.shape)

    def rounded_to(self, dtype):
        """The bytes of the last expected() in another dtype. An output of float64 makes the
        arithmetic wide, so that one is left to calls with a float64 operand."""
        return array_of(convert(self.exact, format_of(dtype)), dtype, self.shape).tobytes()


def random_call(rng, count):
    names = rng.choice(list(FORMATS), count)
    if rng.random() < 0.4:
        names[:] = names[0]
    shape = tuple(rng.integers(1, 7, rng.integers(0, 4)).tolist())
    if rng.random() < 0.2:
        shape = (*shape[:1], int(rng.integers(1, 700)))
    operands = []
    for name in names:
        sizes = [size if rng.random() < 0.8 else 1 for size in shape]
        if len(sizes) > 1 and rng.random() < 0.2:
            sizes = sizes[1:]
        operands.append(random_layout(rng, random_bits(rng, dtype_of(name), tuple(sizes))))
    # 0-d arrays would be numbers, without a part in the choice of the dtype.
    operands = [np.atleast_1d(operand) for operand in operands]
    shape = np.broadcast_shapes(*[operand.shape for operand in operands])
    dtypes = {operand.dtype for operand in operands}
    widest = max(dtypes, key=lambda dtype: dtype.itemsize)
    if widest.itemsize == 2 and len(dtypes) > 1:
        widest = np.dtype(np.float32)
    choices = [name for name in FORMATS if name != "float64" or np.dtype("f8") in dtypes]
    return Call(operands, shape, widest, dtype_of(rng.choice(choices)))
