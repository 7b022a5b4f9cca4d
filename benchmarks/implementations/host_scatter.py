# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""scatter, put_along_axis and bincount of host arrays: gpukern by its Python call, and the peers.

The functions that are made write to `at.out`, the target, and return it; bincount's is a new array.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import OURS, PEER, Implementation, library
from benchmarks.implementations.host import explained, four, into


def scatter_gpukern(bench, case, at):
    """Make gpukern.scatter."""
    arguments = (at.out, at.index, at.values)
    call = partial(gpukern.scatter, *arguments, reduce=case.reduce)
    return explained(call, gpukern.scatter, *arguments, reduce=case.reduce)


def returning(call, result):
    """Return the target of a call that returns nothing."""

    def run():
        call()
        return result

    return run


def scatter_numpy(bench, case, at):
    """Make target[index] = values, or numpy.add.at."""
    if case.reduce is None:
        return returning(partial(at.out.__setitem__, at.index, at.values), at.out)
    return returning(partial(np.add.at, at.out, at.index, at.values), at.out)


def tensors(bench, at):
    """Return target, index and values as tensors of torch."""
    make = library(bench, "torch").module.from_numpy
    return make(at.out), make(at.index), make(at.values)


def scatter_torch_index(bench, case, at):
    """Make index_copy_ or index_add_ on the CPU."""
    target, index, values = tensors(bench, at)
    write = target.index_copy_ if case.reduce is None else target.index_add_
    return partial(write, 0, index, values)


def scatter_torch(bench, case, at):
    """Make scatter_ or scatter_add_ on the CPU."""
    target, index, values = tensors(bench, at)
    write = target.scatter_ if case.reduce is None else target.scatter_add_
    return partial(write, 0, index, values)


def scatter_numba(bench, case, at):
    """Make a loop by Numba on one core: iterations that write to one element exclude each other."""
    numba = library(bench, "numba")
    loop = numba.scatter if case.reduce is None else numba.scatter_add
    return returning(partial(loop, at.out, at.index, at.values), at.out)


def along_gpukern(bench, case, at):
    """Make gpukern.put_along_axis."""
    arguments = (at.out, at.index, at.values, case.axis)
    call = partial(gpukern.put_along_axis, *arguments)
    return explained(call, gpukern.put_along_axis, *arguments)


def along_numpy(bench, case, at):
    """Make numpy.put_along_axis."""
    return returning(partial(np.put_along_axis, at.out, at.index, at.values, case.axis), at.out)


def along_torch(bench, case, at):
    """Make scatter_ along an axis on the CPU."""
    target, index, values = tensors(bench, at)
    return partial(target.scatter_, case.axis, index, values)


def along_numba(bench, case, at):
    """Make a loop by Numba, whose rows are written in parallel along the last axis only."""
    loop = library(bench, "numba").put_along_axis
    return returning(partial(loop, at.out, at.index, at.values, case.axis), at.out)


def bincount_gpukern(bench, case, at):
    """Make gpukern.bincount of a size."""
    arguments = (at.index, at.weights)
    call = partial(gpukern.bincount, *arguments, size=case.bins)
    return explained(call, gpukern.bincount, *arguments, size=case.bins)


def bincount_numpy(bench, case, at):
    """Make numpy.bincount."""
    return partial(np.bincount, at.index, at.weights, case.bins)


def bincount_torch(bench, case, at):
    """Make torch.bincount on the CPU."""
    torch = library(bench, "torch").module
    weights = None if at.weights is None else torch.from_numpy(at.weights)
    return partial(torch.bincount, torch.from_numpy(at.index), weights, case.bins)


def bincount_numba(bench, case, at):
    """Make a loop by Numba on one core."""
    loop = library(bench, "numba").bincount
    return into(case, at, partial(loop, at.index, at.weights), (case.bins,))


SCATTER = (
    Implementation("gpukern", OURS, scatter_gpukern),
    Implementation("numpy", PEER, scatter_numpy),
    Implementation("torch index", PEER, scatter_torch_index),
    Implementation("torch scatter", PEER, scatter_torch),
    Implementation("numba", PEER, scatter_numba),
)
PUT_ALONG_AXIS = four(along_gpukern, along_numpy, along_torch, along_numba)
BINCOUNT = four(bincount_gpukern, bincount_numpy, bincount_torch, bincount_numba)
