# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather by example: numpy.take, point by point, and what gpukern adds to it."""

import array
import sys
import types
from collections import UserList, deque

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.exceptions import AxisError

import gpukern
from gpukern import gather

SIZES = (0, 1, 31, 32, 33, 65, 4096, 70001)
INDEX_DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


class Kept(np.ndarray):
    """A subclass of ndarray that overrides nothing."""


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16", "S3", "U5", "M8[us]", "V100"])
def test_every_size(place, rng, dtype):
    source = np.frombuffer(rng.bytes(97 * np.dtype(dtype).itemsize), dtype)
    for size in SIZES:
        index = rng.integers(-97, 97, size)
        result = place.gather(source, index)
        assert result.dtype == source.dtype
        assert result.tobytes() == source[index].tobytes()


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(place, rng, dtype):
    source = rng.random(300)
    low = 0 if dtype.startswith("u") else -100
    index = rng.integers(low, 128, 1000).astype(dtype)
    assert np.array_equal(place.gather(source, index), source[index])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3, None])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,), (1, 0, 2)])
def test_every_axis_and_index_shape(place, rng, axis, shape):
    source = rng.random((3, 4, 5))
    index = rng.integers(-3, 3, shape)
    result = place.gather(source, index, axis=axis)
    expected = np.take(source, index, axis=axis)
    assert result.shape == expected.shape
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_modes_of_numpy(place, rng, mode):
    source = rng.random((7, 3))
    index = rng.integers(-1000, 1000, 500)
    assert np.array_equal(
        place.gather(source, index, mode=mode), np.take(source, index, axis=0, mode=mode)
    )


def test_mode_fill(place):
    source = np.arange(1, 6)
    index = np.array([0, 4, 5, -5, -6, -1])
    assert place.gather(source, index, mode="fill").tolist() == [1, 5, 0, 1, 0, 5]
    filled = place.gather(source, index, mode="fill", fill_value=-9)
    assert filled.tolist() == [1, 5, -9, 1, -9, 5]


def test_fill_value_may_be_the_end_of_an_item(place):
    source = np.arange(12.0).reshape(2, 3, 2)
    filled = place.gather(source, np.array([5]), mode="fill", fill_value=np.array([7.0, 8.0]))
    assert filled.tolist() == [[[7, 8], [7, 8], [7, 8]]]


def test_fill_value_converts_without_changing_kind():
    assert gather(np.zeros(2, np.float32), [9], mode="fill", fill_value=3).tolist() == [3.0]
    with pytest.raises(TypeError, match="fill_value"):
        gather(np.zeros(2, np.int32), [9], mode="fill", fill_value=0.5)
    with pytest.raises(OverflowError, match="fill_value"):
        gather(np.zeros(2, np.int8), [9], mode="fill", fill_value=1000)


def test_a_bfloat16_fill_value_may_be_a_large_int():
    x = np.ones(2, bfloat16)
    for number in (2**63, -(2**70), 3 * 2**64 + 1):
        assert gather(x, [5], mode="fill", fill_value=number)[0] == bfloat16(float(number))
    with pytest.raises(OverflowError, match=r"^gather: fill_value: int too large"):
        gather(x, [5], mode="fill", fill_value=10**400)


def test_fill_value_matters_in_mode_fill_only():
    assert gather(np.arange(3), [1], fill_value="no number").tolist() == [1]


