# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy_many and SaxpyList beside a loop of saxpy, by bytes, and their errors."""

import array
import gc
import inspect
import weakref

import ml_dtypes
import numpy as np
import pytest
from libraries import KINDS, SAXPY_DTYPES, opened
from places import Place

import gpukern
from gpukern import SaxpyList, distributed, saxpy, saxpy_many

HOST = Place("cpu")
SIZES = (0, 1, 2, 31, 32, 33, 65, 1023, 4096, 4097, 20001)


def random_arrays(rng, dtype, sizes):
    dtype = np.dtype(dtype)
    return [np.frombuffer(rng.bytes(size * dtype.itemsize), dtype).copy() for size in sizes]


def same_bytes(place, results, expected):
    assert isinstance(results, list)
    for result, wanted in zip(results, expected, strict=True):
        assert place.take(result).tobytes() == np.asarray(wanted).tobytes()


# ---- results ------------------------------------------------------------------------------------


def test_every_size(place, rng, kind):
    x, y = (random_arrays(rng, kind.dtype, SIZES) for _ in range(2))
    a = random_arrays(rng, kind.dtype, [1])[0][0]
    expected = [saxpy(a, *pair, device="cpu") for pair in zip(x, y, strict=True)]
    xs, ys = ([place.put(each) for each in arrays] for arrays in (x, y))
    same_bytes(place, saxpy_many(a, xs, ys, **place.options), expected)
    assert saxpy_many(a, xs, ys, out=ys, **place.options) is ys
    same_bytes(place, ys, expected)


@pytest.mark.parametrize("count", [0, 1, 119, 120, 121, 1020, 1021, 3000])
def test_every_count(place, rng, count):
    sizes = rng.integers(0, 9, count)
    x, y = (random_arrays(rng, "f4", sizes) for _ in range(2))
    expected = [saxpy(0.3, *pair, device="cpu") for pair in zip(x, y, strict=True)]
    xs, ys = ([place.put(each) for each in arrays] for arrays in (x, y))
    same_bytes(place, saxpy_many(0.3, xs, ys, **place.options), expected)
    prepared = SaxpyList(xs, ys, ys)
    assert prepared(0.3, **place.options) == tuple(ys)
    same_bytes(place, list(prepared.out), expected)


def test_arrays_may_start_anywhere(rng):
    memory = np.frombuffer(rng.bytes(40000), "f4").copy()
    x = [memory[at : at + 101] for at in range(0, 2200, 103)]
    y = [memory[at : at + 101] for at in range(2500, 4700, 101)][: len(x)]
    expected = [saxpy(2, *pair) for pair in zip(x, y, strict=True)]
    same_bytes(HOST, saxpy_many(2, x, y), expected)


def test_any_layout_and_shape(place, rng):
    x = [rng.random(shape) for shape in ((3, 4), (4,), (), (5, 1), (2, 0))]
    y = [rng.random(shape) for shape in ((3, 4), (3, 4), (), (1, 6), (2, 0))]
    expected = [saxpy(-1.5, *pair, device="cpu") for pair in zip(x, y, strict=True)]
    xs, ys = ([place.put(each) for each in arrays] for arrays in (x, y))
    results = saxpy_many(-1.5, xs, ys, **place.options)
    same_bytes(place, results, expected)
    assert [result.shape for result in results] == [wanted.shape for wanted in expected]


def test_host_arrays_of_every_layout(rng):
    x = [np.asfortranarray(rng.random((5, 7))), rng.random(9)[::-1], rng.random((4, 6)).T]
    y = [rng.random((5, 7)), rng.random(18)[::2], rng.random((6, 4))]
    expected = [saxpy(3, *pair) for pair in zip(x, y, strict=True)]
    results = saxpy_many(3, x, y)
    same_bytes(HOST, results, expected)
    assert [result.strides for result in results] == [wanted.strides for wanted in expected]
    swapped = [each.astype(each.dtype.newbyteorder()) for each in y]
    saxpy_many(3, x, swapped, out=swapped)
    assert [np.array_equal(*pair) for pair in zip(swapped, expected, strict=True)] == [True] * 3


