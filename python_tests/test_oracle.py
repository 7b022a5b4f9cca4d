# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The oracles themselves, held against NumPy, the C library and rational arithmetic."""

import ctypes
import ctypes.util
from fractions import Fraction

import numpy as np
import oracle
import pytest
import scatter_oracle

LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
LIBM.fma.restype = ctypes.c_double
LIBM.fma.argtypes = [ctypes.c_double] * 3
LIBM.fmaf.restype = ctypes.c_float
LIBM.fmaf.argtypes = [ctypes.c_float] * 3


def random_floats(rng, dtype, count):
    """Half random bits, half numbers close to one, which cancel."""
    size = np.dtype(dtype).itemsize
    numbers = np.frombuffer(rng.bytes(count * size), dtype).copy()
    numbers[::2] = rng.choice([-1, 1], count)[::2] * rng.uniform(0.5, 2, count)[::2]
    return numbers


@pytest.mark.parametrize(("name", "function"), [("float32", LIBM.fmaf), ("float64", LIBM.fma)])
def test_fma_is_that_of_the_c_library(name, function, rng):
    kind = oracle.SAXPY_TYPES[name]
    a, x, y = (random_floats(rng, kind.dtype, 3000) for _ in range(3))
    with np.errstate(all="ignore"):
        y[::3] = -(a * x)[::3]
    for scalar, *pair in zip(a, x, y, strict=True):
        ours = oracle.saxpy(kind, scalar, *pair)
        theirs = kind.dtype.type(function(float(scalar), *map(float, pair)))
        if np.isnan(theirs):
            assert oracle.bits_of(kind, ours) == [(kind.format.nan,)]
        else:
            assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("f", [oracle.FLOAT16, oracle.BFLOAT16, oracle.FLOAT32, oracle.FLOAT64])
def test_decode_and_encode_are_inverse(f, rng):
    for bits in [0, 1, f.infinity - 1, *(int(n) % f.infinity for n in rng.integers(0, 2**62, 500))]:
        assert f.encode(*f.decode(bits)) == bits
        if bits:
            assert f.encode(*f.decode(bits | f.sign)) == bits | f.sign


@pytest.mark.parametrize("f", [oracle.FLOAT16, oracle.BFLOAT16, oracle.FLOAT32])
def test_encode_gives_the_nearest(f, rng):
    for _ in range(500):
        value = Fraction(int(rng.integers(1, 2**60))) * Fraction(2) ** int(rng.integers(-90, -30))
        exponent = value.denominator.bit_length() - 1
        bits = f.encode(value.numerator, -exponent)
        if bits == f.infinity:
            mantissa, power = f.decode(f.infinity - 1)
            assert value >= (mantissa + Fraction(1, 2)) * Fraction(2) ** power
            continue
        distances = []
        for near in (max(bits - 1, 0), bits, min(bits + 1, f.infinity - 1)):
            mantissa, power = f.decode(near)
            distances.append(abs(value - mantissa * Fraction(2) ** power))
        assert distances[1] == min(distances)
        assert distances.count(distances[1]) == 1 or bits % 2 == 0 or bits == f.infinity - 1


def test_conversion_is_that_of_numpy(rng):
    bits = np.arange(2**16, dtype=np.uint16)
    wide = [oracle.convert_bits(oracle.FLOAT16, oracle.FLOAT32, int(b)) for b in bits]
    numpys = bits.view(np.float16).astype(np.float32)
    finite = ~np.isnan(numpys)
    assert (np.array(wide, np.uint32)[finite] == numpys.view(np.uint32)[finite]).all()
    floats = (rng.standard_normal(2000) * 2.0 ** rng.integers(-30, 20, 2000)).astype(np.float32)
    narrow = [
        oracle.convert_bits(oracle.FLOAT32, oracle.FLOAT16, int(b)) for b in floats.view(np.uint32)
    ]
    with np.errstate(over="ignore"):
        assert (np.array(narrow, np.uint16) == floats.astype(np.float16).view(np.uint16)).all()


