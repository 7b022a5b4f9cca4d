# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""compress: an oracle on generated calls, NumPy by example, and the arrays of every library."""

import warnings

import numpy as np
import oracle
import pytest
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from libraries import DTYPES, random_array, same_bits
from read_cases import make_valid, random_bytes
from select_cases import MASK_DTYPES, SWAPPED_DTYPES, as_bool, fill_mask, random_mask
from strategies import GATHER_DTYPES, shapes, windows

import gpukern
from gpukern import compress, explain

# JAX's warning about types that it narrows.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

NOWHERE = -(2**63)  # an index that gives the fill value
BEYOND = "compress: mask must be zero beyond the "


def expected_items(mask, x, axis, size=None, fill_value=None):
    """The result, its items as plain bytes; or an IndexError."""
    index = np.flatnonzero(as_bool(mask))
    if size is None:
        return oracle.gather(x, index, axis, "raise")
    made = np.full(size, NOWHERE)
    made[: min(size, len(index))] = index[:size]
    items = x.reshape(-1) if axis is None or x.ndim == 0 else x
    if items.shape[axis or 0] == 0:  # of which gather takes nothing
        shape = list(items.shape)
        shape[axis or 0] = size
        fill = np.zeros((), x.dtype) if fill_value is None else fill_value
        return np.broadcast_to(oracle.raw(fill), shape)
    return oracle.gather(x, made, axis, "fill", fill_value)


@st.composite
def plans(draw):
    """The windows of mask, x and, or None, out; whose memory out is in; the axis, and the size."""
    dtype = draw(st.sampled_from(GATHER_DTYPES))
    shape = draw(st.one_of(shapes(4), st.sampled_from([(700,), (33, 51), (300, 2)])))
    axis = draw(st.sampled_from([None, *range(-max(len(shape), 1), max(len(shape), 1))]))
    n = int(np.prod(shape)) if axis is None or not shape else shape[axis]
    along = draw(st.sampled_from([n, n, n, max(n - 2, 0), n + 3]))
    mask_shape = shape if axis is None and draw(st.booleans()) else (along,)
    size = draw(st.sampled_from([None, 0, 1, 3, 40]))
    out = None
    if size is not None and draw(st.booleans()):
        items = (n,) if axis is None or not shape else shape
        position = 0 if axis is None or not shape else axis % len(shape)
        result = (*items[:position], size, *items[position + 1 :])
        out = draw(windows(dtype, result, writable=True)).moved(draw(st.integers(0, 40)))
    return (
        draw(windows(draw(st.sampled_from(MASK_DTYPES + SWAPPED_DTYPES)), mask_shape)),
        draw(windows(dtype, shape)),
        out,
        draw(st.sampled_from(["own", "own", "x", "mask"])),
        axis,
        size,
    )


