# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""gather_reduce of host arrays on the CPU: gpukern by its Python call, and the peers.

The results are new arrays.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import OURS, PEER, Implementation, library
from benchmarks.implementations.host import explained, into


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


BAGS = (
    Implementation("gpukern", OURS, bags_gpukern),
    Implementation("numpy", PEER, bags_numpy),
    Implementation("torch", PEER, bags_torch),
    Implementation("numba", PEER, bags_numba),
)