@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
def test_limits_of_every_index_dtype(place, mode):
    source = np.arange(1, 8)
    for dtype in INDEX_DTYPES:
        limits = np.iinfo(dtype)
        numbers = [limits.min, limits.max, limits.max - 1, limits.max // 2 + 1]
        expected = {
            "wrap": [number % 7 + 1 for number in numbers],
            "clip": [1 if number < 0 else min(number, 6) + 1 for number in numbers],
            "fill": [number % 7 + 1 if -7 <= number < 7 else 0 for number in numbers],
        }[mode]
        assert place.gather(source, np.array(numbers, dtype), mode=mode).tolist() == expected


def test_scalar_source(place):
    source = np.array(3.5)
    for axis in (0, -1, None):
        assert place.gather(source, np.array([0, -1, 0]), axis=axis).tolist() == [3.5] * 3
    with pytest.raises(AxisError):
        place.gather(source, np.array([0]), axis=1)


def test_scalar_index_drops_the_axis(place, rng):
    source = rng.random((3, 4))
    assert np.array_equal(place.gather(source, np.array(1)), source[1])
    assert place.gather(source, np.array(-1), axis=None) == source[-1, -1]


@pytest.mark.parametrize("part", [(), np.s_[::-2], np.s_[:, 1:, 1::2], np.s_[1]], ids=str)
def test_int_gives_the_item_there(place, rng, part):
    array = rng.random((4, 3, 5))
    source = place.put(array)[part]
    array = array[part]
    for axis in range(-array.ndim, array.ndim):
        size = array.shape[axis]
        for number in (-size, -1, 0, size - 1):
            for index in (number, np.int64(number), np.uint8(number % size)):
                result = place.take(gather(source, index, axis=axis, **place.options))
                assert np.array_equal(result, np.take(array, index, axis))
        for number in (-size - 1, -1, size, 1000 * size + 1, 2**63 - 1):
            # NumPy wraps by repeated subtraction.
            for mode, at in (("wrap", number % size), ("clip", min(max(number, 0), size - 1))):
                result = place.take(gather(source, number, axis=axis, mode=mode, **place.options))
                assert np.array_equal(result, np.take(array, at, axis))
        result = gather(source, size, axis=axis, mode="fill", fill_value=7, **place.options)
        assert np.all(place.take(result) == 7)
        for number in (-size - 1, size, np.int64(size), 2**70):
            with pytest.raises(IndexError, match=rf"^index {number} "):
                gather(source, number, axis=axis, **place.options)
    flat = np.ravel(array)
    assert place.take(gather(place.put(flat), -2, axis=None, **place.options)) == flat[-2]
    assert place.take(gather(source, 3, axis=None, **place.options)) == flat[3]
    with pytest.raises(AxisError):
        gather(source, 0, axis=array.ndim, **place.options)
    for index in (True, 1.0, "1"):
        with pytest.raises(TypeError, match=r"^gather: index must be of an integer dtype"):
            gather(source, index, **place.options)


@pytest.mark.parametrize("part", [np.s_[:, ::-1], np.s_[::2, 1:, 1::3], np.s_[..., 2]], ids=str)
@pytest.mark.parametrize("count", [3, 500, 2000, 70_000])  # fewer and more than the source has
def test_flattened_source_of_several_dimensions(place, rng, part, count):
    array = rng.random((30, 11, 13))
    source = place.put(array)[part]
    array = array[part]
    size = array.size
    index = rng.integers(-size, size, count)
    for mode in ("raise", "wrap", "clip", "fill"):
        wide = index if mode == "raise" else index * 2
        expected = np.take(array, wide, mode="wrap" if mode == "fill" else mode)
        if mode == "fill":
            expected[(wide < -size) | (wide >= size)] = 7
        fill = {"fill_value": 7} if mode == "fill" else {}
        result = gather(source, place.put(wide), axis=None, mode=mode, **fill, **place.options)
        assert np.array_equal(place.take(result), expected)
    out = place.put(np.ones(count))
    index[-1] = size
    with pytest.raises(IndexError, match=rf"^index {size} is out of bounds for axis 0 with size"):
        gather(source, place.put(index), axis=None, out=out, **place.options)
    assert np.all(place.take(out) == 1)


def test_results_of_numpy_arrays_are_those_of_numpy():
    source = np.arange(6.0).reshape(2, 3)
    assert type(gather(source, 1, axis=None)) is np.float64
    assert type(gather(source, [1])) is np.ndarray
    assert type(gather(source.view(Kept), [1])) is Kept
    fortran = np.asfortranarray(source)
    result = gather(fortran, [1, 0])
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, fortran)


def test_matrix_is_kept():
    matrix = np.arange(6).reshape(2, 3).view(np.matrix)
    for index in ([1, 0], 1):
        ours, numpys = gather(matrix, index), np.take(matrix, index, axis=0)
        assert type(ours) is type(numpys)
        assert np.array_equal(ours, numpys)


def test_masked_array_keeps_its_mask():
    source = np.ma.array(np.arange(6).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 1]])
    ours, numpys = gather(source, [1, 0, 1]), np.ma.take(source, [1, 0, 1], axis=0)
    assert isinstance(ours, np.ma.MaskedArray)
    assert np.array_equal(ours.mask, numpys.mask)
    assert np.array_equal(ours.data, numpys.data)
    assert gather(source, 1, axis=None) is np.ma.masked
    fields = np.ma.array([(1, 2.0), (3, 4.0)], dtype="i4,f8", mask=[(0, 1), (1, 0)])
    assert gather(fields, [1, 0]).mask.tolist() == fields[[1, 0]].mask.tolist()
    assert gather(fields, 1).tolist() == fields[1].tolist() == (None, 4.0)


def test_a_call_while_another_thread_imports_numpy_ma(monkeypatch):
    class Subclass(np.ndarray):
        """A type that no call has seen."""

    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    source = np.arange(3.0).view(Subclass)
    assert gather(source, [2]).tolist() == [2]
    assert gather(np.array([None, "a"], object), [1]).tolist() == ["a"]
    assert gpukern.scatter(np.zeros(2), [1], [5]).tolist() == [0, 5]


