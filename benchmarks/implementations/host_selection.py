# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""compress and nonzero of host arrays on the CPU: gpukern by its Python call, and the peers.

The results are new arrays; all count the selected items first.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import OURS, PEER, Implementation, library
from benchmarks.implementations.host import explained, four


def compress_gpukern(bench, case, at):
    """Make gpukern.compress."""
    arguments = (at.mask, at.source)
    return explained(partial(gpukern.compress, *arguments), gpukern.compress, *arguments)


def compress_numpy(bench, case, at):
    """Make numpy.compress."""
    return partial(np.compress, at.mask, at.source)


def compress_numpy_index(bench, case, at):
    """Make NumPy's source[mask]."""
    return lambda: at.source[at.mask]


def compress_torch(bench, case, at):
    """Make torch.masked_select on the CPU."""
    torch = library(bench, "torch").module
    return partial(torch.masked_select, *map(torch.from_numpy, (at.source, at.mask)))


def compress_numba(bench, case, at):
    """Make a loop by Numba on one core."""
    return partial(library(bench, "numba").compress, at.mask, at.source)


def nonzero_gpukern(bench, case, at):
    """Make gpukern.nonzero."""
    return explained(lambda: gpukern.nonzero(at.mask)[0], gpukern.nonzero, at.mask)


def nonzero_numpy(bench, case, at):
    """Make numpy.nonzero."""
    return lambda: np.nonzero(at.mask)[0]


def nonzero_torch(bench, case, at):
    """Make torch.nonzero on the CPU."""
    torch = library(bench, "torch").module
    return partial(torch.nonzero, torch.from_numpy(at.mask))


def nonzero_numba(bench, case, at):
    """Make a loop by Numba on one core."""
    return partial(library(bench, "numba").nonzero, at.mask)


COMPRESS = (
    Implementation("gpukern", OURS, compress_gpukern),
    Implementation("numpy", PEER, compress_numpy),
    Implementation("numpy x[mask]", PEER, compress_numpy_index),
    Implementation("torch", PEER, compress_torch),
    Implementation("numba", PEER, compress_numba),
)
NONZERO = four(nonzero_gpukern, nonzero_numpy, nonzero_torch, nonzero_numba)
