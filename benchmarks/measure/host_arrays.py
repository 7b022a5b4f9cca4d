# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Host arrays for the cases whose operands are not slices of pools: one set of arrays each.

Every function returns the reference and the sets of operands of a case, of random numbers from
`rng`. Results are new arrays unless the case writes in place.
"""

from types import SimpleNamespace

import numpy as np

from benchmarks.measure.host_data import DISTRIBUTIONS
from benchmarks.suites.axes import GatherPairs, TakeAlongAxis
from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.scatter_cases import Bincount, PutAlongAxis
from benchmarks.suites.selection import Compress, Nonzero


def bags(rng, case):
    """Sums of bags or segments; small integers are exact in any order."""
    source = rng.integers(-8, 9, (case.m, *case.row), np.int8).astype(case.dtype)
    at = SimpleNamespace(source=source, index=None, offsets=case.offsets, out=None)
    items = source
    if isinstance(case, Bags):
        at.index = DISTRIBUTIONS[case.distribution](rng, case.m, case.n, np.dtype(np.int64))
        items = source[at.index]
    return np.add.reduceat(items, case.offsets[:-1]), [at]


def indexed(rng, case):
    """Items that indices into both axes, or along one of them, read."""
    source = rng.random(case.shape, np.float32)
    indices, flat = case.draw(rng)
    reference = source.reshape(case.m, *case.row)[flat]
    return reference, [SimpleNamespace(source=source, indices=indices, out=None)]


def put_along_axis(rng, case):
    """Values that are equal where their indices are, so that any of them may be the last."""
    initial, origin = (rng.random(case.shape, np.float32) for _ in range(2))
    index = rng.integers(0, case.shape[case.axis], case.shape)
    values = np.take_along_axis(origin, index, case.axis)
    reference = initial.copy()
    np.put_along_axis(reference, index, values, case.axis)
    out = initial.copy()
    return reference, [SimpleNamespace(index=index, values=values, out=out, initial=initial)]


def bincount(rng, case):
    """Numbers and weights, which are small integers, too."""
    index = rng.integers(0, case.bins, case.n)
    weights = rng.integers(-8, 9, case.n).astype(case.dtype) if case.weights else None
    reference = np.zeros(case.bins, case.dtype)
    np.add.at(reference, index, 1 if weights is None else weights)
    return reference, [SimpleNamespace(index=index, weights=weights, out=None)]


def selected(rng, case):
    """A mask and what it selects: items, or their positions."""
    positions = np.flatnonzero(case.mask)
    if isinstance(case, Nonzero):
        return positions, [SimpleNamespace(mask=case.mask, out=None)]
    source = rng.random((case.n, *case.row), np.float32)
    return source[positions], [SimpleNamespace(mask=case.mask, source=source, out=None)]


OPERANDS = {
    Bags: bags,
    Segments: bags,
    TakeAlongAxis: indexed,
    GatherPairs: indexed,
    PutAlongAxis: put_along_axis,
    Bincount: bincount,
    Compress: selected,
    Nonzero: selected,
}
