# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""take_along_axis: numpy.take_along_axis on generated calls, examples, errors."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.exceptions import AxisError
from read_cases import Case, check_at_places
from strategies import GATHER_DTYPES, INDEX_DTYPES, GatherPlan, shapes, windows

from gpukern import explain, take_along_axis


def take(place, source, index, axis=-1, **options):
    """Calls take_along_axis on NumPy arrays moved to a place, and brings the result back."""
    result = take_along_axis(place.put(source), place.put(index), axis, **options, **place.options)
    return place.take(result)


# ---- generated calls ----


def result_shape(source, index, axis):
    if axis is None:
        return index
    axis %= len(source)
    sizes = [at if from_ == 1 else from_ for from_, at in zip(source, index, strict=True)]
    return (*sizes[:axis], index[axis], *sizes[axis + 1 :])


def expected(source, index, axis, mode, fill_value=None):
    """The result, its items as plain bytes; or an IndexError with NumPy's words."""
    items = oracle.raw(source)
    if axis is None:
        items, axis = items.reshape(-1), 0
    axis %= items.ndim
    shape = result_shape(items.shape, index.shape, axis)
    if 0 in shape:
        return np.zeros(shape, items.dtype)
    if items.shape[axis] == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    positions, bad = oracle.gather_positions(index, items.shape[axis], axis, mode)
    result = np.take_along_axis(items, positions, axis)
    fill = np.zeros((), items.dtype) if fill_value is None else oracle.raw(fill_value)
    return np.where(bad, fill, result)


class AlongAxis(Case):
    operation = staticmethod(take_along_axis)
    oracle = staticmethod(expected)


@st.composite
def along_axis_plans(draw):
    """Calls of one to five dimensions; source and index broadcast both ways."""
    dtype = draw(st.sampled_from(GATHER_DTYPES))
    shape = draw(shapes(5).filter(len))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    source, index = list(shape), list(shape)
    for d in range(len(shape)):
        who = draw(st.sampled_from(["both", "both", "source", "index"]))
        if who != "both":
            (source if who == "index" else index)[d] = 1
    length = draw(st.integers(0, 9))
    index = [length] if axis is None else index
    if axis is not None:
        source[axis], index[axis] = shape[axis], length
    source, index = tuple(source), tuple(index)
    fills = [None, ()]
    if axis is not None:
        after = [k for k in range(axis % len(index) + 1, len(index)) if set(index[k:]) == {1}]
        fills += [source[k:] for k in after]
    out, out_memory = None, "own"
    if draw(st.booleans()):
        out_memory = draw(st.sampled_from(["own", "source", "index"]))
        out = draw(windows(dtype, result_shape(source, index, axis), writable=True))
        out = out.moved(draw(st.integers(0, 40)))
    return GatherPlan(
        draw(windows(dtype, source)),
        draw(windows(draw(st.sampled_from(INDEX_DTYPES)), index)),
        axis,
        out,
        out_memory,
        draw(st.sampled_from(fills)),
    )