def test_overlaps_are_those_of_the_loop(rng):
    for _ in range(100):
        memory = rng.random(400).astype("f4")
        views = rng.integers(0, 300, (5, 3))
        size = int(rng.integers(0, 100))
        in_place = bool(rng.integers(2))
        copies = []
        for many in (False, True):
            work = memory.copy()
            x, y, out = ([work[at : at + size] for at in column] for column in views.T)
            out = y if in_place else out
            if many:
                saxpy_many(0.7, x, y, out=out)
            else:
                for k in range(5):
                    saxpy(0.7, x[k], y[k], out=out[k])
            copies.append(work.tobytes())
        assert copies[0] == copies[1], (views, size, in_place)


def test_the_same_array_several_times(place):
    ones = [place.put(np.ones(5, "f4"))] * 3
    assert saxpy_many(1, ones, ones, out=ones, **place.options) is ones
    assert place.take(ones[0]).tolist() == [8.0] * 5


def test_what_is_computed_one_by_one(place, rng):
    x = [rng.random(4).astype("f4"), rng.random(3), np.arange(3)]
    y = [rng.random(4).astype("f4"), rng.random(3).astype("f4"), np.arange(3)]
    expected = [saxpy(2, *pair, device="cpu") for pair in zip(x, y, strict=True)]
    xs, ys = ([place.put(each) for each in arrays] for arrays in (x, y))
    same_bytes(place, saxpy_many(2, xs, ys, **place.options), expected)
    assert saxpy_many(2, xs, ys, out=ys, **place.options) is ys
    factors = place.put(np.float32([2.0]))
    same_bytes(place, saxpy_many(factors, xs[:1], ys[:1], **place.options),
               [saxpy(np.float32([2]), x[0], expected[0], device="cpu")])  # fmt: skip
    same_bytes(place, saxpy_many(2, [1.5], ys[:1], **place.options),
               [saxpy(2, 1.5, place.take(ys[0]), device="cpu")])  # fmt: skip


def test_bfloat16(place, rng):
    x, y = (random_arrays(rng, ml_dtypes.bfloat16, SIZES) for _ in range(2))
    expected = [saxpy(0.1, *pair, device="cpu") for pair in zip(x, y, strict=True)]
    xs, ys = ([place.put(each) for each in arrays] for arrays in (x, y))
    same_bytes(place, saxpy_many(0.1, xs, ys, **place.options), expected)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_arrays_of_every_library(rng, name):
    library = opened(name)
    for dtype in SAXPY_DTYPES:
        if not library.has(dtype):
            continue
        x, y = (random_arrays(rng, dtype, SIZES) for _ in range(2))
        expected = [saxpy(3, *pair).tobytes() for pair in zip(x, y, strict=True)]
        xs, ys = ([library.put(each) for each in arrays] for arrays in (x, y))
        results = saxpy_many(3, xs, ys)
        assert all(map(library.is_own, results)), dtype
        assert [library.take(result).tobytes() for result in results] == expected, dtype
        if library.writable:
            SaxpyList(xs, ys, ys)(3)
            assert [library.take(result).tobytes() for result in ys] == expected, dtype


def test_arrays_of_several_libraries():
    x = [array.array("f", [1, 2]), np.float32([1, 2]), memoryview(np.float32([1, 2]))]
    y = [np.ones(2, "f4"), array.array("f", [1, 2]), np.ones(2, "f4")]
    assert [result.tolist() for result in saxpy_many(2, x, y)] == [[3, 5], [3, 6], [3, 5]]
    saxpy_many(2, tuple(x), y, out=y)
    assert [list(result) for result in y] == [[3, 5], [3, 6], [3, 5]]


