# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""take_along_axis and gather by two indices of host arrays: gpukern by its Python call, the peers.

The results are new arrays. `at.indices` has the index, or the two.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import library
from benchmarks.implementations.host import explained, four, into


def along_gpukern(bench, case, at):
    """Make gpukern.take_along_axis."""
    arguments = (at.source, *at.indices, case.axis)
    call = partial(gpukern.take_along_axis, *arguments)
    return explained(call, gpukern.take_along_axis, *arguments)


def along_numpy(bench, case, at):
    """Make numpy.take_along_axis."""
    return partial(np.take_along_axis, at.source, *at.indices, case.axis)


def along_torch(bench, case, at):
    """Make torch.take_along_dim on the CPU."""
    torch = library(bench, "torch").module
    return partial(
        torch.take_along_dim, *map(torch.from_numpy, (at.source, *at.indices)), case.axis
    )


def along_numba(bench, case, at):
    """Make a loop by Numba whose rows are computed in parallel."""
    loop = library(bench, "numba").take_along_axis
    return into(case, at, partial(loop, at.source, *at.indices, case.axis), case.index_shape)


def pairs_gpukern(bench, case, at):
    """Make gpukern.gather by a tuple."""
    arguments = (at.source, at.indices)
    return explained(partial(gpukern.gather, *arguments), gpukern.gather, *arguments)


def pairs_numpy(bench, case, at):
    """Make source[i, j]."""
    return lambda: at.source[at.indices]


def pairs_torch(bench, case, at):
    """Make source[i, j] on the CPU."""
    make = library(bench, "torch").module.from_numpy
    source, indices = make(at.source), tuple(map(make, at.indices))
    return lambda: source[indices]


def pairs_numba(bench, case, at):
    """Make a parallel loop by Numba."""
    loop = library(bench, "numba").gather_pairs
    return into(case, at, partial(loop, at.source, *at.indices), case.index_shape)


TAKE_ALONG_AXIS = four(along_gpukern, along_numpy, along_torch, along_numba)
GATHER_PAIRS = four(pairs_gpukern, pairs_numpy, pairs_torch, pairs_numba)
