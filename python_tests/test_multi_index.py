# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and scatter by a tuple of indices: NumPy's indexing on generated calls, errors."""

from typing import NamedTuple

import numpy as np
import oracle
import pytest
import scatter_oracle
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from libraries import KINDS, opened
from places import on_gpu
from read_cases import MODES, make_valid, random_bytes, random_indices
from strategies import GATHER_DTYPES, INDEX_DTYPES, windows
from write_cases import REDUCED_DTYPES, make_moderate

import gpukern
from gpukern import explain, gather, put_along_axis, scatter, take, take_along_axis


@pytest.mark.parametrize("mode", ["raise", "wrap"])
@pytest.mark.parametrize("reduce", [None, "add"])
def test_scatter_of_a_number(place, mode, reduce):
    target = np.arange(12.0).reshape(3, 4)
    i, j = np.array([[0], [2]]), np.array([1, 3, 1])
    here = place.put(target.copy())
    scatter(here, (place.put(i), place.put(j)), 5, mode=mode, reduce=reduce, **place.options)
    if reduce is None:
        target[i, j] = 5
    else:
        np.add.at(target, (i, j), 5)
    assert np.array_equal(place.take(here), target)
    scatter(here, (1, -1), np.float64(7), mode=mode, **place.options)
    target[1, -1] = 7
    assert np.array_equal(place.take(here), target)


@pytest.mark.parametrize("call", [gather, lambda x, at, **options: scatter(x, at, 1, **options)])
def test_numbers_are_checked_though_the_others_are_empty(place, call):
    """As in NumPy, where arrays that broadcast to nothing are not."""
    empty = place.put(np.zeros(0, int))
    x = place.put(np.zeros((5, 3)))
    for at, axis, size in (((9, empty), 0, 5), ((empty, -4), 1, 3), ((range(0), 3), 1, 3)):
        message = f"is out of bounds for axis {axis} with size {size}"
        with pytest.raises(IndexError, match=message):
            call(x, at, **place.options)
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        call(place.put(np.zeros((0, 2))), (0, empty), **place.options)
    call(x, (place.put(np.array([9])), place.put(np.zeros((0, 1), int))), **place.options)
    call(x, (9, empty), mode="clip", **place.options)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_gather_in_any_layout_on_a_gpu(rng, count, mode, dtype):
    shape = (7, 5, 6, 4)[:count]
    beyond = 1 if mode == "raise" else 2
    indices = [
        rng.integers(-7 * beyond, 7 * beyond, (300, 1))[::-1],
        rng.integers(-5 * beyond, 5 * beyond, (41, 2), np.int32)[:, 1],
        rng.integers(-6 * beyond, 6 * beyond, (41, 300), np.int16).T,
        rng.integers(0, 4 * beyond, (1, 1), np.uint8),
    ][:count]
    positions, known = 0, True
    for index, size in zip(indices, shape, strict=True):
        on_axis = [oracle.resolve(int(i), size, mode) for i in index.flat]
        is_known = np.array([at is not None for at in on_axis]).reshape(index.shape)
        on_axis = np.array([at or 0 for at in on_axis]).reshape(index.shape)
        positions, known = positions * size + on_axis, known & is_known
    memory = rng.integers(0, 99, shape).astype(dtype)
    for source in (memory, memory[::-1], np.asfortranarray(memory)):
        expected = np.where(known, source.reshape(-1)[positions], 5)
        given, by = on_gpu(source), tuple(map(on_gpu, indices))
        found = gather(given, by, mode=mode, fill_value=5)
        assert np.array_equal(found.numpy(), expected)
        out = on_gpu(np.zeros((*expected.shape[::-1], 2), dtype)[..., 0].T)
        gather(given, by, mode=mode, fill_value=5, out=out)
        gpukern.copyto(found, out)
        assert np.array_equal(found.numpy(), expected)
    if mode == "raise":
        indices[-1].flat[0] = 9
        words = f"index 9 is out of bounds for axis {count - 1} with size {shape[-1]}"
        with pytest.raises(IndexError, match=words):
            gather(given, tuple(map(on_gpu, indices)))


# ---- generated calls ----


@st.composite
def index_shapes(draw, count):
    """Shapes that broadcast against each other, and what to."""
    common = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7]), max_size=2))
    shapes = []
    for _ in range(count):
        kept = common[draw(st.integers(0, len(common))) :]
        shapes.append(tuple(draw(st.sampled_from([size, size, 1])) for size in kept))
    return shapes, np.broadcast_shapes(*shapes)


