# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""take: what programs that call numpy.take give it."""

import inspect

import numpy as np
import pytest

import gpukern
from gpukern import take

MODES = ["raise", "wrap", "clip"]


def test_parameters_are_those_of_numpy():
    ours = list(inspect.signature(take).parameters.values())
    names = ["a", "indices", "axis", "out", "mode"]
    assert [each.name for each in ours[:5]] == names
    assert [each.default for each in ours[2:5]] == [None, None, "raise"]
    assert {each.kind for each in ours[5:]} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_results_are_those_of_numpy(rng, mode, axis):
    a = rng.random((5, 7))
    out_of_bounds = [9, -9] if mode != "raise" else []
    for indices in (2, -1, [1, -4, 0, *out_of_bounds], [[0], [3]], np.zeros((0, 2), int)):
        result, expected = take(a, indices, axis, None, mode), np.take(a, indices, axis, None, mode)
        assert type(result) is type(expected)
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
        out = np.empty(np.shape(expected))
        assert take(a, indices, axis, out, mode) is out
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("mode", MODES)
def test_lists_scalars_and_empty_arrays(mode):
    assert take([3, 4, 5], [1, 1], mode=mode).tolist() == [4, 4]
    assert take(7, [0, 0], mode=mode).tolist() == [7, 7]
    with pytest.raises(IndexError):
        take([], [0], mode=mode)


def test_out_is_unchanged_by_a_bad_index():
    out = np.full(2, 7.0)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        take(np.zeros(3), [0, 5], out=out)
    assert out.tolist() == [7, 7]


def test_out_has_the_dtype_of_the_source():
    with pytest.raises(TypeError, match="out must have"):
        take(np.zeros(3, "f4"), [0], out=np.zeros(1))


@pytest.mark.parametrize("mode", ["fill", "RAISE", None])
def test_other_modes_are_refused(mode):
    message = f"^take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}$"
    with pytest.raises(ValueError, match=message):
        take(np.zeros(3), [0], mode=mode)


def test_subclasses_and_masked_arrays():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    result, expected = take(masked, [1, 2]), np.take(masked, [1, 2])
    assert np.ma.isMaskedArray(result)
    assert result.tolist() == expected.tolist()


def test_it_can_be_explained():
    assert gpukern.explain(take, np.zeros(3), [0]).op == "gather"
