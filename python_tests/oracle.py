# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Reference results of gather and saxpy: index rules on Python ints, exact arithmetic.

saxpy is computed in integers. A finite floating-point number is ``mantissa * 2**exponent``; the
product and the sum of such numbers are again such numbers, exactly, and are rounded once.
"""

from dataclasses import dataclass

import numpy as np
from ml_dtypes import bfloat16


@dataclass(frozen=True)
class Format:
    """A binary floating-point format as in IEEE 754."""

    exponent_bits: int
    fraction_bits: int

    @property
    def lowest_exponent(self):
        """The power of two of the last place of subnormals."""
        return 2 - 2 ** (self.exponent_bits - 1) - self.fraction_bits

    @property
    def infinity(self):
        return (2**self.exponent_bits - 1) << self.fraction_bits

    @property
    def nan(self):
        """The NaN that saxpy returns: quiet, without sign and payload."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    @property
    def sign(self):
        return 1 << (self.exponent_bits + self.fraction_bits)

    def decode(self, bits):
        """(mantissa, exponent) of finite bits; the sign of a zero is lost."""
        fraction = bits & ((1 << self.fraction_bits) - 1)
        biased = (bits & ~self.sign) >> self.fraction_bits
        if biased:
            fraction |= 1 << self.fraction_bits
        mantissa = -fraction if bits & self.sign else fraction
        return mantissa, self.lowest_exponent + max(biased - 1, 0)

    def encode(self, mantissa, exponent, negative_zero=False):
        """The bits of ``mantissa * 2**exponent``, rounded to nearest, ties to even."""
        if mantissa == 0:
            return self.sign if negative_zero else 0
        magnitude = abs(mantissa)
        last_place = max(
            magnitude.bit_length() + exponent - 1 - self.fraction_bits, self.lowest_exponent
        )
        shift = last_place - exponent
        if shift > 0:
            units, rest = divmod(magnitude, 1 << shift)
            half = 1 << (shift - 1)
            units += rest > half or (rest == half and units & 1)
        else:
            units = magnitude << -shift
        # In units of the last place, the bits of a magnitude are its rank among all of them.
        rank = units + ((last_place - self.lowest_exponent) << self.fraction_bits)
        return min(rank, self.infinity) | (self.sign if mantissa < 0 else 0)


FLOAT16 = Format(5, 10)
BFLOAT16 = Format(8, 7)
FLOAT32 = Format(8, 23)
FLOAT64 = Format(11, 52)


def fma_bits(f, a, x, y):
    """``fma(a, x, y)`` of a format, on bits: one rounding, a canonical NaN."""
    plain_a, plain_x, plain_y = a & ~f.sign, x & ~f.sign, y & ~f.sign
    inf = f.infinity
    if plain_a > inf or plain_x > inf or plain_y > inf:
        return f.nan
    product_sign = (a ^ x) & f.sign
    if plain_a == inf or plain_x == inf:
        if not plain_a or not plain_x or (plain_y == inf and (y & f.sign) != product_sign):
            return f.nan
        return inf | product_sign
    if plain_y == inf:
        return y
    (am, ae), (xm, xe), (ym, ye) = f.decode(a), f.decode(x), f.decode(y)
    exponent = min(ae + xe, ye)
    total = (am * xm << (ae + xe - exponent)) + (ym << (ye - exponent))
    # A zero sum is +0, but for -0 + -0.
    both_negative = bool(product_sign) and bool(y & f.sign)
    return f.encode(total, exponent, negative_zero=both_negative)


def convert_bits(source, target, bits):
    """Bits of one format as those of another, rounded to nearest, ties to even."""
    plain = bits & ~source.sign
    if plain > source.infinity:
        return target.nan
    sign = target.sign if bits & source.sign else 0
    if plain == source.infinity:
        return target.infinity | sign
    return target.encode(*source.decode(bits), negative_zero=bool(sign))


def narrow_fma_bits(f, a, x, y):
    """fma of a 16-bit format: in float32, then rounded to the format."""
    wide = fma_bits(FLOAT32, *(convert_bits(f, FLOAT32, bits) for bits in (a, x, y)))
    return convert_bits(FLOAT32, f, wide)


@dataclass(frozen=True)
class SaxpyType:
    """How saxpy computes with a dtype: `parts` numbers of a format, or wrapping integers."""

    dtype: np.dtype
    format: Format | None
    parts: int = 1

    @property
    def bits_dtype(self):
        """The unsigned integer that holds one part."""
        return np.dtype(f"u{self.dtype.itemsize // self.parts}")


