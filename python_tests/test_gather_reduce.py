# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather_reduce and segment_reduce: an oracle on generated calls, and NumPy by example."""

import bag_oracle
import numpy as np
import pytest
import scatter_oracle
from conftest import CASES_PER_EXAMPLE, CASES_PER_TEST
from hypothesis import given
from hypothesis import strategies as st
from places import on_gpu
from read_cases import MODES, make_valid, random_bytes, random_indices
from strategies import INDEX_DTYPES, shapes, windows
from write_cases import REDUCED_DTYPES, SWAPPED_DTYPES, make_moderate

import gpukern
from gpukern import explain, gather_reduce, segment_reduce

# ---- generated calls ----


@st.composite
def plans(draw):
    """The windows of a call, its axis and its reduction; weights and out may be None.

    Without an index it is one of segment_reduce.
    """
    shape = draw(shapes(3))
    axis = draw(st.sampled_from([None, *range(-max(len(shape), 1), max(len(shape), 1))]))
    dtype = draw(st.sampled_from(REDUCED_DTYPES + SWAPPED_DTYPES))
    reduce = draw(st.sampled_from(bag_oracle.reductions_of(dtype)))
    items = draw(st.sampled_from([0, 1, 2, 5, 20, 300, 1100]))
    segments = draw(st.booleans())
    if segments and shape:
        along = (axis or 0) % len(shape)
        rest = np.delete(shape, along)
        shape = (*shape[:along], items if np.prod(rest) <= 8 else 7, *shape[along + 1 :])
    bags = draw(st.sampled_from([0, 1, 2, 3, 7]))
    rest = np.moveaxis(np.empty(shape or (1,)), axis, 0).shape[1:] if axis is not None else ()
    size = np.empty(rest).ndim
    position = 0 if axis is None or not shape else axis % len(shape)
    result = (*rest[:position], bags, *rest[position:size])
    weighted = reduce == "sum" and not segments and draw(st.booleans())
    return (
        {
            "source": draw(windows(dtype, shape)),
            "index": draw(windows(draw(st.sampled_from(INDEX_DTYPES)), (items,)))
            if not segments
            else None,
            "offsets": draw(windows(draw(st.sampled_from(INDEX_DTYPES)), (bags + 1,))),
            "weights": draw(windows(dtype, (items,))) if weighted else None,
            "out": draw(windows(dtype, result, writable=True)) if draw(st.booleans()) else None,
        },
        {"axis": axis, "reduce": reduce},
        draw(st.booleans()),
    )


def random_offsets(rng, dtype, bags, items):
    """Mostly of bags that follow one another."""
    items = min(items, np.iinfo(dtype).max)
    offsets = np.sort(rng.integers(0, items + 1, bags + 1))
    if rng.random() < 0.2:
        offsets = rng.integers(0, min(2 * items + 3, np.iinfo(dtype).max), bags + 1)
    if rng.random() < 0.1 and np.iinfo(dtype).min < 0:
        offsets[rng.integers(bags + 1)] = -1
    return offsets.astype(dtype)


class BagCase:
    """A call with random data, and what has to come of it."""

    def __init__(self, plan, rng):
        windows_of, self.options, out_shares = plan
        self.windows = {name: window for name, window in windows_of.items() if window is not None}
        self.is_gathered = "index" in self.windows
        modes = MODES if self.is_gathered else ["raise", "clip"]
        self.options = {**self.options, "mode": str(rng.choice(modes))}
        self.memory_of = {name: name for name in self.windows}
        if out_shares and "out" in self.windows:
            self.memory_of["out"] = "source"
        room = max(window.extent for window in self.windows.values()) + 8
        self.memories = {name: random_bytes(rng, room) for name in set(self.memory_of.values())}
        arrays = self.arrays(self.memories)
        for name in ("weights", "source"):
            if name in arrays:
                make_valid(arrays[name], rng)
                make_moderate(arrays[name], rng)
        shape, axis = self.windows["source"].shape, self.options["axis"]
        size = arrays["source"].size if axis is None or not shape else shape[axis]
        items = size
        if self.is_gathered:
            index = arrays["index"]
            index[...] = random_indices(rng, index.dtype, index.shape, size)
            items = index.size
        offsets = arrays["offsets"]
        offsets[...] = random_offsets(rng, offsets.dtype, offsets.size - 1, items)
        self.result = self.error = None
        native = {
            name: array.astype(array.dtype.newbyteorder("="))
            for name, array in arrays.items()
            if name != "out"
        }
        try:
            if self.is_gathered:
                self.result = bag_oracle.gather_reduce(**native, **self.options)
            else:
                self.result = bag_oracle.segment_reduce(
                    native["source"], native["offsets"], **self.options
                )
        except (ValueError, IndexError) as error:
            self.error = error

    def arrays(self, memories):
        return {n: w.on(memories[self.memory_of[n]]) for n, w in self.windows.items()}


