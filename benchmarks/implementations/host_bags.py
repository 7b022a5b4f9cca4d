# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""gather_reduce and segment_reduce of host arrays: gpukern by its Python call, and the peers.

The results are new arrays.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import library
from benchmarks.implementations.host import explained, four, into


def bags_gpukern(bench, case, at):
    """Make gpukern.gather_reduce."""
    arguments = (at.source, at.index, at.offsets)
    return explained(partial(gpukern.gather_reduce, *arguments), gpukern.gather_reduce, *arguments)


def bags_numpy(bench, case, at):
    """Make numpy.add.reduceat of the rows."""
    return lambda: np.add.reduceat(at.source[at.index], at.offsets[:-1])


def bags_torch(bench, case, at):
    """Make embedding_bag on the CPU."""
    torch = library(bench, "torch").module
    arrays = map(torch.from_numpy, (at.index, at.source, at.offsets[:-1]))
    return partial(torch.nn.functional.embedding_bag, *arrays, mode="sum")


def bags_numba(bench, case, at):
    """Make a loop by Numba whose bags are computed in parallel."""
    loop = library(bench, "numba").bags
    return into(case, at, partial(loop, at.source, at.index, at.offsets), (case.bags, *case.row))


def segments_gpukern(bench, case, at):
    """Make gpukern.segment_reduce."""
    arguments = (at.source, at.offsets)
    call = partial(gpukern.segment_reduce, *arguments)
    return explained(call, gpukern.segment_reduce, *arguments)


def segments_numpy(bench, case, at):
    """Make numpy.add.reduceat."""
    return partial(np.add.reduceat, at.source, at.offsets[:-1])


def segments_torch(bench, case, at):
    """Make segment_reduce on the CPU, without a check of the offsets."""
    torch = library(bench, "torch").module
    source, offsets = map(torch.from_numpy, (at.source, at.offsets))
    return partial(torch.segment_reduce, source, "sum", offsets=offsets, unsafe=True)


def segments_numba(bench, case, at):
    """Make a loop by Numba whose segments are computed in parallel."""
    loop = library(bench, "numba").segments
    return into(case, at, partial(loop, at.source, at.offsets), (case.bags, *case.row))


BAGS = four(bags_gpukern, bags_numpy, bags_torch, bags_numba)
SEGMENTS = four(segments_gpukern, segments_numpy, segments_torch, segments_numba)
