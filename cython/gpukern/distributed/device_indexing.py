# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What indexing.py does, where the indices are: by functions of gpukern, on a GPU or the CPU."""

import itertools
from typing import Any

import numpy as np

import gpukern
from gpukern.distributed.group import Counts
from gpukern.distributed.indexing import Buckets, number_type


@gpukern.elementwise
def _as_is(x: Any) -> Any:
    return x


@gpukern.elementwise
def _within(x: Any, begin: Any, end: Any) -> Any:
    return (x >= begin) & (x < end)


@gpukern.elementwise
def _or_none(x: Any, length: Any) -> Any:
    row = np.where(x < 0, x + length, x)
    return np.where((row >= 0) & (row < length), row, -1)


@gpukern.elementwise
def _wrapped(x: Any, length: Any) -> Any:
    return x % length


@gpukern.elementwise
def _clipped(x: Any, length: Any) -> Any:
    return np.minimum(np.maximum(x, 0), length - 1)


@gpukern.elementwise
def _less(x: Any, number: Any) -> Any:
    return x - number


RESOLVED = {"raise": _or_none, "wrap": _wrapped, "clip": _clipped, "fill": _or_none}


def rows_of(index: Any, memory: Any, length: int, mode: str) -> Any:
    """Return the row of each index, in C order, in memory of int64; -1 for one out of bounds.

    `index` is not of uint64, and `length` not 0.
    """
    rows = _as_is(index.reshape(-1), out=memory)
    return RESOLVED[mode](rows, length, out=rows)


def any_missing(rows: Any) -> bool:
    """Whether there is no row for an index."""
    return len(missing(rows)) > 0


def missing(rows: Any) -> Any:
    """Return the positions of -1."""
    return gpukern.nonzero(_within(rows, -1, 0))[0]


def distinct(rows: Any, length: int, empty: Any) -> tuple[Any, Any]:
    """Return each row once, in ascending order, and the positions in these; no row is -1."""
    counts = gpukern.bincount(rows, size=length)
    found = gpukern.nonzero(counts)[0]
    place = empty((length,), np.int64)
    numbers = gpukern.nonzero(gpukern.gather(counts, found))[0]  # 0, 1, 2, ...: none of them is 0
    gpukern.scatter(place, found, numbers, mode="clip", unique=True)
    return found, gpukern.gather(place, rows, mode="clip")


def bucketed(rows: Any, starts: Counts, empty: Any) -> Buckets:
    """Order rows by the rank that has them, as indexing does; `empty` makes arrays."""
    parts = [
        gpukern.nonzero(_within(rows, a, b))[0] for a, b in itertools.pairwise(starts.tolist())
    ]
    counts = np.array([len(part) for part in parts], np.int64)
    total = int(counts.sum())
    order, local = empty((total,), np.int64), empty((total,), number_type(starts))
    done = 0
    for part, start in zip(parts, starts.tolist(), strict=False):
        place = slice(done, done + len(part))
        gpukern.copyto(order[place], part)
        _less(gpukern.gather(rows, part, mode="clip"), start, out=local[place])
        done += len(part)
    return Buckets(order, local, counts)
