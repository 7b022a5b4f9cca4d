# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""count_nonzero: NumPy by example."""

import numpy as np
import pytest
from select_cases import MASK_DTYPES, SWAPPED_DTYPES, as_bool, random_mask

import gpukern
from gpukern import count_nonzero, explain


@pytest.mark.parametrize("dtype", MASK_DTYPES, ids=str)
def test_counts_are_numpys(place, rng, dtype):
    for shape in [(), (0,), (1,), (33,), (3, 0), (70_001,), (30, 1, 41)]:
        mask = random_mask(rng, shape, dtype)
        count = count_nonzero(place.put(mask), **place.options)
        assert type(count) is int
        assert count == np.count_nonzero(as_bool(mask))
        if not place.on_device:
            assert count_nonzero(mask.T, **place.options) == count


def test_what_is_accepted(rng):
    for dtype in SWAPPED_DTYPES:
        mask = random_mask(rng, (40, 7), dtype)
        assert count_nonzero(mask[::-3, 1:]) == np.count_nonzero(mask[::-3, 1:])
    assert count_nonzero([[1, 0], [0.5, -0.0]]) == 2
    assert count_nonzero([]) == 0
    assert count_nonzero(True) == 1
    assert count_nonzero(memoryview(b"\0\1\2")) == 2


def test_what_is_refused():
    for mask in (np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, "g")):
        with pytest.raises(TypeError, match=r"^count_nonzero: mask must be bool, an integer, fl"):
            count_nonzero(mask)
    with pytest.raises(TypeError, match=r"^count_nonzero: mask must not be a masked array"):
        count_nonzero(np.ma.ones(3))


@pytest.mark.usefixtures("restored_threads")
def test_count_does_not_depend_on_threads(rng):
    mask = random_mask(rng, (500_000,), density=0.5)
    for threads in (1, 2, 3, 8):
        gpukern.set_num_threads(threads)
        assert count_nonzero(mask) == np.count_nonzero(mask)


def test_explain():
    explanation = explain(count_nonzero, np.zeros((100, 4)))
    assert explanation.op == "count_nonzero"
    assert explanation.path == "items"
    assert explanation.bytes_read == 3200
    assert explanation.bytes_written == 0