@st.composite
def plans(draw, dtypes):
    """The array, the first axis, the indices, and what replaces the axes."""
    dtype = draw(st.sampled_from(dtypes))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 6]), min_size=1, max_size=4)))
    count = draw(st.integers(1, len(shape)))
    first = draw(st.integers(0, len(shape) - count))
    sizes, common = draw(index_shapes(count))
    indices = [draw(windows(draw(st.sampled_from(INDEX_DTYPES)), size)) for size in sizes]
    result = (*shape[:first], *common, *shape[first + count :])
    axis = first - draw(st.sampled_from([0, len(shape)]))
    return draw(windows(dtype, shape, writable=True)), axis, indices, common, result


def random_index_arrays(plan, mode, rng):
    """The indices, their positions on the axes flattened: -1 for none, and whether that is an
    error: of a number even if the others broadcast it to nothing."""
    array, axis, indices, common, _ = plan
    made, flat, known = [], np.zeros(common, np.int64), np.ones(common, bool)
    bad_number = False
    for k, window in enumerate(indices):
        size = array.shape[axis % len(array.shape) + k]
        index = window.on(random_bytes(rng, window.extent + 8))
        index[...] = random_indices(rng, index.dtype, index.shape, size)
        if mode == "raise" and rng.random() < 0.9:
            index[...] = rng.integers(0, size, index.shape)
        made.append(index)
        at = np.array([oracle.resolve(int(i), size, mode) for i in index.flat], object)
        at = np.array([-1 if i is None else i for i in at], np.int64).reshape(index.shape)
        known &= at >= 0
        bad_number |= index.ndim == 0 and at < 0
        flat = flat * size + np.maximum(at, 0)
    return made, np.where(known, flat, -1), mode == "raise" and (bad_number or not known.all())


def flattened(array, axis, count):
    """A copy of an array in which the axes are one."""
    shape = array.shape
    first = axis % array.ndim
    inner = shape[first + count :]
    return array.reshape(*shape[:first], np.prod(shape[first : first + count], dtype=int), *inner)


# NumPy's copies, of which the expected results are made, do not keep padding.
WITHOUT_PADDING = [
    dtype for dtype in GATHER_DTYPES if not dtype.isalignedstruct and dtype.char not in "gG"
]


@given(plan=plans(WITHOUT_PADDING), seed=st.integers(0, 2**32 - 1))
def test_generated_gathers(plan, seed, places, cases):
    rng = np.random.default_rng(seed)
    window, axis, indices, _, result = plan
    for _ in range(CASES_PER_EXAMPLE):
        mode = str(rng.choice(MODES))
        source = window.on(random_bytes(rng, window.extent + 8))
        make_valid(source, rng)
        made, positions, bad = random_index_arrays(plan, mode, rng)
        flat = flattened(source, axis, len(indices))
        taken = np.take(flat, np.maximum(positions, 0).reshape(-1), axis % source.ndim)
        expected = np.array(taken.reshape(result))
        if mode == "fill":
            zero = np.zeros((), source.dtype)
            at = (slice(None),) * (axis % source.ndim)
            expected[(*at, positions < 0)] = zero
        for place in places:
            if place.on_device and not all(a.dtype.isnative for a in (source, *made)):
                continue
            arguments = (place.put(source), tuple(place.put(i) for i in made))
            if bad:
                with pytest.raises(IndexError, match=r"^index .* is out of bounds for axis"):
                    gather(*arguments, axis=axis, mode=mode, **place.options)
            else:
                found = place.take(gather(*arguments, axis=axis, mode=mode, **place.options))
                # NumPy's scalars are native, without trailing zeros.
                assert found[()].tobytes() == expected[()].tobytes()
                assert found.shape == result
            cases["gather by tuples", str(place)] += 1