@pytest.mark.parametrize("out", [np.zeros(2, np.int64), gpukern.empty(2, np.int64, "cpu")])
def test_masked_source_into_any_out(out):
    source = np.ma.array([1, 2, 3], mask=[0, 0, 1])
    assert gather(source, [1, 0], out=out) is out
    data = out if isinstance(out, np.ndarray) else out.numpy()
    assert data.tolist() == [2, 1]


def test_masked_out():
    out = np.ma.zeros(2, np.int64)
    gather(np.ma.array([1, 2, 3], mask=[0, 0, 1]), [2, 0], out=out)
    assert out.mask.tolist() == [True, False]
    with pytest.raises(TypeError, match="gather: out must not be a masked array"):
        gather(np.arange(3), [2, 0], out=out)


def test_structured_dtypes_keep_padding(place, rng):
    dtype = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    source = np.frombuffer(rng.bytes(10 * dtype.itemsize), dtype)
    result = place.gather(source, np.array([9, 0, 3]))
    assert result.dtype == dtype
    assert result.view("V16").tolist() == source.view("V16")[[9, 0, 3]].tolist()


@pytest.mark.parametrize("dtype", [">f8", ">i2", ">U3", "c32", "g", ">M8[s]"])
def test_unusual_dtypes_on_the_host(rng, dtype):
    if dtype in ("c32", "g"):
        dtype = {"c32": np.clongdouble, "g": np.longdouble}[dtype]
    source = rng.integers(0, 100, 20).astype(dtype)
    result = gather(source, [3, 19, -20])
    assert result.dtype == source.dtype
    assert np.array_equal(result, source[[3, 19, -20]])


def test_bfloat16_by_ml_dtypes(place):
    source = np.arange(10).astype(bfloat16)
    result = place.gather(source, np.array([9, 1, 12]), mode="fill", fill_value=2.5)
    assert result.dtype == source.dtype
    assert result.astype(float).tolist() == [9, 1, 2.5]


@pytest.mark.parametrize("columns", [15, 142])
def test_rows_that_repeat(place, rng, columns):
    source = rng.integers(0, 99, (700, columns + 3)).astype("f4")
    half = rng.integers(0, 700, 40_000)
    half[rng.random(40_000) < 0.5] = 350
    for index in (np.full(40_000, 350), np.sort(half), half, np.arange(40_000) % 700):
        for part in (source[:, :-3], source[:, 1:], source[:, ::-2], np.asfortranarray(source)):
            result = gather(place.put(part), place.put(index), axis=0, **place.options)
            assert place.take(result).tobytes() == part[index].tobytes()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_rows_that_repeat_in_every_mode(rng, mode):
    source = rng.integers(0, 99, (24, 5, 40)).astype("i8").transpose(1, 2, 0)
    index = rng.integers(-5, 5, (7, 30)) if mode == "raise" else rng.integers(-9, 9, (7, 30))
    for part in (source[0], source[:, 0], source):
        n = len(part)
        if mode == "fill":
            inside = (index >= -n) & (index < n)
            expected = np.where(inside[(..., *[None] * (part.ndim - 1))], part[index % n], 3)
        else:
            expected = np.take(part, index, axis=0, mode=mode)
        assert np.array_equal(gather(part, index, axis=0, mode=mode, fill_value=3), expected)


def test_axis_far_apart_and_columns_near(place, rng):
    source = rng.integers(0, 99, (50_000, 20, 6)).astype("f4").transpose(2, 0, 1)
    index = rng.integers(0, 50_000, 1500)
    for part in (source, source[:, :, 9:], source[:, :, ::-1]):
        result = gather(place.put(part), place.put(index), axis=1, **place.options)
        assert np.array_equal(place.take(result), np.take(part, index, axis=1))


def test_columns_far_apart(place, rng):
    source = rng.integers(0, 99, (200_000, 32)).astype("f4")
    index = rng.integers(0, 200_000, 1500)
    target = place.put(np.zeros((1500, 32), "f4"))
    gather(place.put(source)[:, ::16], place.put(index), axis=0, out=target[:, ::16],
           **place.options)  # fmt: skip
    result = place.take(target)
    assert np.array_equal(result[:, ::16], source[index, ::16])
    assert np.count_nonzero(result) == np.count_nonzero(source[index, ::16])