def test_torch_notes_writes():
    torch = pytest.importorskip("torch")
    y = [torch.zeros(4) for _ in range(3)]
    before = [each._version for each in y]
    saxpy_many(1, y, y, out=y)
    prepared = SaxpyList(y, y, y)
    prepared(1)
    assert all(each._version > was + 1 for each, was in zip(y, before, strict=True))


# ---- lists that are checked once ----------------------------------------------------------------


def test_a_list_keeps_its_arrays(place):
    prepared = SaxpyList(*([place.put(np.ones(100))] for _ in range(3)))
    gc.collect()
    for _ in range(3):
        prepared(2, **place.options)
    assert place.take(prepared.out[0]).tolist() == [3.0] * 100


def test_a_list_is_released():
    y = np.ones(100)
    prepared = SaxpyList([y], [y], [y])
    released = weakref.ref(y)
    del y, prepared
    gc.collect()
    assert released() is None


def test_an_array_of_a_list_cannot_be_resized():
    for y in (np.ones(100), np.ones(100)[1:]):
        prepared = SaxpyList([y], [y], [y])
        with pytest.raises(ValueError, match="resize"):
            (y if y.base is None else y.base).resize(10**6, refcheck=False)
        assert prepared(1)[0] is y


def test_a_list_takes_arrays_in_memory_only():
    y = np.ones(2)
    with pytest.raises(TypeError, match=r"SaxpyList: x\[0\] must be an array in memory"):
        SaxpyList([[1.0, 2.0]], [y], [y])
    swapped = y.astype(">f8")
    for lists in (([swapped], [y], [y]), ([y], [y], [swapped])):
        with pytest.raises(TypeError, match=r"\[0\] must be an array in memory.* of dtype >f8"):
            SaxpyList(*lists)
    for number in (1.5, np.float64(2)):
        with pytest.raises(TypeError, match=r"SaxpyList: y\[0\] must be an array, got float"):
            SaxpyList([y], [number], [y])
    spread = distributed.from_local(y, distributed.threads(1)[0])
    with pytest.raises(TypeError, match=r"SaxpyList: x\[1\] and y\[1\] must not be Distributed"):
        SaxpyList([y, y], [y, spread], [y, y])
    with pytest.raises(ValueError, match=r"out must have the length of x, 1, got 0"):
        SaxpyList([y], [y], [])
    with pytest.raises(TypeError, match="SaxpyList: a must convert"):
        SaxpyList([y], [y], [y])(1j)


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("name", ["x", "y", "out"])
def test_a_list_names_the_array_of_another_dtype(name, dtype):
    lists = {key: [np.ones(3, "f4") for _ in range(5)] for key in ("x", "y", "out")}
    lists[name][3] = np.ones(3, dtype)
    text = rf"{name}\[3\] must have the dtype of x\[0\], float32, got {np.dtype(dtype)}$"
    with pytest.raises(TypeError, match=f"^SaxpyList: {text}"):
        SaxpyList(**lists)
    lists[name][3] = np.zeros(3, "V4")
    with pytest.raises(TypeError, match=rf"^SaxpyList: {name}\[3\] must .* got \|V4$"):
        SaxpyList(**lists)


