# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""segment_reduce: NumPy's reduceat, and the arrays of every library for both reductions of bags.

Its generated calls are in test_gather_reduce.py.
"""

import bag_oracle
import numpy as np
import pytest
from libraries import DTYPES, random_array, same_bits
from ml_dtypes import bfloat16
from places import on_gpu
from scatter_oracle import is_narrow
from write_cases import REDUCED_DTYPES

import gpukern
from gpukern import explain, segment_reduce

# JAX's warning about types that it narrows.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def reduce_at(place, x, offsets, *args, **options):
    """Calls segment_reduce on NumPy arrays moved to a place, and brings the result back."""
    result = segment_reduce(place.put(np.asarray(x)), place.put(np.asarray(offsets)), *args,
                            **options, **place.options)  # fmt: skip
    return place.take(result)


@pytest.mark.parametrize("dtype", REDUCED_DTYPES, ids=str)
def test_segments_along_every_axis(place, rng, dtype):
    x = (rng.standard_normal((7, 9, 5)) * 9).astype(dtype)
    for axis in (0, 1, -1, None):
        n = x.size if axis is None else x.shape[axis]
        offsets = np.sort(rng.integers(0, n + 1, 6))
        for reduce in bag_oracle.reductions_of(np.dtype(dtype)):
            expected = bag_oracle.segment_reduce(x, offsets, reduce, axis)
            result = reduce_at(place, x, offsets, reduce, axis=axis)
            assert result.tobytes() == np.ascontiguousarray(expected).tobytes(), (axis, reduce)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u1"])
def test_many_segments(place, rng, dtype):
    lengths = rng.integers(0, 60, 600)
    lengths[[3, 200, 201, 300, 500]] = 20_000, 256, 0, 5000, 257
    offsets = np.concatenate([[2], 2 + np.cumsum(lengths)])
    x = (rng.standard_normal(offsets[-1] + 3) * 9).astype(dtype)
    for reduce in bag_oracle.reductions_of(np.dtype(dtype)):
        expected = bag_oracle.segment_reduce(x, offsets, reduce)
        assert reduce_at(place, x, offsets, reduce).tobytes() == expected.tobytes(), reduce


def test_many_long_segments(place, rng):
    """More than a GPU joins by a thread block each."""
    count, length = 4000, 2400
    x = rng.standard_normal((count, length)).astype("f4")
    expected = bag_oracle.segment_reduce(x.T, [0, length])[0]
    offsets = np.arange(0, x.size + 1, length)
    assert np.array_equal(reduce_at(place, x.ravel(), offsets), expected)


@pytest.mark.parametrize(
    ("dtype", "columns"),
    [("f4", columns) for columns in (1, 2, 3, 4, 5, 7, 11, 15, 16, 17)]
    + [(dtype, columns) for dtype in ("f2", "f8", "u1", "i2", "c8", "c16") for columns in (1, 3)],
)
def test_contiguous_rows_at_any_address(place, rng, dtype, columns):
    """Short segments and long ones, of which a warp of a GPU loads those of all its threads or not,
    at addresses that are multiples of the element or not."""
    item = np.dtype(dtype).itemsize
    memory = (rng.standard_normal(9000 * columns) * 9).astype(dtype).view("u1")
    few = rng.integers(0, 10, 100)
    mixed = few.copy()
    mixed[[5, 40, 41, 63, 99]] = 256, 257, 0, 1000, 2000
    most = 4096 // item // (max(32 // columns, 1) * columns)  # that a warp loads together
    for lengths in (few, mixed, np.full(50, most), np.full(50, most + 1)):
        offsets = np.concatenate([[0], np.cumsum(lengths)])[: 1 + 9000 // max(lengths)]
        falling = offsets - np.where(np.arange(len(offsets)) % 7 == 3, 3, 0)
        for shift, at in [(0, offsets), (item, offsets + 1), (3 * item, falling), (1, offsets),
                          (item // 2, offsets)]:  # fmt: skip
            end = shift + (offsets[-1] + 1) * columns * item
            x = memory[shift:end].view(dtype).reshape(-1, columns)
            there = on_gpu(x) if place.name == "cuda-array" else place.put(x)
            for reduce in ("sum",) if x.dtype.kind == "c" else ("sum", "max"):
                expected = bag_oracle.segment_reduce(x, at, reduce, mode="clip")
                result = segment_reduce(there, place.put(at), reduce, mode="clip", **place.options)
                assert place.take(result).tobytes() == expected.tobytes(), (shift, reduce)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_number_that_wins_at_any_position(place, dtype):
    """-0 is less than +0, and NaN wins, whichever its bits are."""
    dtype = np.dtype(dtype)
    nan = np.array(np.nan, dtype)
    payload = (nan.view(f"u{dtype.itemsize}") + 5).view(dtype)
    for length in (1, 2, 9, 31, 33, 67, 300):
        offsets = np.arange(0, length * length + 1, length)
        for reduce, one, rest, expected in [
            ("max", 0.0, -0.0, 0.0),
            ("max", 0.0, -3.0, 0.0),
            ("max", payload, np.inf, nan),
            ("max", -nan, 1.0, nan),
            ("min", -0.0, 0.0, -0.0),
            ("min", -0.0, 3.0, -0.0),
            ("min", payload, -np.inf, nan),
            ("min", -nan, 1.0, nan),
        ]:
            x = np.full((length, length), rest, dtype)
            np.fill_diagonal(x, one)
            result = reduce_at(place, x.ravel(), offsets, reduce)
            assert result.tobytes() == np.full(length, expected, dtype).tobytes(), (reduce, one)


def test_reduceat_of_numpy(place, rng):
    """Where no segment is empty; reduceat's last segment ends with the array."""
    x = rng.integers(-100, 100, (50, 3))
    offsets = np.array([0, 1, 7, 30, 50])
    for reduce, ufunc in [("sum", np.add), ("min", np.minimum), ("max", np.maximum)]:
        expected = ufunc.reduceat(x, offsets[:-1], 0)
        assert np.array_equal(reduce_at(place, x, offsets, reduce), expected)