def test_any_strides(rng):
    base = rng.random((20, 30))
    records = np.zeros(20, "u1,f8")
    records["f1"] = rng.random(20)
    unaligned = np.frombuffer(rng.bytes(81), np.uint8)[1:].view(np.float64)
    for source in (
        base.T,
        base[::-2, ::3],
        base[:, 3:7],
        records["f1"],
        unaligned,
        np.broadcast_to(base[0], (5, 30)),
    ):
        for axis in (0, -1, None):
            index = np.array([[0, -1], [2, 1]])[::-1].T
            assert (
                gather(source, index, axis=axis).tobytes()
                == np.take(source, index, axis=axis).tobytes()
            )


def test_object_arrays_count_references():
    thing = object()
    source = np.array([thing, None, "text"], object)
    before = sys.getrefcount(thing)
    result = gather(source, [0, 0, 2])
    assert result.tolist() == [thing, thing, "text"]
    assert sys.getrefcount(thing) == before + 2
    del result
    assert sys.getrefcount(thing) == before


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_elements_that_hold_references(mode):
    records = np.array(
        [(1, "a", [1]), (2, "b", [2]), (3, "c", [3])], [("x", int), ("y", "U1"), ("z", object)]
    )
    strings = np.array(["a", "longer than sixteen bytes", ""], np.dtypes.StringDType())
    for source in (records, records.view(np.recarray), strings, records["z"]):
        for index in (1, [2, 0, -1], [[0], [1]], np.zeros((0, 2), int)):
            result = gather(source, index, mode=mode)
            expected = np.take(source, index, axis=0, mode=mode)
            assert type(result) is type(expected)
            assert np.array_equal(result, expected)
        out = np.empty_like(source)
        assert gather(source, [2, 0, 1], mode=mode, out=out) is out
        assert np.array_equal(out, source[[2, 0, 1]])
        with pytest.raises(TypeError, match="out must be an ndarray of dtype"):
            gather(source, [0], out=np.zeros(1))


def test_fill_of_elements_that_hold_references():
    records = np.array([(1, "a")], [("x", int), ("z", object)])
    filled = gather(records, [0, 5], mode="fill")
    assert filled.tolist() == [(1, "a"), (0, 0)]
    strings = np.array(["a"], np.dtypes.StringDType())
    assert gather(strings, [0, 5], mode="fill").tolist() == ["a", ""]
    assert gather(strings, [0, 5], mode="fill", fill_value="?").tolist() == ["a", "?"]


@pytest.mark.parametrize(
    "source",
    [
        [1.5, 2.5, 3.5],
        array.array("d", [1.5, 2.5, 3.5]),
        memoryview(array.array("d", [1.5, 2.5, 3.5])),
    ],
    ids=["list", "array.array", "memoryview"],
)
@pytest.mark.parametrize(
    "index",
    [[2, -3], array.array("h", [2, -3]), range(2, -4, -5)],
    ids=["list", "array.array", "range"],
)
def test_everything_with_the_buffer_protocol(source, index):
    assert gather(source, index).tolist() == [3.5, 1.5]


def test_index_lists_without_elements():
    for empty in ([], range(0), deque(), UserList()):
        assert gather(np.arange(3), empty).shape == (0,)
    assert gather(np.zeros((3, 2)), [[]]).shape == (1, 0, 2)


def test_out_is_filled_and_returned(place):
    source = np.arange(5.0)
    out = place.put(np.zeros(3))
    result = gpukern.gather(
        place.put(source), place.put(np.array([4, 0, -1])), out=out, **place.options
    )
    assert result is out
    assert place.take(out).tolist() == [4, 0, 4]


def test_scalar_out_is_returned_too():
    out = np.zeros(())
    assert gather(np.arange(5.0), 3, out=out) is out
    assert out == 3


def test_strided_out(rng):
    source, out = rng.random((4, 5)), np.zeros((9, 8))
    gather(source, [1, 3], axis=1, out=out[::-2, ::5][:4])
    assert np.array_equal(out[::-2, ::5][:4], source[:, [1, 3]])


def test_out_may_overlap_the_source():
    data = np.arange(10)
    gather(data, np.arange(9), out=data[1:])
    assert data.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    data = np.arange(5)
    assert gather(data, [4, 3, 2, 1, 0], out=data) is data
    assert data.tolist() == [4, 3, 2, 1, 0]


def test_out_may_overlap_the_index():
    index = np.array([3, 2, 1, 0])
    gather(np.array([10, 11, 12, 13]), index, out=index[::-1])
    assert index.tolist() == [10, 11, 12, 13]


def test_a_bfloat16_fill_value_keeps_the_payload_of_a_nan():
    bits = np.array([0xFFD6, 0x7F81, 0x7FC0, 0x3F80], np.uint16)
    for one in bits:
        fill = one.reshape(1).view(bfloat16)[0]
        result = gpukern.gather(np.zeros(3, bfloat16), [7], mode="fill", fill_value=fill)
        assert result.view(np.uint16).tolist() == [one]