def test_the_signature_of_a_list():
    assert str(inspect.signature(SaxpyList)) == "(x, y, out)"
    assert SaxpyList.__doc__.split()[:3] == ["Lists", "of", "arrays"]


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "bad", "error", "text"),
    [
        (0, np.ones(3, "i4"), TypeError, r"saxpy_many: y\[2\] must have the dtype of x\[2\],"),
        (0, np.ones(3, "u2"), TypeError, r"saxpy_many: x\[2\] must have one of the dtypes"),
        (1, np.ones(3, "f4").reshape(3, 1, 1)[:2], None, None),
        (1, np.ones(4, "f4"), ValueError, r"saxpy_many: y\[2\] must broadcast with .* x\[2\]"),
        (2, np.ones(4, "f4"), ValueError, r"saxpy_many: out\[2\] must have a shape"),
        (2, np.ones(3, "i8"), TypeError, r"saxpy_many: out\[2\] must have"),
        (0, object(), TypeError, r"saxpy_many: x\[2\] must be an array"),
        (2, np.broadcast_to(np.float32(1), 3), ValueError, r"saxpy_many: out\[2\] is read-only"),
        (0, np.ma.ones(3, "f4"), TypeError, r"saxpy_many: x\[2\] must not be a masked array"),
        (1, 10**400, OverflowError, r"saxpy_many: y\[2\] must fit float32, got an int of 1329 b"),
    ],
)
def test_errors_name_the_array_and_come_first(position, bad, error, text):
    lists = [[np.ones(3, "f4") for _ in range(4)] for _ in range(3)]
    lists[position][2] = bad
    if error is None:
        lists[2][2] = np.ones((2, 1, 3), "f4")
        saxpy_many(1, lists[0], lists[1], out=lists[2])
        return
    with pytest.raises(error, match=text):
        saxpy_many(1, lists[0], lists[1], out=lists[2])
    assert all(np.all(lists[2][k] == 1) for k in (0, 1, 3))


@pytest.mark.gpu
def test_errors_name_the_array_in_other_memory():
    host, there = np.ones(3, "f4"), gpukern.to_device(np.ones(3, "f4"))
    with pytest.raises(ValueError, match=r"^saxpy_many: y\[1\] must be on cpu like x\[1\], got "):
        saxpy_many(1, [there, host], [there, there])
    with pytest.raises(
        ValueError, match=r"^saxpy_many: y\[0\] must be on cuda:0 like x\[0\], got "
    ):
        saxpy_many(1, [there, there], [host, there])
    with pytest.raises(ValueError, match=r"^SaxpyList: x\[1\] must be on a GPU like x\[0\]$"):
        SaxpyList([there, host], [there, there], [there, there])
    with pytest.raises(ValueError, match=r"^SaxpyList: y\[0\] must be on cpu like x\[0\]$"):
        SaxpyList([host], [there], [host])


def test_lists_are_checked():
    x = [np.ones(3)]
    for bad in (x[0], iter(x), 5, None, "x"):
        with pytest.raises(TypeError, match="saxpy_many: x must be a list or a tuple"):
            saxpy_many(1, bad, x)
    with pytest.raises(ValueError, match="y must have the length of x, 1, got 2"):
        saxpy_many(1, x, x * 2)
    with pytest.raises(ValueError, match="out must have the length of x, 1, got 0"):
        saxpy_many(1, x, x, out=[])
    with pytest.raises(TypeError, match="saxpy_many: a must convert"):
        saxpy_many(1j, x, x)
    with pytest.raises(OverflowError, match="saxpy_many: a"):
        saxpy_many(2**70, [np.arange(3)], [np.arange(3)])
    assert saxpy_many(1, [], []) == []


def test_many_are_explained():
    x = [np.ones(1000, "f4") for _ in range(5)]
    explained = gpukern.explain(saxpy_many, 2, x, x, out=x)
    assert explained.op == "saxpy_many"
    assert (explained.path, explained.bytes_read, explained.bytes_written) == (
        "contiguous", 40000, 20000)  # fmt: skip
    mixed = gpukern.explain(saxpy_many, 2, x, [each.astype("f8") for each in x], out=x)
    assert mixed.bytes_written == 20000
    assert gpukern.explain(saxpy_many, 2, [], []).path == "nothing to do"
    assert all(np.all(each == 1) for each in x)


def test_progress_counts_all_arrays():
    x = [np.ones(200000, "f4") for _ in range(20)]
    seen = []
    saxpy_many(1, x, x, out=x, progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (20 * 800000, 20 * 800000)

    def stop(done, total):
        raise KeyError("stop")

    with pytest.raises(KeyError):
        saxpy_many(1, x, x, out=x, progress=stop)
