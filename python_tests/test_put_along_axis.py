# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""put_along_axis: an oracle on generated calls, numpy.put_along_axis by example, errors."""

import numpy as np
import pytest
import scatter_oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.exceptions import AxisError
from places import on_gpu
from strategies import INDEX_DTYPES, shapes
from write_cases import check_at_places, write_plans

import gpukern
from gpukern import explain, put_along_axis


def put(place, target, index, values, axis=-1, **options):
    """Calls put_along_axis on NumPy arrays moved to a place, and brings the target back."""
    at = place.put(np.array(target))
    result = put_along_axis(at, place.put(np.asarray(index)), place.put(np.asarray(values)), axis,
                            **options, **place.options)  # fmt: skip
    assert result is at
    return place.take(result)


@st.composite
def plans(draw):
    """Calls of one to four dimensions; target and index broadcast both ways."""
    shape = draw(shapes(4).filter(len))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    length = draw(st.integers(0, 9))
    if axis is None:
        return draw(write_plans(shape, (length,), dtype, (length,), axis))
    target, index, updates = list(shape), list(shape), list(shape)
    for d in range(len(shape)):
        who = draw(st.sampled_from(["both", "both", "target", "index"]))
        if who != "both":
            (target if who == "index" else index)[d] = 1
    target[axis], index[axis], updates[axis] = shape[axis], length, length
    for d in range(len(shape)):
        if target[d] == index[d] == 1:
            updates[d] = 1
    return draw(write_plans(tuple(target), tuple(index), dtype, tuple(updates), axis))


