# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""take_along_axis, and gather and scatter by two indices, of device arrays.

gpukern by its C ABI, the peers, a kernel without checks, memcpy. The results of JAX, and of
torch and CuPy by two indices, are new arrays.
"""

from benchmarks.implementations.base import (
    CEILING,
    OURS,
    PEER,
    VARIANT,
    Implementation,
    ceiling,
    copy_half,
    library,
    returning_array,
    returning_tensor,
)
from benchmarks.implementations.scatter import scatter_plain
from benchmarks.implementations.unchecked import read_unchecked


def indices_of(array, case, at):
    """Make the indices by an array library."""
    return tuple(array(each, case.index_shape, "int64") for each in at.indices)


def read_arrays(array, case, at):
    """Make source, indices and out by an array library."""
    source = array(at.source, case.shape, case.dtype)
    out = array(at.out, (*case.index_shape, *case.row), case.dtype)
    return source, indices_of(array, case, at), out


def add_arrays(array, case, at):
    """Make target, indices and values by an array library."""
    target = array(at.out, case.shape, case.dtype)
    values = array(at.values, (case.n, *case.row), case.dtype)
    return target, indices_of(array, case, at), values


# ---- take_along_axis ----------------------------------------------------------------------------


def along_gpukern(bench, case, at):
    """Make gpukern_take_along_axis."""
    source, (index,), out = read_arrays(bench.native.tensor, case, at)
    return bench.native.take_along_axis_call(source, index, case.axis, out)


def along_torch(bench, case, at):
    """Make torch.take_along_dim(out=), which is torch.gather with broadcast shapes."""
    torch = library(bench, "torch")
    source, (index,), out = read_arrays(torch.array, case, at)
    take = torch.module.take_along_dim
    return lambda: take(source, index, case.axis, out=out)


def along_cupy(bench, case, at):
    """Make cupy.take_along_axis, which has no out=."""
    cupy = library(bench, "cupy")
    source, (index,), _ = read_arrays(cupy.array, case, at)
    take = cupy.module.take_along_axis
    return returning_array(cupy, lambda: take(source, index, case.axis))


def along_jax(bench, case, at):
    """Make a jitted take_along_axis without any check."""
    jax = library(bench, "jax")
    source, (index,), _ = read_arrays(jax.array, case, at)
    return lambda: jax.take_along_axis(source, index, case.axis)


# ---- gather by two indices ----------------------------------------------------------------------


def pairs_gpukern(bench, case, at):
    """Make gpukern_gather with further_indices."""
    return bench.native.gather_call(*read_arrays(bench.native.tensor, case, at))


def pairs_torch(bench, case, at):
    """Make source[i, j]."""
    source, indices, _ = read_arrays(library(bench, "torch").array, case, at)
    return returning_tensor(lambda: source[indices])


def pairs_cupy(bench, case, at):
    """Make source[i, j]."""
    cupy = library(bench, "cupy")
    source, indices, _ = read_arrays(cupy.array, case, at)
    return returning_array(cupy, lambda: source[indices])


def pairs_jax(bench, case, at):
    """Make a jitted source.at[i, j] without any check."""
    jax = library(bench, "jax")
    source, indices, _ = read_arrays(jax.array, case, at)
    return lambda: jax.take(source, indices)


# ---- scatter by two indices ---------------------------------------------------------------------


def add_gpukern(order):
    """Make gpukern_scatter with further_indices and an order."""

    def make(bench, case, at):
        arrays = add_arrays(bench.native.tensor, case, at)
        return bench.native.scatter_call(*arrays, case.reduce, order)

    return make


def add_torch(bench, case, at):
    """Make index_put_(accumulate=True), which sorts the indices."""
    target, indices, values = add_arrays(library(bench, "torch").array, case, at)
    return lambda: target.index_put_(indices, values, accumulate=True)


def add_cupy(bench, case, at):
    """Make add.at."""
    cupy = library(bench, "cupy")
    target, indices, values = add_arrays(cupy.array, case, at)
    add = cupy.module.add.at
    return lambda: add(target, indices, values)


def add_jax(bench, case, at):
    """Make a jitted target.at[i, j].add without any check; its result is a new array."""
    jax = library(bench, "jax")
    target, indices, values = add_arrays(jax.array, case, at)
    return lambda: jax.scatter(target, indices, values, case.reduce)


# ---- ceilings -----------------------------------------------------------------------------------


def reads_plain(bench, case, at):
    """Make a kernel that reads by the flat index, or along an axis."""
    return lambda: read_unchecked(bench.native, case, at.out, at)


def reads(gpukern, torch, cupy, jax, out):
    """Return the implementations of a read; torch may have no out=."""
    return (
        Implementation("gpukern", OURS, gpukern),
        Implementation("torch", PEER, torch, capturable=out),
        Implementation("cupy", PEER, cupy, capturable=False),
        Implementation("jax", PEER, jax, wall=True),
        Implementation("unchecked", CEILING, reads_plain),
        ceiling("memcpy", copy_half),
    )


TAKE_ALONG_AXIS = reads(along_gpukern, along_torch, along_cupy, along_jax, out=True)
GATHER_PAIRS = reads(pairs_gpukern, pairs_torch, pairs_cupy, pairs_jax, out=False)
ADD_PAIRS = (
    Implementation("gpukern", OURS, add_gpukern("fixed")),
    Implementation("gpukern any", VARIANT, add_gpukern("any")),
    Implementation("plain", PEER, scatter_plain),
    Implementation("torch", PEER, add_torch, capturable=False),
    Implementation("cupy", PEER, add_cupy),
    Implementation("jax", PEER, add_jax, wall=True),
    ceiling("memcpy", copy_half),
)