SAXPY_TYPES = {
    "float16": SaxpyType(np.dtype("f2"), FLOAT16),
    "bfloat16": SaxpyType(np.dtype(bfloat16), BFLOAT16),
    "float32": SaxpyType(np.dtype("f4"), FLOAT32),
    "float64": SaxpyType(np.dtype("f8"), FLOAT64),
    "complex64": SaxpyType(np.dtype("c8"), FLOAT32, 2),
    "complex128": SaxpyType(np.dtype("c16"), FLOAT64, 2),
    "int32": SaxpyType(np.dtype("i4"), None),
    "int64": SaxpyType(np.dtype("i8"), None),
}


def saxpy_element(kind, a, x, y):
    """One element; arguments and result are tuples of the bits of its parts."""
    f = kind.format
    if f is None:
        return ((a[0] * x[0] + y[0]) % 2 ** (8 * kind.dtype.itemsize),)
    if kind.parts == 2:
        negated = a[1] ^ f.sign
        return (
            fma_bits(f, negated, x[1], fma_bits(f, a[0], x[0], y[0])),
            fma_bits(f, a[1], x[0], fma_bits(f, a[0], x[1], y[1])),
        )
    step = narrow_fma_bits if kind.dtype.itemsize == 2 else fma_bits
    return (step(f, a[0], x[0], y[0]),)


def bits_of(kind, array):
    """The parts of each element in C order, as a list of tuples of ints."""
    flat = np.ascontiguousarray(array, kind.dtype).reshape(-1)
    return [tuple(row) for row in flat.view(kind.bits_dtype).reshape(-1, kind.parts).tolist()]


def saxpy(kind, a, x, y):
    """``a * x + y``, each element computed exactly and rounded once."""
    (a_bits,) = bits_of(kind, a)
    rows = [
        saxpy_element(kind, a_bits, *pair)
        for pair in zip(bits_of(kind, x), bits_of(kind, y), strict=True)
    ]
    flat = np.array(rows, kind.bits_dtype).reshape(-1)
    return flat.view(kind.dtype).reshape(np.shape(x))


def resolve(index, size, mode):
    """The position that an int stands for on an axis of `size` items; None if out of bounds."""
    if mode == "wrap":
        return index % size
    if mode == "clip":
        return min(max(index, 0), size - 1)
    if not -size <= index < size:
        return None
    return index % size


def raw(array):
    """The array with its items as plain bytes: padding and NaN payloads take part as well."""
    return array.view(f"V{array.dtype.itemsize}")


def write(out, items):
    """Assign items as plain bytes, but for those between the fields of records: other fields,
    perhaps, which are not written."""
    if out.dtype.names is None:
        raw(out)[...] = items
        return
    records = np.empty_like(out)
    raw(records)[...] = items
    for name in out.dtype.names:
        out[name] = records[name]


def gather_positions(index, size, axis, mode):
    """Where the items of the result come from, and which of them have no source."""
    found = [resolve(number, size, mode) for number in index.reshape(-1).tolist()]
    if mode == "raise" and None in found:
        number = index.reshape(-1)[found.index(None)]
        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {size}")
    positions = np.array([0 if place is None else place for place in found], np.int64)
    bad = np.array([place is None for place in found], bool)
    return positions.reshape(index.shape), bad.reshape(index.shape)


def gather(source, index, axis, mode, fill_value=None):
    """The result, its items as plain bytes; or an IndexError with NumPy's message.

    `fill_value` is None for zero bytes, or an array of the source's dtype.
    """
    items = raw(source)
    if axis is None or items.ndim == 0:
        items = items.reshape(-1)
    axis = 0 if axis is None else axis % items.ndim
    size = items.shape[axis]
    shape = items.shape[:axis] + index.shape + items.shape[axis + 1 :]
    if size == 0 and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    # NumPy reads the indices once per position before the axis: never without one.
    if 0 in items.shape[:axis] or (size == 0 and mode != "raise"):
        return np.zeros(shape, items.dtype)
    positions, bad = gather_positions(index, size, axis, mode)
    result = np.take(items, positions, axis=axis)
    if not bad.any() or 0 in shape:
        return result
    fill = np.zeros((), items.dtype) if fill_value is None else raw(fill_value)
    fill = np.broadcast_to(fill, items.shape[axis + 1 :])
    bad = bad.reshape(bad.shape + (1,) * (items.ndim - axis - 1))
    return np.where(bad, fill, result)
