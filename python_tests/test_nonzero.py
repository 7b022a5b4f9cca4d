# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""nonzero: NumPy on generated calls and by example, and the arrays of every library."""

import numpy as np
import pytest
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from libraries import DTYPES
from read_cases import random_bytes
from select_cases import MASK_DTYPES, SWAPPED_DTYPES, as_bool, fill_mask, random_mask, sized
from strategies import shapes, windows

import gpukern
from gpukern import explain, nonzero

# JAX's warning about types that it narrows.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def same(found, expected):
    return len(found) == len(expected) and all(
        f.dtype == np.int64 and np.array_equal(f, e) for f, e in zip(found, expected, strict=True)
    )


def nonzero_at(place, mask, **options):
    """Calls nonzero on a NumPy array moved to a place, and brings the result back."""
    found = nonzero(place.put(mask), **options, **place.options)
    assert type(found) is tuple
    return [place.take(coordinates) for coordinates in found]


@st.composite
def masks(draw):
    shape = draw(st.one_of(shapes(4).filter(len), st.sampled_from([(700,), (33, 51)])))
    return draw(windows(draw(st.sampled_from(MASK_DTYPES + SWAPPED_DTYPES)), shape))


@given(
    window=masks(), size=st.sampled_from([None, None, 0, 1, 5, 400]), seed=st.integers(0, 2**32 - 1)
)
def test_generated_calls(window, size, seed, places, cases):
    rng = np.random.default_rng(seed)
    for _ in range(CASES_PER_EXAMPLE):
        memory = random_bytes(rng, window.extent + 8)
        mask = window.on(memory)
        fill_mask(mask, rng)
        fill_value = 0 if size is None else int(rng.integers(-9, 9))
        expected = [sized(c, size, fill_value) for c in np.nonzero(as_bool(mask))]
        before = memory.tobytes()
        for place in places:
            if place.on_device and not mask.dtype.isnative:
                continue
            assert same(nonzero_at(place, mask, size=size, fill_value=fill_value), expected)
            assert memory.tobytes() == before
            cases["nonzero", str(place)] += 1


@pytest.mark.parametrize("dtype", MASK_DTYPES, ids=str)
def test_sizes_around_tiles(place, rng, dtype):
    for n in (0, 1, 15, 16, 17, 31, 33, 4095, 4096, 4097, 70_001):
        for density in (0, 0.02, 0.5, 1):
            mask = random_mask(rng, (n,), dtype, density)
            assert same(nonzero_at(place, mask), np.nonzero(as_bool(mask)))
            found = nonzero_at(place, mask, size=n // 2 + 1, fill_value=-1)
            assert same(found, [sized(np.flatnonzero(as_bool(mask)), n // 2 + 1, -1)])


def test_more_dimensions(place, rng):
    for shape in [(300, 400), (7, 1, 500, 9), (1, 1, 1), (0, 5), (5, 0), (2,) * 16]:
        mask = random_mask(rng, shape, density=0.3)
        assert same(nonzero_at(place, mask), np.nonzero(mask))
        assert same(nonzero_at(place, mask, size=3), [sized(c, 3) for c in np.nonzero(mask)])


@pytest.mark.usefixtures("restored_threads")
def test_result_does_not_depend_on_threads(rng):
    mask = random_mask(rng, (700, 800), "f4", 0.4)
    for threads in (1, 2, 3, 8):
        gpukern.set_num_threads(threads)
        assert same(nonzero(mask), np.nonzero(mask))
        assert same(nonzero(mask, size=1000), [c[:1000] for c in np.nonzero(mask)])


def test_lists():
    assert same(nonzero([[3, 0], [0, 5]]), np.nonzero([[3, 0], [0, 5]]))
    assert same(nonzero([]), np.nonzero([]))
    assert same(nonzero([0.0, -0.0, np.nan], size=np.int32(2), fill_value=np.int8(-3)), [[2, -3]])


def test_arguments_are_named():
    for error, words, mask, options in [
        (ValueError, "mask must have one dimension or more, got a 0-d array", 1, {}),
        (ValueError, "mask must have one dimension or more, got a 0-d array", True, {"size": 1}),
        (TypeError, "mask must be bool, an integer, float16, bfloat16, float32, float64, complex64 "
                    "or complex128, got <U1", ["a"], {}),
        (TypeError, "mask must be bool, .* got float128", np.ones(3, np.longdouble), {}),
        (TypeError, "mask must not be a masked array", np.ma.ones(3), {}),
        (TypeError, "size must be an int, got float", [1], {"size": 1.0}),
        (TypeError, "size must be an int, got bool", [1], {"size": True}),
        (ValueError, r"size must be in \[0, 2\*\*60\), got -1", [1], {"size": -1}),
        (OverflowError, "size must fit in int64, got 1", [1], {"size": 10**30}),
        (TypeError, "fill_value must be an int, got float", [1], {"fill_value": 0.5}),
        (OverflowError, "fill_value must fit in int64, got 9", [1],
         {"fill_value": 2**63}),
        (ValueError, "fill_value must be left out without size", [1], {"fill_value": -1}),
    ]:  # fmt: skip
        with pytest.raises(error, match=f"^nonzero: {words}") as caught:
            nonzero(mask, **options)
        assert isinstance(caught.value, gpukern.GpukernError)


def test_explain():
    explanation = explain(nonzero, np.zeros((100, 4)))
    assert explanation.op == "nonzero"
    assert explanation.path == "items"
    assert explanation.bytes_written == 400 * 16  # as if all were nonzero
    assert explain(nonzero, np.zeros((100, 4)), size=5).bytes_written == 5 * 16


# ---- libraries ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_libraries(theirs, rng, dtype):
    if not theirs.has(dtype):
        return
    for shape in [(37,), (37, 4)]:
        mask = random_mask(rng, shape, dtype, 0.5)
        for _, at in theirs.layouts(mask):
            for size in (None, 100):
                found = nonzero(at, size=size)
                assert all(theirs.is_own(coordinates) for coordinates in found)
                expected = [sized(c, size) for c in np.nonzero(as_bool(mask))]
                found = [theirs.take(coordinates) for coordinates in found]
                assert np.array_equal(found, expected)


def test_tensors_that_require_gradients():
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match=r"^nonzero: mask requires gradients"):
        nonzero(torch.zeros(3, requires_grad=True))