def test_any_layout_and_overlap(rng):
    base = rng.standard_normal((20, 9)).astype(">f8")
    for x in (base[::-2, ::3], base.T, np.broadcast_to(base[0], (20, 9)), np.zeros((4, 5))[:, :0]):
        expected = bag_oracle.segment_reduce(x.astype("f8"), [0, 2, 2, 4])
        assert np.array_equal(segment_reduce(x, [0, 2, 2, 4]), expected)
    data = np.arange(12.0)
    assert segment_reduce(data, [0, 3, 6, 9, 12], out=data[2:6]).tolist() == [3, 12, 21, 30]
    offsets = np.array([0, 1, 3, 4])
    assert segment_reduce(np.arange(4), offsets, out=offsets[1:]).tolist() == [0, 3, 3]


def test_offsets(place):
    x = np.ones(10)
    for offsets, k in [([0, 5, 4], 2), ([-1, 3], 0), ([0, 11], 1), ([11, 11], 0)]:
        words = rf"^segment_reduce: offsets must be in \[0, 10\] and not fall, got offsets\[{k}\]"
        with pytest.raises(ValueError, match=words):
            reduce_at(place, x, offsets)
        clipped = np.clip(offsets, 0, 10)
        expected = np.maximum(np.diff(clipped), 0)
        assert reduce_at(place, x, offsets, mode="clip").tolist() == expected.tolist()
    assert reduce_at(place, x, np.array([0, 2**64 - 1], "u8"), mode="clip").tolist() == [10]
    # Bags that overlap have more blocks together than there is room for at first.
    many = np.tile([0, 3000], 50)
    expected = np.where(np.arange(99) % 2, 0, 3000)
    assert np.array_equal(reduce_at(place, np.ones(3000, "i4"), many, mode="clip"), expected)


def test_options():
    with pytest.raises(ValueError, match=r"^segment_reduce: mode must be 'raise' or 'clip', got"):
        segment_reduce(np.ones(3), [0, 3], mode="wrap")
    with pytest.raises(ValueError, match=r"^segment_reduce: mode must be 'raise' or 'clip', got N"):
        segment_reduce(np.ones(3), [0, 3], mode=None)
    with pytest.raises(ValueError, match=r"^segment_reduce: reduce must be 'sum', 'mean', 'min'"):
        segment_reduce(np.ones(3), [0, 3], None)
    with pytest.raises(TypeError, match=r"^segment_reduce: x must be of a dtype that reduce 'sum'"):
        segment_reduce(np.array(["a"]), [0, 1])
    assert explain(segment_reduce, np.ones(8), [0, 3]).path == "items"


# ---- libraries ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_libraries(theirs, rng, dtype):
    if dtype.kind == "b" or not theirs.has(dtype):
        return
    source = random_array(rng, (37, 4), dtype)
    index = rng.integers(-37, 37, 60).astype("i4")
    weights = random_array(rng, (60,), dtype)
    offsets = np.array([0, 5, 5, 40, 60], "i4")
    for _, at in theirs.layouts(source):
        for put in (theirs.put, np.array):  # what is on the host goes to the device
            result = gpukern.gather_reduce(
                at,
                put(index),
                put(offsets),
                weights=put(weights) if put is theirs.put else theirs.put(weights),
            )
            assert theirs.is_own(result)
            expected = bag_oracle.gather_reduce(source, index, offsets, weights=weights)
            assert same_bits(theirs.take(result), expected)
        ends = np.array([0, 30, 37], "i4")
        result = segment_reduce(at, theirs.put(ends), "sum", mode="clip")
        assert same_bits(theirs.take(result), bag_oracle.segment_reduce(source, ends))


def test_bfloat16_is_added_in_float32():
    assert is_narrow(np.dtype(bfloat16))
    assert segment_reduce(np.array([256, 1, 1], bfloat16), [0, 3]).astype("f4").tolist() == [258]


def test_tensors_that_require_gradients():
    torch = pytest.importorskip("torch")
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(BufferError, match=r"^gather_reduce: source requires gradients"):
        gpukern.gather_reduce(leaf, [0], [0, 1])
    with pytest.raises(BufferError, match=r"^gather_reduce: weights requires gradients"):
        gpukern.gather_reduce(torch.zeros(3), [0, 1, 2], [0, 3], weights=leaf)
