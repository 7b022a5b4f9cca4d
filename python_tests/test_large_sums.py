# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""More than 2^31 elements in axpby and fma: sums of small integers, which float16 holds exactly."""

import numpy as np
import pytest
from large_arrays import (
    MANY,
    THIRD,
    at_large_places,
    if_requested,
    require_memory,
    require_parts,
    tiled,
)

import gpukern

pytestmark = [pytest.mark.alone, if_requested, at_large_places]


def halves(rng, shape):
    return tiled(rng, shape, np.float16, -20, 20)


def test_axpby_of_many(place, rng):
    require_memory(place, 13, 13)
    x, y = halves(rng, MANY), halves(rng, MANY)
    out = place.put(np.zeros(MANY, np.float16))
    found = gpukern.axpby(2, place.put(x), 3, place.put(y), out=out, **place.options)
    assert found is out
    require_parts(place.take(out), lambda begin, end: 2 * x[begin:end] + 3 * y[begin:end])


def test_axpby_of_many_strided(place, rng):
    """A transposed operand, a factor for each row and one for each column."""
    require_memory(place, 11, 15)
    a, x = halves(rng, (3, 1)), halves(rng, (THIRD, 3)).T
    b, y = halves(rng, THIRD), np.float16(3)
    out = place.put(np.zeros((3, THIRD), np.float16))
    arguments = [place.put(each) for each in (a, x, b)]
    gpukern.axpby(*arguments, y, out=out, **place.options)
    found = place.take(out)
    for row in range(3):
        require_parts(
            found[row],
            lambda begin, end, row=row: a[row] * x[row, begin:end] + 3 * b[begin:end],
        )


def test_fma_of_many(place, rng):
    """The result takes the place of the sum's last term."""
    require_memory(place, 13, 13)
    x, y, z = halves(rng, (THIRD, 3)), halves(rng, 3), halves(rng, (THIRD, 3))
    out = place.put(z.copy())
    assert gpukern.fma(place.put(x), place.put(y), out, out=out, **place.options) is out
    require_parts(place.take(out), lambda begin, end: x[begin:end] * y + z[begin:end])