@given(
    plan=plans([dtype for dtype in REDUCED_DTYPES if dtype.kind != "c"]),
    seed=st.integers(0, 2**32 - 1),
    reduces=st.booleans(),
)
def test_generated_scatters(plan, seed, reduces, places, cases):
    rng = np.random.default_rng(seed)
    window, axis, indices, _, result = plan
    reduce = "add" if reduces else None
    for _ in range(CASES_PER_EXAMPLE):
        mode = str(rng.choice(MODES))
        target = window.on(random_bytes(rng, window.extent + 8))
        values = np.zeros(result, target.dtype)
        for numbers in (target, values):
            make_valid(numbers, rng)
            make_moderate(numbers, rng)
        made, positions, bad = random_index_arrays(plan, mode, rng)
        flat = flattened(np.array(target), axis, len(indices))
        outside = np.where(positions < 0, flat.shape[axis % target.ndim], positions)
        if not bad:
            expected = scatter_oracle.scatter(
                flat, outside, values, axis % target.ndim, "fill", reduce
            ).reshape(target.shape)
        for place in places:
            if place.on_device and not all(i.dtype.isnative for i in made):
                continue
            before = np.array(target)
            written = place.put(before)
            arguments = (written, tuple(place.put(i) for i in made), place.put(values))
            options = {"axis": axis, "mode": mode, "reduce": reduce, **place.options}
            if bad:
                with pytest.raises(IndexError, match=r"^index .* is out of bounds for axis"):
                    scatter(*arguments, **options)
                assert place.take(written).tobytes() == target.tobytes()
            else:
                assert scatter(*arguments, **options) is written
                assert place.take(written).tobytes() == expected.tobytes()
            cases["scatter by tuples", str(place)] += 1


# ---- by example ----


def test_as_numpys_indexing(place, rng):
    x = rng.random((4, 5, 6))
    i, j = rng.integers(-4, 4, (3, 1)), rng.integers(-5, 5, 7)
    indices = (place.put(i), place.put(j))
    assert np.array_equal(place.take(gather(place.put(x), indices)), x[i, j])
    assert np.array_equal(place.take(gather(place.put(x), (*indices, 2))), x[i, j, 2])
    assert np.array_equal(place.take(gather(place.put(x), ([0, 1], [3, 3]))), x[[0, 1], [3, 3]])
    written, values = place.put(x.copy()), rng.random((3, 7, 6))
    x[i, j] = values
    scatter(written, indices, place.put(values))
    assert np.array_equal(place.take(written), x)
    np.add.at(x, (i, j), values)
    scatter(written, indices, place.put(values), reduce="add")
    assert np.array_equal(place.take(written), x)


def test_scalars_and_fill_values(place):
    x = np.arange(6.0).reshape(2, 3)
    assert place.take(gather(place.put(x), (1, 2))) == 5
    assert type(gather(x, (1, -1))) is np.float64
    filled = gather(place.put(x), ([0, 2], [0, 0]), mode="fill", fill_value=-1)
    assert place.take(filled).tolist() == [0, -1]
    rows = gather(place.put(x[..., None] * [1, 10]), ([1], [9]), mode="fill", fill_value=[7, 8])
    assert place.take(rows).tolist() == [[7, 8]]


def test_a_named_tuple_is_a_tuple():
    class Position(NamedTuple):
        row: list
        column: list

    x = np.arange(6).reshape(2, 3)
    assert gather(x, Position([1], [2])).tolist() == [5]
    assert scatter(x, Position([1], [2]), 9)[1, 2] == 9


def test_a_tuple_that_iterates_over_other_arrays():
    class Indices(tuple):
        def __iter__(self):
            return iter([np.full(5000, 1), np.full(5000, 2)])

    x = np.arange(6).reshape(2, 3)
    assert np.array_equal(gather(x, Indices((0, 0))), np.full(5000, 5))
    assert scatter(x, Indices((0, 0)), 9)[1, 2] == 9


def test_numpys_nonzero_selects(rng):
    x = rng.random((4, 5))
    assert np.array_equal(gather(x, np.nonzero(x > 0.5)), x[x > 0.5])


