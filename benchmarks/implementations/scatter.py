# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""scatter, put_along_axis and bincount of device arrays: gpukern by its C ABI, the peers, memcpy.

The functions that are made write to the target `at.out`, except JAX's, which return a new array.
The results of bincount by torch.bincount and CuPy are new arrays, too.
"""

from benchmarks.implementations.base import (
    OURS,
    PEER,
    VARIANT,
    Implementation,
    NotApplicable,
    ceiling,
    copy_half,
    library,
    returning_array,
    returning_tensor,
)
from benchmarks.implementations.unchecked import along_unchecked, scatter_unchecked

# torch adds the values of one index one after the other in its deterministic mode: 0.1 us each.
MOST_DETERMINISTIC = 1 << 19
NO_ATOMICS = ("float16", "bfloat16")  # XLA's loops of compare-and-swap may take minutes


def scatter_arrays(array, case, at):
    """Make target, index and values by an array library."""
    return (
        array(at.out, (case.m, *case.row), case.dtype),
        array(at.index, (case.n,), case.index),
        array(at.values, (case.n, *case.row), case.dtype),
    )


def along_arrays(array, case, at):
    """Make target, index and values of put_along_axis by an array library."""
    return (
        array(at.out, case.shape, case.dtype),
        array(at.index, case.shape, "int64"),
        array(at.values, case.shape, case.dtype),
    )


# ---- gpukern ------------------------------------------------------------------------------------


def scatter_gpukern(order="fixed", mode="clip"):
    """Make gpukern_scatter with an order, in a mode."""

    def make(bench, case, at):
        target, index, values = scatter_arrays(bench.native.tensor, case, at)
        return bench.native.scatter_call(target, (index,), values, case.reduce, order, mode)

    return make


def along_gpukern(bench, case, at):
    """Make gpukern_put_along_axis."""
    tensors = along_arrays(bench.native.tensor, case, at)
    return bench.native.put_along_axis_call(*tensors, case.axis)


def bincount_gpukern(order="fixed", mode="raise"):
    """Make gpukern_scatter as gpukern.bincount calls it: ones or weights are added to zeros."""

    def make(bench, case, at):
        tensor = bench.native.tensor
        zeros = tensor(at.zero, (case.bins,), case.dtype, strides=(0,))
        index = tensor(at.index, (case.n,), "uint64")
        values = tensor(at.one, (), "int64")
        if case.weights:
            values = tensor(at.weights, (case.n,), case.dtype)
        out = tensor(at.out, (case.bins,), case.dtype)
        return bench.native.scatter_call(zeros, (index,), values, "add", order, mode, out)

    return make


# ---- peers --------------------------------------------------------------------------------------


def scatter_plain(bench, case, at):
    """Make a kernel of plain stores or atomic operations."""
    return lambda: scatter_unchecked(bench.native, case, at.out, at)


def scatter_torch(bench, case, at):
    """Make scatter_, scatter_add_ or scatter_reduce_; for rows with an expanded index."""
    torch = library(bench, "torch")
    target, index, values = scatter_arrays(torch.array, case, at)
    if case.row_bytes:
        index = index.view(-1, 1).expand(case.n, *case.row)
    if case.reduce is None:
        return lambda: target.scatter_(0, index, values)
    if case.reduce == "add":
        return lambda: target.scatter_add_(0, index, values)
    reduce = f"a{case.reduce}"
    return lambda: target.scatter_reduce_(0, index, values, reduce, include_self=True)


def scatter_torch_index(bench, case, at):
    """Make index_copy_ or index_add_."""
    torch = library(bench, "torch")
    target, index, values = scatter_arrays(torch.array, case, at)
    if case.reduce is None:
        return lambda: target.index_copy_(0, index, values)
    return lambda: target.index_add_(0, index, values)


def scatter_torch_deterministic(bench, case, at):
    """Make index_add_ in torch's deterministic mode."""
    torch = library(bench, "torch")
    if case.most_of_one() > MOST_DETERMINISTIC:
        raise NotApplicable("takes seconds: too many values for one index")
    add = scatter_torch_index(bench, case, at)
    switch = torch.module.use_deterministic_algorithms

    def run():
        switch(True)
        try:
            return add()
        finally:
            switch(False)

    return run


def scatter_cupy(bench, case, at):
    """Make target[index] = values, or the ufunc's at(), which is cupyx.scatter_add."""
    cupy = library(bench, "cupy")
    if case.dtype == "bfloat16":
        raise NotApplicable("CuPy's kernels have no bfloat16")
    target, index, values = scatter_arrays(cupy.array, case, at)
    if case.reduce is None:
        return lambda: target.__setitem__(index, values)
    ufunc = {"add": "add", "max": "maximum", "min": "minimum"}[case.reduce]
    combine = getattr(cupy.module, ufunc).at
    return lambda: combine(target, index, values)