def compare(case, arrays, place):
    """Runs a call and compares its result or its error."""

    def call():
        if case.is_gathered:
            return gather_reduce(**arrays, **case.options, **place.options)
        others = {name: array for name, array in arrays.items() if name != "source"}
        return segment_reduce(arrays["source"], **others, **case.options, **place.options)

    if case.error is not None:
        kind = gpukern.errors.GpukernIndexError
        if isinstance(case.error, ValueError):
            kind = gpukern.errors.GpukernValueError
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == str(case.error)
        return
    result = call()
    assert "out" not in arrays or result is arrays["out"]
    found = place.take(result)
    assert found.shape == case.result.shape
    assert found.astype(case.result.dtype).tobytes() == case.result.tobytes()


@given(plan=plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    rng = np.random.default_rng(seed)
    native = all(w.dtype.isnative for w in plan[0].values() if w is not None)
    for _ in range(CASES_PER_EXAMPLE):
        case = BagCase(plan, rng)
        for place in places:
            if place.on_device and not native:
                continue
            memories = {name: memory.copy() for name, memory in case.memories.items()}
            arrays = case.arrays(memories)
            if place.on_device:
                arrays = {name: place.put(array) for name, array in arrays.items()}
            before = {name: memory.tobytes() for name, memory in memories.items()}
            compare(case, arrays, place)
            for name in memories.keys() - {case.memory_of.get("out")}:
                assert memories[name].tobytes() == before[name], name
            cases["gather_reduce" if case.is_gathered else "segment_reduce", str(place)] += 1


# ---- by example ----


def reduce_at(place, source, index, offsets, weights=None, **options):
    """Calls gather_reduce on NumPy arrays moved to a place, and brings the result back."""
    arrays = [place.put(np.asarray(array)) for array in (source, index, offsets)]
    if weights is not None:
        options["weights"] = place.put(np.asarray(weights))
    return place.take(gather_reduce(*arrays, **options, **place.options))


def random_bags(rng, bags, most):
    return np.concatenate([[0], np.cumsum(rng.integers(0, most, bags))])


@pytest.mark.parametrize("dtype", REDUCED_DTYPES, ids=str)
def test_bags_of_every_length(place, rng, dtype):
    for width in (1, 4, 5, 300):
        source = (rng.standard_normal((40, width)) * 9).astype(dtype)
        lengths = [0, 1, 2, 255, 256, 257, 1024, 1025, 3000, 0, 5]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        index = rng.integers(-40, 40, offsets[-1])
        for reduce in bag_oracle.reductions_of(np.dtype(dtype)):
            expected = bag_oracle.gather_reduce(source, index, offsets, reduce)
            result = reduce_at(place, source, index, offsets, reduce=reduce)
            assert result.tobytes() == expected.tobytes(), (width, reduce)


@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "c16"])
def test_bags_along_axes_of_any_layout(place, rng, dtype):
    """Dimensions before the axis, and columns beyond it, in several layouts and numbers."""
    for shape, axis in [
        ((40, 9), 1),
        ((3, 700), 1),
        ((9, 30, 4), 1),
        ((70, 9, 3), 1),
        ((3, 600, 40), 1),
        ((2, 300, 1000), 1),
        ((5, 6, 300), 2),
        ((30, 5, 6), 0),
    ]:
        n = shape[axis]
        offsets = np.array([0, 2, 2, n // 2, n, n])
        index = rng.integers(0, n, 2 * n)
        for pads, order in [((0,) * 3, None), ((1, 2, 5), None), ((0,) * 3, (2, 0, 1))]:
            sizes = [size + pad for size, pad in zip(shape, pads, strict=False)]
            order = tuple(k for k in order or range(3) if k < len(shape))
            base = (rng.standard_normal(np.prod(sizes)) * 9).astype(dtype)
            x = base.reshape([sizes[k] for k in order]).transpose(np.argsort(order))
            x = x[tuple(slice(size) for size in shape)]
            if pads[0] and axis > 0:
                x = x[::-1]
            there = on_gpu(x) if place.name == "cuda-array" else place.put(x)
            for mode, reduce in (("raise", "sum"), ("clip", "sum" if dtype == "c16" else "max")):
                expected = bag_oracle.segment_reduce(x, offsets, reduce, axis)
                result = segment_reduce(there, place.put(offsets), reduce, axis=axis, mode=mode,
                                        **place.options)  # fmt: skip
                assert place.take(result).tobytes() == np.ascontiguousarray(expected).tobytes()
                expected = bag_oracle.gather_reduce(x, index, 2 * offsets, reduce, None, axis)
                result = gather_reduce(
                    there, place.put(index), place.put(2 * offsets), reduce=reduce, axis=axis,
                    mode=mode, **place.options,
                )  # fmt: skip
                assert place.take(result).tobytes() == np.ascontiguousarray(expected).tobytes()


def test_a_mean_along_an_axis_counts_each_item_once(place, rng):
    """In mode 'fill', items are counted as they are combined."""
    x = rng.standard_normal((5, 40, 6)).astype("f4")
    index = rng.integers(-3, 45, 3000)
    offsets = np.array([0, 10, 1000, 3000])
    expected = bag_oracle.gather_reduce(x, index, offsets, "mean", None, 1, "fill")
    result = gather_reduce(place.put(x), place.put(index), place.put(offsets), reduce="mean",
                           axis=1, mode="fill", **place.options)  # fmt: skip
    assert place.take(result).tobytes() == np.ascontiguousarray(expected).tobytes()


def test_a_long_bag_beside_short_ones(place, rng):
    source = rng.standard_normal((100, 3)).astype("f4")
    offsets = np.concatenate([np.arange(500), [60_000], np.arange(60_001, 60_500)])
    index = rng.integers(0, 100, 60_600)
    expected = bag_oracle.gather_reduce(source, index, offsets)
    assert reduce_at(place, source, index, offsets).tobytes() == expected.tobytes()


def test_weights(place, rng):
    offsets = random_bags(rng, 50, 40)
    index = rng.integers(0, 30, offsets[-1])
    for dtype in REDUCED_DTYPES:
        source = (rng.standard_normal((30, 7)) * 5).astype(dtype)
        weights = (rng.standard_normal(len(index)) * 5).astype(dtype)
        expected = bag_oracle.gather_reduce(source, index, offsets, weights=weights)
        result = reduce_at(place, source, index, offsets, weights)
        assert result.tobytes() == expected.tobytes(), dtype
    listed = gather_reduce(np.array([1.0, 2.0]), [0, 1], [0, 2], weights=[0.5, 2])
    assert listed.tolist() == [4.5]


def test_up_to_256_items_are_those_of_a_loop(place, rng):
    offsets = random_bags(rng, 100, 257)
    source, index = rng.standard_normal((50, 3)), rng.integers(0, 50, offsets[-1])
    expected = np.zeros((100, 3))
    for b in range(100):
        for i in index[offsets[b] : offsets[b + 1]]:
            expected[b] += source[i]
    assert np.array_equal(reduce_at(place, source, index, offsets), expected)


def test_empty_bags_are_zero(place):
    for reduce in bag_oracle.REDUCTIONS:
        result = reduce_at(place, np.full((3, 2), -5.0), [1, 1], [0, 0, 2, 2, 2], reduce=reduce)
        assert result.tolist() == [[0, 0], [-10, -10] if reduce == "sum" else [-5, -5],
                                   [0, 0], [0, 0]]  # fmt: skip
        assert not np.signbit(result[0]).any()
    nothing = reduce_at(place, np.zeros((0, 2)), np.zeros(0, int), [0, 0], mode="raise")
    assert nothing.tolist() == [[0, 0]]
    assert reduce_at(place, np.ones((3, 2)), [0, 1], [1]).shape == (0, 2)
    assert reduce_at(place, np.array(3.0), [0, -1, 0], [0, 1, 3]).tolist() == [3, 6]


def test_modes(place):
    source, index, offsets = np.array([1.0, 2, 4, 8]), [0, 5, -1, -9, 3], [0, 2, 4, 5]
    assert reduce_at(place, source, index, offsets, mode="wrap").tolist() == [3, 16, 8]
    assert reduce_at(place, source, index, offsets, mode="clip").tolist() == [9, 2, 8]
    assert reduce_at(place, source, index, offsets, mode="fill").tolist() == [1, 8, 8]
    mean = reduce_at(place, source, index, offsets, mode="fill", reduce="mean")
    assert mean.tolist() == [1, 8, 8]  # what is left out does not count
    left_out = reduce_at(place, source, [9, 9], [0, 2], mode="fill", reduce="max")
    assert left_out.tolist() == [0]


def test_special_values(place):
    nan, inf = np.nan, np.inf
    source = np.array([0.0, -0.0, 1, inf, nan, -inf, -0.0], "f4")
    index, offsets = [0, 1, 2, 4, 3, 5, 1, 6], [0, 2, 4, 6, 8]
    bits = {
        "sum": [0.0, nan, nan, -0.0],
        "mean": [0.0, nan, nan, -0.0],
        "min": [-0.0, nan, -inf, -0.0],
        "max": [0.0, nan, inf, -0.0],
    }
    for reduce, expected in bits.items():
        result = reduce_at(place, source, index, offsets, reduce=reduce)
        assert result.tobytes() == np.array(expected, "f4").tobytes(), reduce


def test_16_bit_floats_are_rounded_once(place):
    source = np.array([2048, 1], "f2")
    assert reduce_at(place, source, [0, 1, 1, 1, 1], [0, 5]).tolist() == [2052]


@pytest.mark.usefixtures("restored_threads")
def test_bits_depend_on_neither_threads_nor_run(rng):
    offsets = np.concatenate([random_bags(rng, 3000, 20), [100_000, 100_001]])
    source = rng.standard_normal((1000, 3)).astype("f4")
    index = (rng.random(100_001) ** 4 * 1000).astype(int)
    results = set()
    for threads in (1, 2, 3, 8):
        gpukern.set_num_threads(threads)
        for _ in range(3):
            results.add(gather_reduce(source, index, offsets).tobytes())
    assert len(results) == 1


def test_repeated_calls_give_the_same_bits(place, rng):
    """A release repeats each call 1,000 times."""
    source, index = rng.standard_normal((3000, 8)), rng.integers(0, 3000, 40_000)
    for offsets in (np.arange(0, 40_001, 20), np.array([0, 5, 30_000, 40_000])):
        bits = {
            reduce_at(place, source, index, offsets).tobytes()
            for _ in range(max(CASES_PER_TEST // 100, 2))
        }
        assert len(bits) == 1


def test_errors_leave_out_unchanged(place, rng):
    source, index = place.put(np.ones((50, 2))), rng.integers(0, 50, 5000)
    offsets = np.arange(0, 5001, 10)
    for bad_index, bad_offset, error, words in [
        (50, None, IndexError, "^index 50 is out of bounds for axis 0 with size 50$"),
        (50, 5001, ValueError, r"must be in \[0, 5000\] and not fall, got offsets\[400\] = 5001$"),
        (0, 3989, ValueError, r"must be in \[0, 5000\] and not fall, got offsets\[400\] = 3989$"),
        (0, -1, ValueError, r"must be in \[0, 5000\] and not fall, got offsets\[400\] = -1$"),
    ]:
        at, bags = index.copy(), offsets.copy()
        at[4500] = bad_index
        if bad_offset is not None:
            bags[400] = bad_offset
        out = place.put(np.full((500, 2), 7.0))
        with pytest.raises(error, match=words) as caught:
            gather_reduce(source, place.put(at), place.put(bags), out=out, **place.options)
        assert isinstance(caught.value, gpukern.GpukernError)
        assert (place.take(out) == 7).all()


def test_arguments_are_named():
    good = {"source": np.ones((4, 3), "f4"), "index": [0, 1], "offsets": [0, 2]}
    for error, words, change in [
        (TypeError, "index must be of an integer dtype, got float64", {"index": [0.5, 1]}),
        (TypeError, "offsets must be of an integer dtype, got float64", {"offsets": [0, 0.5]}),
        (TypeError, "offsets must be of an integer dtype, got bool$", {"offsets": [False, True]}),
        (ValueError, "index must have one dimension, got shape", {"index": [[0, 1]]}),
        (ValueError, "index must have one dimension, got shape", {"index": 1}),
        (ValueError, "offsets must have one dimension and one element", {"offsets": 0}),
        (ValueError, "offsets must have one dimension and one element", {"offsets": []}),
        (ValueError, "reduce must be 'sum', 'mean', 'min' or 'max', got 'add'", {"reduce": "add"}),
        (ValueError, "mode must be 'raise', 'wrap', 'clip' or 'fill', got 'x'", {"mode": "x"}),
        (ValueError, "weights must be left out unless reduce is sum",
         {"weights": [1, 2], "reduce": "max"}),
        (ValueError, r"weights must have the index's shape \(2,\), got", {"weights": [1, 2, 3]}),
        (TypeError, "weights must have the source's dtype float32, got float64",
         {"weights": np.ones(2)}),
        (TypeError, "source must be of a dtype that reduce 'sum' takes",
         {"source": np.ones(3, "?")}),
        (TypeError, "source must be of a dtype that reduce 'sum' takes",
         {"source": np.ones(3, "S3")}),
        (TypeError, "source must be of a dtype that reduce 'mean' takes",
         {"source": np.ones(3, "i4"), "reduce": "mean"}),
        (TypeError, "source must not be a masked array", {"source": np.ma.ones(3)}),
        (TypeError, "out must have the source's dtype float32, got float64",
         {"out": np.ones((1, 3))}),
        (ValueError, r"out must have shape \(1, 3\), got \(2, 3\)", {"out": np.ones((2, 3), "f4")}),
        (TypeError, "axis must be an int or None, got float", {"axis": 0.0}),
    ]:  # fmt: skip
        with pytest.raises(error, match=f"^gather_reduce: {words}"):
            gather_reduce(**{**good, **change})
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
        gather_reduce(**good, axis=2)


def test_explain():
    source = np.zeros((100, 4))
    arguments = source, np.zeros(1000, int), np.arange(0, 1001, 10)
    explanation = explain(gather_reduce, *arguments, mode="clip")
    assert explanation.op == "gather_reduce"
    assert explanation.path == "rows"
    assert explanation.bytes_written == 100 * 32
    assert explanation.bytes_read == 1000 * (32 + 8) + 101 * 8


def test_scatter_is_its_inverse(place, rng):
    """The backward pass of a sum: scatter of the bags' gradients by the index."""
    offsets = random_bags(rng, 30, 9)
    index = rng.integers(0, 20, offsets[-1])
    matrix = reduce_at(place, np.eye(20), index, offsets)
    bag_of = np.repeat(np.arange(30), np.diff(offsets))
    expected = scatter_oracle.scatter(np.zeros((20, 30)), index, np.eye(30)[bag_of], 0, "raise",
                                      "add")  # fmt: skip
    assert np.array_equal(matrix, expected.T)