@given(plan=plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    check_at_places(put_along_axis, scatter_oracle.put_along_axis, plan, seed, places, cases)


@pytest.mark.parametrize("dtype", ["i1", "f2", "f8", "c16", "S3", "U5", "M8[us]", "V100"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_numpys_result(place, rng, dtype, axis):
    size = np.dtype(dtype).itemsize
    target = np.frombuffer(rng.bytes(3 * 40 * 5 * size), f"V{size}").view(dtype).reshape(3, 40, 5)
    order = np.argsort(rng.random(target.shape), axis)
    index = np.take(order, np.arange(target.shape[axis] // 2 + 1), axis) - target.shape[axis]
    values = np.frombuffer(rng.bytes(index.size * size), f"V{size}").view(dtype)
    values = values.reshape(index.shape)
    expected = target.copy()
    np.put_along_axis(expected, index, values, axis)
    assert put(place, target, index, values, axis).tobytes() == expected.tobytes()


def test_the_inverse_of_a_sort(place, rng):
    target = rng.random((50, 60))
    for axis in (0, 1):
        order = np.argsort(target, axis)
        ordered = np.take_along_axis(target, order, axis)
        assert np.array_equal(put(place, np.zeros((50, 60)), order, ordered, axis), target)


def test_target_index_and_values_broadcast(place):
    zeros = np.zeros((2, 3))
    assert put(place, zeros, [[1]], 5.0).tolist() == [[0, 5, 0]] * 2
    assert put(place, zeros, [[1], [2]], [1.0]).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert put(place, zeros, [[1, 0]], [[7.0], [8]]).tolist() == [[7, 7, 0], [8, 8, 0]]
    assert put(place, zeros, [0, 5, -1], [1.0, 2, 3], None).tolist() == [[1, 0, 0], [0, 0, 3]]
    one_row = put(place, np.zeros((1, 3)), [[1], [1], [2]], [[1.0], [2], [3]], reduce="add")
    assert one_row.tolist() == [[0, 3, 3]]
    with pytest.raises(ValueError, match=r"values must broadcast to shape \(2, 1\), got \(3, 1\)"):
        put(place, zeros, [[1]], np.zeros((3, 1)))


@pytest.mark.parametrize("reduce", scatter_oracle.REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_many_values_of_an_element(place, rng, reduce, axis):
    target = rng.standard_normal((4, 5)).astype("f4")
    shape = (1500, 5) if axis == 0 else (4, 1500)
    values = rng.standard_normal(shape).astype("f4")
    for index in (rng.integers(0, 4, shape), np.zeros(shape, int), np.arange(values.size) % 2):
        index = index.reshape(shape)
        expected = scatter_oracle.put_along_axis(target, index, values, axis, "raise", reduce)
        result = put(place, target, index, values, axis, reduce=reduce)
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "i8", "c16"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_few_along_the_axis(place, rng, dtype, axis):
    shape = [37, 60, 41]
    shape[axis] = 5
    target = rng.integers(-9, 9, shape).astype(dtype)
    reductions = scatter_oracle.reductions_of(target.dtype)
    for length in (1, 3, 8):
        shape[axis] = length
        values = (rng.standard_normal(shape) * 9).astype("i4").astype(dtype)
        index = rng.integers(-7, 7, shape)
        for reduce in (None, *reductions):
            expected = scatter_oracle.put_along_axis(target, index, values, axis, "fill", reduce)
            result = put(place, target, index, values, axis, reduce=reduce, mode="fill")
            assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("reduce", [None, "add", "mean"])
def test_few_along_an_axis_of_the_index(place, rng, reduce):
    target = rng.standard_normal((300, 1, 5)).astype("f4")
    index = rng.integers(-5, 5, (300, 6, 1))
    values = rng.standard_normal(index.shape).astype("f4")
    expected = scatter_oracle.put_along_axis(target, index, values, 2, "raise", reduce)
    result = put(place, target, index, values, 2, reduce=reduce)
    assert result.tobytes() == expected.tobytes()


def test_modes(place):
    target, index = np.zeros((2, 3), int), np.array([[0, 4], [-1, -9]])
    values = np.array([[1, 2], [3, 4]])
    assert put(place, target, index, values, mode="wrap").tolist() == [[1, 2, 0], [4, 0, 3]]
    assert put(place, target, index, values, mode="clip").tolist() == [[1, 0, 2], [4, 0, 0]]
    assert put(place, target, index, values, mode="fill").tolist() == [[1, 0, 0], [0, 0, 3]]


def test_out_and_values_that_convert(place):
    target, out = place.put(np.zeros((2, 3), "f4")), place.put(np.ones((2, 3), "f4"))
    index = place.put(np.array([[1], [2]]))
    assert put_along_axis(target, index, 5, out=out, **place.options) is out
    assert place.take(out).tolist() == [[0, 5, 0], [0, 0, 5]]
    assert place.take(target).tolist() == [[0] * 3] * 2


def test_a_bad_index_leaves_everything_unchanged(place, rng):
    target, out = place.put(np.ones((30, 40))), place.put(np.full((30, 40), 7.0))
    index = rng.integers(-40, 40, (30, 50))
    index[20, 7], index[29, 49] = 40, -41
    for options in ({}, {"out": out}, {"reduce": "add"}):
        with pytest.raises(
            IndexError, match=r"^index 40 is out of bounds for axis 1 with size 40$"
        ):
            put_along_axis(target, place.put(index), 0, **options, **place.options)
    assert (place.take(target) == 1).all()
    assert (place.take(out) == 7).all()


def test_overlap_is_that_of_separate_memory():
    data = np.arange(12.0).reshape(3, 4)
    assert put_along_axis(data, [[3, 2, 1, 0]], data) is data
    assert data.tolist() == [[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8]]


def test_empty(place):
    for shape, at in [((0, 3), (1, 5)), ((3, 0), (3, 0)), ((2, 3), (2, 0))]:
        for number in (0, 9):  # which is not examined
            assert put(place, np.zeros(shape), np.full(at, number), 1.0).shape == shape
    with pytest.raises(IndexError, match="cannot do a non-empty put to an empty axis"):
        put(place, np.zeros((3, 0)), np.zeros((3, 1), int), 1.0, mode="clip")


def test_axes_out_of_range():
    for shape, axis in [((2, 3), 2), ((2, 3), -3), ((), 0), ((), -1), ((2,), 2**40)]:
        words = f"^axis {axis} is out of bounds for array of dimension {len(shape)}$"
        with pytest.raises(AxisError, match=words):
            put_along_axis(np.zeros(shape), np.zeros(shape, int), 1.0, axis)


@pytest.mark.parametrize(
    ("index", "axis", "words"),
    [
        ([0], 0, "index must have 2 dimensions, as many as the target, got 1"),
        ([[0]], None, "index must have 1 dimension, for the flattened target, got 2"),
        ([[0, 0]], 0, "index must broadcast with the target outside axis 0, got shape "),
    ],
)
def test_shapes_of_the_index(index, axis, words):
    with pytest.raises(ValueError, match=f"^put_along_axis: {words}"):
        put_along_axis(np.zeros((2, 3)), index, 1.0, axis)


def test_other_arguments():
    target, index = np.zeros((2, 3)), np.zeros((2, 1), int)
    with pytest.raises(
        TypeError, match=r"^put_along_axis: index must be of an integer dtype, got "
    ):
        put_along_axis(target, index * 0.5, 1.0)
    with pytest.raises(ValueError, match=r"^put_along_axis: reduce must be None, 'add', "):
        put_along_axis(target, index, 1.0, reduce="sum")
    with pytest.raises(TypeError, match=r"^put_along_axis: values must have the target's dtype"):
        put_along_axis(target, index, np.ones((2, 1), "f4"))
    with pytest.raises(TypeError, match=r"^put_along_axis: target must be an array, got list$"):
        put_along_axis([[0.0]], index, 1.0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "c8", "c16"])
@pytest.mark.parametrize("length", [9, 32, 33, 200, 255, 256])
def test_many_lines_of_updates(rng, dtype, length):
    """Lines along the last axis, each with its index, as on the CPU."""

    def there(array):
        return gpukern.to_device(array, device="cuda")

    for lines, n, index_dtype in ((1030, 5, "i8"), (2100, 300, "i4"), (1100, 3000, "u2")):
        target = (rng.standard_normal((lines, n)) * 9).astype(dtype)
        values = (rng.standard_normal((lines, length)) * 9).astype(dtype)
        index = rng.integers(0, n, (lines, length)).astype(index_dtype)
        index[rng.random((lines, length)) < 0.1] = n  # skipped
        for reduce in ("add", "mean") if dtype[0] == "c" else ("add", "multiply", "mean"):
            given = there(target)
            put_along_axis(given, there(index), there(values), mode="fill", reduce=reduce)
            expected = target.copy()
            put_along_axis(expected, index, values, mode="fill", reduce=reduce)
            assert given.numpy().tobytes() == expected.tobytes(), (n, reduce)
        given, number = there(target), values.flat[0].item()
        put_along_axis(given, there(index), number, mode="fill", reduce="add")
        expected = target.copy()
        put_along_axis(expected, index, number, mode="fill", reduce="add")
        assert given.numpy().tobytes() == expected.tobytes(), n


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "c8", "c16", "u1"])
@pytest.mark.parametrize("length", [9, 100, 255, 256, 900, 2100])
def test_many_strided_lines_of_updates(rng, dtype, length):
    """Lines along another axis than the last, each with its index, as on the CPU."""

    def there(array):
        return gpukern.to_device(array, device="cuda")

    def numbers(shape):
        parts = rng.standard_normal((2, *shape)) * 9
        return (parts[0] + 1j * parts[1] if dtype[0] == "c" else parts[0]).astype(dtype)

    cases = [((3, 17_000), 0, "i4", "fill"), ((2, 40, 9000), 1, "i8", "wrap")]
    if length == 9:  # more lines than the L2 cache holds
        cases.append(((700, 17_000), 0, "u2", "raise"))
    for shape, axis, index_dtype, mode in cases:
        n = shape[axis]
        several = list(shape)
        several[axis] = length
        target, values = numbers(shape), numbers(several)
        index = rng.integers(0, n, several).astype(index_dtype)
        index[..., ::3] = 1  # up to several blocks of values
        if mode == "fill":
            index[rng.random(several) < 0.1] = n
        more = {"c": ("mean",), "u": ("multiply", "max")}.get(dtype[0], ("mean", "multiply", "max"))
        for reduce in (None, "add", *more) if n < 100 else (None,):
            for some, those in ((values, there(values)), [values.flat[0].item()] * 2):
                out, expected = there(target), target.copy()
                put_along_axis(out, there(index), those, axis, mode=mode, reduce=reduce)
                put_along_axis(expected, index, some, axis, mode=mode, reduce=reduce)
                assert out.numpy().tobytes() == expected.tobytes(), (axis, reduce)


# The shape of an array of `n` elements along an axis, a view of it, and this axis.
STRIDED_LINES = {
    "reversed lines": (lambda n: (n, 17_000), lambda array: array[:, ::-1], 0),
    "reversed along the axis": (lambda n: (n, 17_000), lambda array: array[::-1], 0),
    "every second": (lambda n: (2 * n, 17_000), lambda array: array[::2], 0),
    "padded": (lambda n: (n, 17_003), lambda array: array[:, 1:-2], 0),
    "transposed": (lambda n: (n, 17_000), lambda array: array.T, 1),
    "of three axes": (lambda n: (130, n, 150), lambda array: array[:, :, 3:-3].T, 1),
}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f4", "f2", "c16"])
@pytest.mark.parametrize("layout", STRIDED_LINES)
@pytest.mark.parametrize("of", ["target", "index", "values", "all"])
def test_layouts_of_strided_lines(rng, dtype, layout, of):
    shape, view, axis = STRIDED_LINES[layout]

    def placed(name, base):
        """An array on the CPU and the same on a GPU, in its layout or contiguous."""
        array = view(base) if of in (name, "all") else np.ascontiguousarray(view(base))
        return array, on_gpu(array)

    values = placed("values", (rng.standard_normal(shape(40)) * 9).astype(dtype))
    index = placed("index", rng.integers(0, 5, shape(40)))
    for reduce in (None, "add", "mean"):
        target, out = placed("target", (rng.standard_normal(shape(5)) * 9).astype(dtype))
        put_along_axis(out, index[1], values[1], axis, reduce=reduce)
        put_along_axis(target, index[0], values[0], axis, reduce=reduce)
        assert out.window.on(out.memory.numpy()).tobytes() == target.tobytes(), reduce


def test_explain():
    target = np.zeros((100, 50))
    explanation = explain(put_along_axis, target, np.zeros((100, 20), int), 1.0)
    assert explanation.op == "put_along_axis"
    assert explanation.bytes_written == 100 * 20 * 8


def test_docstring():
    for words in ("'wrap': modulo n.", "reduce : {None, 'add'", "device_memory : int, optional\n"):
        assert put_along_axis.__doc__.count(words) == 1