def scatter_jax(bench, case, at):
    """Make a jitted target.at[index] without any check; its result is a new array."""
    jax = library(bench, "jax")
    if case.dtype in NO_ATOMICS:
        raise NotApplicable("adds 16-bit floats by loops of compare-and-swap")
    target, index, values = scatter_arrays(jax.array, case, at)
    return lambda: jax.scatter(target, index, values, case.reduce)


def along_torch(bench, case, at):
    """Make scatter_ along an axis."""
    torch = library(bench, "torch")
    target, index, values = along_arrays(torch.array, case, at)
    return lambda: target.scatter_(case.axis, index, values)


def along_cupy(bench, case, at):
    """Make cupy.put_along_axis."""
    cupy = library(bench, "cupy")
    put = getattr(cupy.module, "put_along_axis", None)
    if put is None:
        raise NotApplicable("no put_along_axis in this version of CuPy")
    target, index, values = along_arrays(cupy.array, case, at)
    return lambda: put(target, index, values, case.axis)


def along_jax(bench, case, at):
    """Make a jitted put_along_axis without any check; its result is a new array."""
    jax = library(bench, "jax")
    if not hasattr(jax.module.numpy, "put_along_axis"):
        raise NotApplicable("no put_along_axis in this version of JAX")
    arrays = along_arrays(jax.array, case, at)
    return lambda: jax.put_along_axis(*arrays, case.axis)


def along_plain(bench, case, at):
    """Make a kernel of plain stores."""
    return lambda: along_unchecked(bench.native, case, at.out, at)


def bincount_arrays(array, case, at):
    """Make the numbers, and the weights or None, by an array library."""
    weights = array(at.weights, (case.n,), case.dtype) if case.weights else None
    return array(at.index, (case.n,), "int64"), weights


def bincount_torch(bench, case, at):
    """Make torch.bincount."""
    torch = library(bench, "torch")
    index, weights = bincount_arrays(torch.array, case, at)
    bincount = torch.module.bincount
    return returning_tensor(lambda: bincount(index, weights, minlength=case.bins))


def bincount_torch_scatter(bench, case, at):
    """Make scatter_add_ of ones or weights to zeros, which does not wait."""
    torch = library(bench, "torch")
    index, values = bincount_arrays(torch.array, case, at)
    out = torch.array(at.out, (case.bins,), case.dtype)
    if values is None:
        values = torch.array(at.one, (1,), case.dtype).expand(case.n)

    def run():
        out.zero_()
        out.scatter_add_(0, index, values)

    return run


def bincount_cupy(bench, case, at):
    """Make cupy.bincount."""
    cupy = library(bench, "cupy")
    index, weights = bincount_arrays(cupy.array, case, at)
    bincount = cupy.module.bincount
    return returning_array(cupy, lambda: bincount(index, weights, minlength=case.bins))


# ---- ceilings -----------------------------------------------------------------------------------


def scatter_copy(bench, case, at):
    """Copy values to the target."""
    if case.distribution != "uniform":
        raise NotApplicable("the same as for uniform indices")
    size = case.copied_bytes()
    return lambda: bench.native.enqueue("copy", at.out, at.values, size)


def along_copy(bench, case, at):
    """Copy values to the target."""
    return lambda: bench.native.enqueue("copy", at.out, at.values, case.result_bytes)


SCATTER = (
    Implementation("gpukern", OURS, scatter_gpukern()),
    Implementation("gpukern any", VARIANT, scatter_gpukern("any")),
    Implementation("gpukern raise", OURS, scatter_gpukern(mode="raise"), capturable=False),
    Implementation("gpukern clip", VARIANT, scatter_gpukern()),
    Implementation("plain", PEER, scatter_plain),
    Implementation("torch scatter", PEER, scatter_torch),
    Implementation("torch index", PEER, scatter_torch_index),
    Implementation("torch deterministic", PEER, scatter_torch_deterministic, capturable=False),
    Implementation("cupy", PEER, scatter_cupy),
    Implementation("jax", PEER, scatter_jax, wall=True),
    ceiling("memcpy", scatter_copy, lambda case, unit: case.streamed_work(unit)),
)
PUT_ALONG_AXIS = (
    Implementation("gpukern", OURS, along_gpukern),
    Implementation("plain", PEER, along_plain),
    Implementation("torch", PEER, along_torch),
    Implementation("cupy", PEER, along_cupy),
    Implementation("jax", PEER, along_jax, wall=True),
    ceiling("memcpy", along_copy, lambda case, unit: 2e-9 * case.result_bytes),
)
BINCOUNT = (
    Implementation("gpukern", OURS, bincount_gpukern(), capturable=False),
    Implementation("gpukern fill", VARIANT, bincount_gpukern(mode="fill")),
    Implementation("gpukern any", VARIANT, bincount_gpukern("any"), capturable=False),
    Implementation("torch", PEER, bincount_torch, capturable=False),
    Implementation("torch scatter", PEER, bincount_torch_scatter),
    Implementation("cupy", PEER, bincount_cupy, capturable=False),
    ceiling("memcpy", copy_half),
)