@given(plan=along_axis_plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    check_at_places(AlongAxis, plan, np.random.default_rng(seed), places, cases)


# ---- examples ----


@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16", "S3", "U5", "M8[us]", "V100"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_numpys_result(place, rng, dtype, axis):
    source = np.frombuffer(
        rng.bytes(3 * 40 * 5 * np.dtype(dtype).itemsize), f"V{np.dtype(dtype).itemsize}"
    )
    source = source.view(dtype).reshape(3, 40, 5)
    shape = list(source.shape)
    shape[axis] = 70
    index = rng.integers(-source.shape[axis], source.shape[axis], shape)
    result = take(place, source, index, axis)
    assert result.dtype == source.dtype
    assert result.tobytes() == np.take_along_axis(source, index, axis).tobytes()


def test_the_last_axis_is_the_default(place):
    source = np.array([[3, 1, 2], [9, 7, 8]])
    assert take(place, source, np.argsort(source)).tolist() == [[1, 2, 3], [7, 8, 9]]
    assert take(place, source, np.array([5, 0, -1]), axis=None).tolist() == [8, 3, 8]


def test_source_and_index_broadcast(place, rng):
    for from_, at in [((4, 5), (1, 7)), ((1, 5), (4, 7)), ((2, 1, 5), (1, 3, 2)), ((4, 5), (4, 1))]:
        source, index = rng.random(from_), rng.integers(-5, 5, at)
        assert np.array_equal(take(place, source, index), np.take_along_axis(source, index, -1))


def test_modes(place):
    source = np.arange(1, 7).reshape(2, 3)
    index = np.array([[0, 3, -4], [-1, 99, -99]])
    assert take(place, source, index, mode="clip").tolist() == [[1, 3, 1], [4, 6, 4]]
    assert take(place, source, index, mode="wrap").tolist() == [[1, 1, 3], [6, 4, 4]]
    assert take(place, source, index, mode="fill").tolist() == [[1, 0, 0], [6, 0, 0]]
    filled = take(place, source, index, mode="fill", fill_value=-9)
    assert filled.tolist() == [[1, -9, -9], [6, -9, -9]]


def test_a_fill_value_has_no_dimension_of_the_index(place):
    source = np.arange(6.0).reshape(3, 2)
    ends = np.array([7.0, 8.0])
    filled = take(place, source, np.array([[0], [9]]), 0, mode="fill", fill_value=ends)
    assert filled.tolist() == [[0, 1], [7, 8]]
    with pytest.raises(ValueError, match=r"^take_along_axis: fill_value must be a number, or have"):
        take(place, source, np.array([[0, 9]]), 0, mode="fill", fill_value=ends)


def test_items_without_bytes():
    source = np.zeros((2, 3), "V0")
    assert take_along_axis(source, [[0], [2]]).shape == (2, 1)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        take_along_axis(source, [[0], [3]])


def test_fields_of_packed_records(rng):
    records = np.zeros((4, 6), "u1,f8")
    records["f1"] = rng.random((4, 6))
    index = rng.integers(-4, 4, (3, 1))
    for axis, at in [(0, index), (None, index[:, 0])]:
        result = take_along_axis(records["f1"], at, axis)
        assert np.array_equal(result, np.take_along_axis(records["f1"], at, axis))
    with pytest.raises(AxisError, match="axis -1 is out of bounds for array of dimension 0"):
        take_along_axis(np.zeros((), ("V", 100000)), [0])


def test_kinds_of_arrays_are_numpys(rng):
    source, index = rng.integers(0, 9, (3, 4)), rng.integers(-4, 4, (3, 2))
    masked = np.ma.array(source, mask=source > 4)
    for array in (source.view(np.matrix), masked, source.astype(object), source.tolist()):
        ours = take_along_axis(array, index)
        numpys = np.take_along_axis(np.asanyarray(array), index, -1)
        assert type(ours) is type(numpys)
        assert ours.dtype == numpys.dtype
        assert np.array_equal(ours, numpys)
    mask = take_along_axis(masked, index).mask
    assert np.array_equal(mask, np.take_along_axis(masked, index, -1).mask)
    hidden = take_along_axis(np.ma.array(source), np.ma.array([[0, 1]], mask=[[True, False]]))
    assert hidden.mask.tolist() == [[True, False]] * 3
    objects = take_along_axis(source.astype(object), [[9]], mode="fill", fill_value="none")
    assert objects.tolist() == [["none"]] * 3


def test_out(place):
    source, index = np.arange(6.0).reshape(2, 3), np.array([[2, 0], [0, -1]])
    out = place.put(np.zeros((2, 2)))
    arrays = place.put(source), place.put(index)
    assert take_along_axis(*arrays, out=out, **place.options) is out
    assert place.take(out).tolist() == [[2, 0], [3, 5]]


def test_out_is_unchanged_when_an_index_is_bad(place, rng):
    source, index = rng.random((30, 40)), rng.integers(-40, 40, (30, 50))
    index[20, 7], index[29, 49] = 40, -41
    out = place.put(np.ones((30, 50)))
    arrays = place.put(source), place.put(index)
    with pytest.raises(IndexError, match=r"^index 40 is out of bounds for axis 1 with size 40$"):
        take_along_axis(*arrays, out=out, **place.options)
    assert (place.take(out) == 1).all()


def test_out_may_overlap():
    data = np.arange(12).reshape(3, 4)
    reverse = np.array([[3, 2, 1, 0]])
    assert take_along_axis(data, reverse, out=data) is data
    assert data.tolist() == [[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8]]
    index = np.array([3, 2, 1, 0])
    take_along_axis(np.array([10, 11, 12, 13]), index, out=index[::-1])
    assert index.tolist() == [10, 11, 12, 13]


def test_empty_results_check_no_index(place):
    for from_, at in [((0, 3), (1, 5)), ((0, 3), (0, 5)), ((3, 0), (3, 0)), ((0, 0), (1, 4))]:
        source, index = np.zeros(from_), np.full(at, 99)
        assert take(place, source, index).shape == np.take_along_axis(source, index, -1).shape
    with pytest.raises(IndexError, match="cannot do a non-empty take from an empty axes"):
        take(place, np.zeros((3, 0)), np.zeros((3, 1), int), mode="clip")


# ---- errors ----


def test_axes_out_of_range():
    for shape, axis in [((2, 3), 2), ((2, 3), -3), ((), 0), ((), -1), ((2,), 2**40)]:
        words = f"^axis {axis} is out of bounds for array of dimension {len(shape)}$"
        with pytest.raises(AxisError, match=words):
            take_along_axis(np.zeros(shape), np.zeros(shape, int), axis)
    assert take_along_axis(np.array(3.5), [0, -1], None).tolist() == [3.5, 3.5]
    with pytest.raises(TypeError, match=r"^take_along_axis: axis must be an int or None, got str$"):
        take_along_axis(np.zeros(2), [0], "0")


@pytest.mark.parametrize(
    ("index", "axis", "words"),
    [
        ([0], 0, "index must have 2 dimensions, as many as the source, got 1"),
        (1, 0, "index must have 2 dimensions, as many as the source, got 0"),
        ([[0]], None, "index must have 1 dimension, for the flattened source, got 2"),
        ([[0, 0]], 0, "index must broadcast with the source outside axis 0, got shape "),
    ],
)
def test_shapes_of_the_index(index, axis, words):
    with pytest.raises(ValueError, match=f"^take_along_axis: {words}"):
        take_along_axis(np.zeros((2, 3)), index, axis)


@pytest.mark.parametrize("index", [[0.5], [True], ["a"], [None]])
def test_dtypes_of_the_index(index):
    with pytest.raises(
        TypeError, match=r"^take_along_axis: index must be of an integer dtype, got "
    ):
        take_along_axis(np.arange(3), index)


def test_other_arguments():
    source, index = np.zeros((2, 3)), np.zeros((2, 1), int)
    with pytest.raises(ValueError, match=r"^take_along_axis: out must have shape \(2, 1\), got "):
        take_along_axis(source, index, out=np.zeros((2, 2)))
    with pytest.raises(TypeError, match=r"^take_along_axis: out must have the source's dtype"):
        take_along_axis(source, index, out=np.zeros((2, 1), "f4"))
    with pytest.raises(TypeError, match=r"^take_along_axis: out must have the source's dtype"):
        take_along_axis(source.astype(">f8"), index, out=np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"^take_along_axis: mode must be 'raise', 'wrap', "):
        take_along_axis(source, index, mode="nearest")
    with pytest.raises(TypeError, match=r"^take_along_axis: fill_value: "):
        take_along_axis(source.astype(int), index, mode="fill", fill_value=0.5)
    with pytest.raises(ValueError, match=r"^take_along_axis: device must be "):
        take_along_axis(source, index, device="gpu")


def test_explain():
    explanation = explain(take_along_axis, np.zeros((100, 50)), np.zeros((100, 20), int))
    assert (explanation.op, explanation.path) == ("take_along_axis", "items")
    assert explanation.bytes_read == 100 * 20 * (8 + 8)
    assert explanation.bytes_written == 100 * 20 * 8


def test_docstring():
    for words in ("'wrap': modulo n.", "device_memory : int, optional\n"):
        assert take_along_axis.__doc__.count(words) == 1
    assert "{" not in take_along_axis.__doc__.replace("{'", "")