def test_double_is_no_oracle_for_float32():
    a, x, y = (
        np.float32(float.fromhex("0x1.000002p-24")),
        np.float32(float.fromhex("0x1.fffffcp-1")),
        np.float32(float.fromhex("0x1.000002p+0")),
    )
    twice = np.float32(np.float64(a) * np.float64(x) + np.float64(y))
    assert oracle.saxpy(oracle.SAXPY_TYPES["float32"], a, x, y) == y != twice


def test_integers_wrap():
    kind = oracle.SAXPY_TYPES["int32"]
    x = np.array([2**31 - 1, -(2**31), 3], np.int32)
    with np.errstate(over="ignore"):
        assert (oracle.saxpy(kind, np.int32(7), x, x) == np.int32(7) * x + x).all()


def test_gather_is_numpys_take(rng):
    source = rng.standard_normal((3, 4, 5))
    for axis in (0, 1, -1, None):
        size = source.size if axis is None else source.shape[axis]
        index = rng.integers(-size, size, (2, 3))
        ours = oracle.gather(source, index, axis, "raise")
        assert ours.tobytes() == np.take(source, index, axis).tobytes()
        index *= 3
        for mode in ("wrap", "clip"):
            ours = oracle.gather(source, index, axis, mode)
            assert ours.tobytes() == np.take(source, index, axis, mode=mode).tobytes()


def test_gather_fills():
    source = np.arange(6).reshape(2, 3)
    index = np.array([-3, 1, 2, -1])
    row = np.array([7, 8, 9])
    filled = oracle.gather(source, index, 0, "fill", row)
    assert filled.view(source.dtype).tolist() == [[7, 8, 9], [3, 4, 5], [7, 8, 9], [3, 4, 5]]
    zeroed = oracle.gather(source, index, 0, "fill")
    assert zeroed.view(source.dtype).tolist() == [[0, 0, 0], [3, 4, 5], [0, 0, 0], [3, 4, 5]]


def test_gather_names_the_first_bad_index():
    with pytest.raises(IndexError, match=r"^index 9 is out of bounds for axis 1 with size 3$"):
        oracle.gather(np.zeros((2, 3)), np.array([0, 9, 4]), -1, "raise")
    with pytest.raises(IndexError, match="non-empty take"):
        oracle.gather(np.zeros((0, 3)), np.array([0]), 0, "clip")


def plainly_combined(step, values):
    """In blocks of 256 and then in pairs, value by value."""
    level = []
    for begin in range(0, len(values), 256):
        total = values[begin]
        for value in values[begin + 1 : begin + 256]:
            total = step(total, value)
        level.append(total)
    while len(level) > 1:
        pairs = [step(one, other) for one, other in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("reduce", ["add", "multiply", "min", "max"])
def test_scatter_combines_in_blocks(dtype, reduce, rng):
    lengths = [1, 2, 255, 256, 257, 512, 513, 1, 700, 1279, 1281, 3000]
    values = (rng.uniform(0.5, 1.5, sum(lengths)) * rng.choice([-1, 1], sum(lengths))).astype(dtype)
    step = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[reduce]
    expected = [plainly_combined(step, part) for part in np.split(values, np.cumsum(lengths)[:-1])]
    found = scatter_oracle.combine(values, lengths, reduce)
    assert found.tobytes() == np.array(expected, dtype).tobytes()
    # Of each key, the element before its updates in order.
    keys = rng.permutation(np.repeat(np.arange(12), np.array(lengths) - 1))
    target, updates = values[:12], values[12:]
    expected = [
        plainly_combined(step, np.concatenate([target[k : k + 1], updates[keys == k]]))
        for k in range(12)
    ]
    found = scatter_oracle.scatter(target, keys, updates, 0, "raise", reduce)
    assert found.tobytes() == np.array(expected, dtype).tobytes()