def test_layouts_of_bytes(rng):
    records = np.zeros((4, 6), "u1,f8")
    records["f1"] = rng.random((4, 6))
    for source in (records["f1"], np.frombuffer(bytes(97), "u1")[1:].view("f8").reshape(3, 4)):
        i, j = rng.integers(-3, 3, 9), rng.integers(-4, 4, 9)
        assert np.array_equal(gather(source, (i, j)), source[i, j])


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("dtype", "bBhHiIqQ")
def test_limits_of_every_dtype(dtype, mode):
    limits = np.iinfo(dtype)
    ends = [limits.min, limits.min + 1, limits.max // 2, limits.max // 2 + 1, limits.max]
    for size in 2, 31, 32, 127, 128, 255, 256, 8191, 8193:
        numbers = [n for n in [*ends, 0, size - 1, size, -size] if limits.min <= n <= limits.max]
        near = np.arange(300) % min(size, limits.max)
        # Blocks of positions alone, and with others.
        index = np.concatenate([near, np.resize(np.array(numbers, object), 300), near])
        index = index.astype(dtype)
        x = np.arange(3.0 * size).reshape(size, 3)
        at = [oracle.resolve(int(i), size, mode) for i in index]
        column = np.arange(index.size) % 3
        missing = np.array([i is None for i in at])
        expected = np.where(missing, 0, x[[i or 0 for i in at], column])
        assert np.array_equal(gather(x, (index, column), mode=mode), expected)
        assert np.array_equal(gather(x.T, (column, index), mode=mode, axis=0), expected)
        written = np.zeros(size)
        scatter(written, index, np.arange(float(index.size)), mode=mode)
        wanted = np.zeros(size)
        for k, i in enumerate(at):
            if i is not None:
                wanted[i] = k
        assert np.array_equal(written, wanted)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_every_library(kind):
    library = opened(kind)
    x = np.arange(12, dtype="f4").reshape(3, 4)
    i, j = np.array([0, 2], "i4"), np.array([-1, 1], "i4")
    found = gather(library.put(x), (library.put(i), library.put(j)))
    assert library.is_own(found)
    assert np.array_equal(library.take(found), x[i, j])
    written = scatter(library.put(x), (library.put(i), library.put(j)), library.put(-x[i, j]))
    x[i, j] *= -1
    assert np.array_equal(library.take(written), x)


def test_a_tuple_stays_a_sequence_where_numpys_function_takes_one():
    x = np.arange(10.0)
    assert take(x, (1, 2)).tolist() == np.take(x, (1, 2)).tolist() == [1, 2]


@pytest.mark.parametrize("index", [(1, 2), ([0, 1, 2], [0, 1, 2]), ()])
def test_a_tuple_is_no_index_along_an_axis(index):
    for x in (np.ones((3, 4)), np.ma.ones((3, 4)), np.ones((3, 4), object)):
        words = r"^take_along_axis: index must be one array, got a tuple$"
        with pytest.raises(gpukern.errors.GpukernTypeError, match=words):
            take_along_axis(x, index)
    words = r"^put_along_axis: index must be one array, got a tuple$"
    with pytest.raises(gpukern.errors.GpukernTypeError, match=words):
        put_along_axis(np.ones((3, 4)), index, 0.0)


def test_explain():
    x, i = np.zeros((4, 5)), np.zeros(100, np.int64)
    line = str(explain(gather, x, (i, i)))
    assert line.startswith("gather on cpu")
    assert "allocates" not in line
    line = str(explain(scatter, x, (i, i), 1.0))
    assert line.startswith("scatter on cpu")
    assert "allocates 800 B" in line


@pytest.mark.gpu
def test_a_captured_gather_by_a_tuple():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    i = torch.tensor([[0], [2]], device="cuda")
    j = torch.tensor([3, 1, 1], device="cuda")
    out = torch.empty((2, 3), device="cuda")
    gather(x, (i, j), mode="wrap", out=out)  # loads the kernels
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gather(x, (i, j), mode="wrap", out=out)
    j[0] = -2
    graph.replay()
    assert torch.equal(out, x[i, j])


# ---- errors ----


@pytest.mark.parametrize(
    ("kind", "message", "index", "options"),
    [
        (ValueError, "index must not be an empty tuple", (), {}),
        (ValueError, "axis must not be None with a tuple", ([0], [0]), {"axis": None}),
        (IndexError, "too many indices for array: array is 2-dimensional", ([0],) * 3, {}),
        (IndexError, "too many indices for array", ([0], [0]), {"axis": 1}),
        (IndexError, r"broadcast together with shapes \(2,\) \(3,\)", ([0, 1], [0, 1, 2]), {}),
        (IndexError, "index 5 is out of bounds for axis 1 with size 4", ([0], [5]), {}),
        (IndexError, "index -4 is out of bounds for axis 0 with size 3", ([-4], [5]), {}),
        (TypeError, r"index\[1\] must be of an integer dtype, got float64", ([0], [0.5]), {}),
        (TypeError, r"index\[0\] must be .*got bool \(numpy.flatnonzero", ([True], [0]), {}),
        (TypeError, r"index\[1\] must be an array, got slice", ([0], slice(1)), {}),
    ],
)
def test_bad_indices(kind, message, index, options):
    x = np.ones((3, 4))
    with pytest.raises(kind, match=message):
        gather(x, index, **options)
    with pytest.raises(kind, match=message):
        scatter(x, index, 0.0, **options)
    assert (x == 1).all()


def test_sources_that_numpy_gathers():
    for source in (np.array([[None, 1]]), np.ma.zeros((2, 2))):
        with pytest.raises(TypeError, match="source must not be a masked array"):
            gather(source, ([0], [0]))