@given(plan=plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    rng = np.random.default_rng(seed)
    for _ in range(CASES_PER_EXAMPLE):
        check_plan(plan, rng, places, cases)


def check_plan(plan, rng, places, cases):
    mask_window, x_window, out_window, out_memory, axis, size = plan
    room = max(w.extent for w in plan[:3] if w is not None) + 8
    memories = {name: random_bytes(rng, room) for name in ("mask", "x", "own")}
    mask, x = mask_window.on(memories["mask"]), x_window.on(memories["x"])
    make_valid(x, rng)
    fill_mask(mask, rng)
    options = {"axis": axis, "size": size}
    if size is not None and rng.random() < 0.5:
        fill = random_bytes(rng, x.dtype.itemsize).view(x.dtype).reshape(())
        make_valid(fill, rng)
        options["fill_value"] = fill
    result = error = None
    try:
        result = expected_items(mask, x, axis, size, options.get("fill_value"))
    except IndexError:
        error = f"{BEYOND}{x.size if axis is None or x.ndim == 0 else x.shape[axis]} items of x"
    after = {name: memory.copy() for name, memory in memories.items()}
    if out_window is not None:
        oracle.write(out_window.on(after[out_memory]), result)
    for place in places:
        if place.on_device and not mask.dtype.isnative:
            continue
        here = {name: memory.copy() for name, memory in memories.items()}
        by, source = mask_window.on(here["mask"]), x_window.on(here["x"])
        if error is not None:
            with pytest.raises(gpukern.errors.GpukernIndexError) as caught:
                compress(place.put(by), place.put(source), **options, **place.options)
            assert str(caught.value) == error
        elif out_window is not None and not place.on_device:
            out = out_window.on(here[out_memory])
            assert compress(by, source, out=out, **options, **place.options) is out
            assert all(np.array_equal(here[name], after[name]) for name in here)
        else:
            found = compress(place.put(by), place.put(source), **options, **place.options)
            compare(place.take(found), result, x.dtype)
            assert all(np.array_equal(here[name], memories[name]) for name in here)
        cases["compress", str(place)] += 1


def compare(found, result, dtype):
    """Compares a new result bit for bit, as far as NumPy's scalars hold all bits."""
    assert found.dtype == dtype
    assert found.shape == result.shape
    assert found.flags.c_contiguous
    if dtype.char in "gG":  # A scalar does not hold the padding.
        assert np.array_equal(found, np.ascontiguousarray(result).view(dtype))
    else:
        assert found.tobytes() == result.tobytes()


# ---- by example ----


def compress_at(place, mask, x, *args, **options):
    """Calls compress on NumPy arrays moved to a place, and brings the result back."""
    found = compress(place.put(np.asarray(mask)), place.put(np.asarray(x)), *args, **options,
                     **place.options)  # fmt: skip
    return place.take(found)


def test_items_are_numpys(place, rng):
    for dtype in ("i1", "f2", "S3", "f4", "f8", "c16", "S32"):
        for n in (0, 1, 15, 17, 4096, 4097, 70_001):
            x = rng.integers(0, 100, n).astype(dtype)
            for density in (0, 0.02, 0.5, 1):
                mask = random_mask(rng, n, density=density)
                assert np.array_equal(compress_at(place, mask, x), np.compress(mask, x))
        x = rng.integers(0, 100, (50, 40, 3)).astype(dtype)
        for axis in (None, 0, 1, 2, -1, -3):
            mask = random_mask(rng, x.size if axis is None else x.shape[axis])
            expected = np.compress(mask, x, axis)
            assert np.array_equal(compress_at(place, mask, x, axis), expected)
            assert np.array_equal(
                compress_at(place, mask, x, axis=axis, size=expected.shape[axis or 0]), expected
            )
        mask = random_mask(rng, x.shape, "f4")
        assert np.array_equal(compress_at(place, mask, x), x[mask != 0])


def test_masks_of_other_lengths(place):
    x = np.arange(6).reshape(3, 2)
    assert compress_at(place, [0, 1], x, 0).tolist() == [[2, 3]]
    assert compress_at(place, np.zeros(0, bool), x, 0).shape == (0, 2)
    assert compress_at(place, [1, 0, 0, 0, 0], x, 0).tolist() == [[0, 1]]
    long = [1, 0, 0, 0, 1, 1]
    with pytest.raises(IndexError):
        np.compress(long, x, 0)
    with pytest.raises(IndexError, match=f"^{BEYOND}3 items of x$"):
        compress_at(place, long, x, 0)
    with gpukern.deferred_errors(), pytest.raises(IndexError, match=f"^{BEYOND}3 items of x$"):
        compress_at(place, long, x, 0)
    assert compress_at(place, long, x, 0, size=2, fill_value=9).tolist() == [[0, 1], [9, 9]]
    assert compress_at(place, long, x[:0], 0, size=2, fill_value=9).tolist() == [[9, 9], [9, 9]]


def test_fill_values(place):
    x = np.arange(6, dtype="f4").reshape(3, 2)
    for fill, row in [(0, [0, 0]), (7, [7, 7]), (np.float32(0.5), [0.5, 0.5]), ([1, 2], [1, 2])]:
        found = compress_at(place, [0, 0, 1], x, axis=0, size=2, fill_value=fill)
        assert found.tolist() == [[4, 5], row]
    flat = compress_at(place, x > 3, x, size=3, fill_value=-1)
    assert flat.tolist() == [4, 5, -1]
    with pytest.raises(TypeError, match=r"^compress: fill_value: Cannot cast"):
        compress_at(place, [1], np.arange(3), size=2, fill_value=0.5)


@pytest.mark.usefixtures("restored_threads")
def test_result_does_not_depend_on_threads(rng):
    x = rng.standard_normal(600_000)
    mask = x > 0.3
    for threads in (1, 2, 3, 8):
        gpukern.set_num_threads(threads)
        assert np.array_equal(compress(mask, x), x[mask])


def test_out_over_the_inputs(rng):
    data = np.arange(20.0)
    mask = data % 2 == 0
    expected = data[:10][mask[:10]]
    assert compress(mask[:10], data[:10], out=data[3:8]).tolist() == expected.tolist()
    both = np.array([0, 2, 0, 3], "i8")
    assert compress(both, both, out=both[1:3]).tolist() == [2, 3]


def test_ndarrays_that_are_more_than_bytes():
    objects = np.array(["a", {}, None], object)
    assert compress([1, 0, 1], objects).tolist() == ["a", None]
    masked = np.ma.array([1, 2, 3], mask=[0, 0, 1])
    assert compress([1, 0, 1], masked).tolist() == [1, None]
    assert compress([[1, 0], [0, 1]], np.ma.array([[1, 2], [3, 4]])).tolist() == [1, 4]
    records = np.rec.array([(1, 2.0), (3, 4.0), (5, 6.0)])
    assert type(compress([1, 0, 1], records)) is np.recarray
    nothing = compress([1, 0, 1], np.zeros(3, "S0"))
    assert nothing.shape == (2,)
    with pytest.raises(ValueError, match=r"^compress: mask must have one dimension, or without"):
        compress([[1, 0, 1]], objects)


def test_arguments_are_named():
    x = np.arange(6.0).reshape(2, 3)
    for error, words, arguments, options in [
        (ValueError, r"mask must have one dimension, or without an axis the shape of x, \(2, 3\), "
                     r"got \(3, 2\)", (np.ones((3, 2)), x), {}),
        (ValueError, r"mask must have one dimension if an axis is given, got shape \(2, 3\)",
         (np.ones((2, 3)), x, 0), {}),
        (ValueError, r"mask must have one dimension if an axis is given, got shape \(2, 3\)",
         (np.ones((2, 3)), x.astype(object), 0), {}),
        (IndexError, "mask must be zero beyond the 2 items of x$",
         ([0, 0, 1], x.astype(object), 0), {}),
        (ValueError, "fill_value must be left out without size", ([1], x), {"fill_value": -1}),
        (ValueError, "fill_value must be left out without size", ([1], x),
         {"fill_value": np.zeros(3), "out": np.ones(1)}),
        (ValueError, "mask must have one dimension, or", (True, x), {}),
        (TypeError, "mask must be bool, an integer", (["a"], x), {}),
        (TypeError, "mask must be bool, an integer", (np.ones(1, np.longdouble), x), {}),
        (TypeError, "axis must be an int or None, got float", ([1], x, 0.0), {}),
        (TypeError, "size must be an int, got str", ([1], x), {"size": "1"}),
        (ValueError, r"out must have shape \(1,\), got \(2,\)", ([1], x), {"out": np.ones(2)}),
        (ValueError, r"out must have shape \(3,\), got \(2,\)", ([1], x),
         {"out": np.ones(2), "size": 3}),
        (TypeError, "out must have x's dtype float64, got float32", ([1], x),
         {"out": np.ones(1, "f4")}),
    ]:  # fmt: skip
        with pytest.raises(error, match=f"^compress: {words}") as caught:
            compress(*arguments, **options)
        assert isinstance(caught.value, gpukern.GpukernError)
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
        compress([1], x, 2)
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
        compress(np.ones(99), x, 2)
    assert compress([1], x, fill_value=0).tolist() == [0]  # the default


@pytest.mark.gpu
def test_masks_on_a_gpu_are_not_for_host_arrays():
    mask = gpukern.to_device(np.ones((1, 2), bool), "cuda")
    for x in (np.ones((1, 2)), np.ones((1, 2), "u1,f8")["f1"]):
        with pytest.raises(ValueError, match=r"^compress: mask must be on cpu like x, got cuda:0$"):
            compress(mask, x)


def test_explain():
    explanation = explain(compress, np.ones(1000, bool), np.ones(1000, "f4"), size=100)
    assert explanation.op == "compress"
    assert explanation.path == "items"
    assert explanation.bytes_written == 400
    assert explain(compress, np.ones(9, bool), np.ones((9, 400)), 0, size=4).bytes_allocated == 32
    out = np.empty((2, 2))
    mask, x = [True, False, True], np.ones((2, 3))
    assert compress(mask, x, 1, out=out) is out
    assert explain(compress, mask, x, 1, out=out).bytes_written == 32 + 16  # positions
    with pytest.raises(TypeError, match=r"^explain: compress of an array of objects"):
        explain(compress, [1], np.array([None]))


class OnlyDLPack:
    """An array that has no shape of NumPy's kind."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_masks_that_only_export_dlpack():
    mask = OnlyDLPack(np.array([True, False, True]))
    assert compress(mask, np.arange(3)).tolist() == [0, 2]
    assert compress(mask, np.array([None, 1, 2], object)).tolist() == [None, 2]
    with pytest.raises(IndexError, match=f"^{BEYOND}2 items of x$"):
        compress(mask, np.arange(2))
    packed = np.array([[(0, 1.5), (0, 2.5), (0, 3.5)]], "u1,f8")["f1"]
    assert compress(OnlyDLPack(np.array([[True, False, True]])), packed).tolist() == [1.5, 3.5]


# ---- libraries ----


def test_every_size_of_a_selection(place, rng):
    """Nothing is written behind the items that are asked for."""
    x = rng.standard_normal(40).astype("f4")
    mask = rng.random(40) < 0.6
    for size in range(30):
        expected = np.append(x[mask], np.full(40, -1, "f4"))[:size]
        assert compress_at(place, mask, x, size=size, fill_value=-1).tobytes() == expected.tobytes()
    memory = np.full(40, 7.0, "f4")
    for size in range(int(mask.sum())):
        compress(mask, x, size=size, out=memory[:size])
        assert memory[:size].tobytes() == x[mask][:size].tobytes()
        assert (memory[size:] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_libraries(theirs, rng, dtype):
    if not theirs.has(dtype):
        return
    x = random_array(rng, (37, 4), dtype)
    by_row = random_mask(rng, 37, density=0.5)
    by_element = random_mask(rng, (37, 4), density=0.5)
    for _, at in theirs.layouts(x):
        for put in (theirs.put, np.array):  # what is on the host goes to the device
            for mask, axis, expected in [(by_row, 0, x[by_row]), (by_element, None, x[by_element])]:
                found = compress(put(mask), at, axis)
                assert theirs.is_own(found)
                assert same_bits(theirs.take(found), expected)
                found = compress(put(mask), at, axis, size=len(expected) + 1)
                assert same_bits(theirs.take(found)[:-1], expected)


def test_tensors_that_require_gradients():
    torch = pytest.importorskip("torch")
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(BufferError, match=r"^compress: x requires gradients"):
        compress([1, 0, 1], leaf)
    with pytest.raises(BufferError, match=r"^compress: mask requires gradients"):
        compress(leaf, torch.zeros(3))


def test_a_mask_may_not_reshape_x_while_it_is_read():
    x = np.full(10, None)

    class Mask:
        def __array__(self, dtype=None, copy=None):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x.shape = (2, 1, 5)
            return np.ones(12, bool)

    with pytest.raises(IndexError, match="beyond the 10 items of x"):
        gpukern.compress(Mask(), x)
