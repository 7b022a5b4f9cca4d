# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Device arrays: gpukern by its C ABI, its forced paths, the peers, the ceilings."""

import numpy as np

from benchmarks.c_api import scalar_two
from benchmarks.implementations.base import (
    CEILING,
    OURS,
    PEER,
    VARIANT,
    Implementation,
    NotApplicable,
    ceiling,
    library,
    returning_tensor,
)
from benchmarks.native import DTYPES

# ---- saxpy --------------------------------------------------------------------------------------


def saxpy_gpukern(bench, case, at):
    """Make gpukern_saxpy."""
    native = bench.native
    tensors = [native.tensor(address, (case.n,), case.dtype) for address in (at.x, at.y, at.out)]
    return native.saxpy_call(scalar_two(case.dtype), *tensors)


def saxpy_native(name):
    """Make saxpy by bench_saxpy_<name>."""

    def make(bench, case, at):
        scalar = scalar_two(case.dtype)
        number = DTYPES.index(case.dtype)
        arguments = (number, scalar, at.x, at.y, at.out, case.n)
        return lambda: bench.native.enqueue(f"saxpy_{name}", *arguments)

    return make


def saxpy_cublas(bench, case, at):
    """Make cublasAxpyEx, which works in place."""
    if case.dtype.startswith("int"):
        raise NotApplicable("cuBLAS has no axpy of integers")
    arguments = (DTYPES.index(case.dtype), at.x, at.out, case.n)
    return lambda: bench.native.enqueue("saxpy_cublas", *arguments)


def saxpy_torch(bench, case, at):
    """Make torch.add(alpha=, out=)."""
    torch = library(bench, "torch")
    x, y, out = (torch.array(each, (case.n,), case.dtype) for each in (at.x, at.y, at.out))
    add = torch.module.add
    return lambda: add(y, x, alpha=2, out=out)


def saxpy_cupy(bench, case, at):
    """Make CuPy's ElementwiseKernel."""
    cupy = library(bench, "cupy")
    if case.dtype == "bfloat16":
        raise NotApplicable("CuPy's kernels have no bfloat16")
    x, y, out = (cupy.array(each, (case.n,), case.dtype) for each in (at.x, at.y, at.out))
    scalar = np.dtype(case.dtype).type(2)
    return lambda: cupy.saxpy(scalar, x, y, out)


def saxpy_jax(bench, case, at):
    """Make a jitted a * x + y."""
    jax = library(bench, "jax")
    if case.in_place or any(case.shift):
        raise NotApplicable("JAX's arrays are aligned, and never written to")
    x, y = (jax.array(each, (case.n,), case.dtype) for each in (at.x, at.y))
    scalar = jax.module.numpy.asarray(2, x.dtype)
    return lambda: jax.saxpy(scalar, x, y)


def saxpy_copy(name):
    """Copy one half of a set's memory to the other: the same traffic as saxpy."""

    def make(bench, case, at):
        half = case.traffic // 2 // 16 * 16
        start = min(at.x, at.y, at.out) // 256 * 256
        return lambda: bench.native.enqueue(name, start + half, start, half)

    return make


# ---- gather -------------------------------------------------------------------------------------


def gather_gpukern(mode="clip", path=None, new_out=False):
    """Make gather by gpukern in a mode, optionally with a given path or a new result."""

    def make(bench, case, at):
        native = bench.native
        source = native.tensor(at.source, (case.m, *case.row), case.dtype)
        index = native.tensor(at.index, (case.n,), case.index)
        out = native.tensor(at.out, (case.n, *case.row), case.dtype)
        return native.gather_call(source, (index,), out, mode, path, new_out)

    return make


def gather_native(name):
    """Make the gather of items by bench_gather_<name>."""

    def make(bench, case, at):
        if case.rows:
            raise NotApplicable("items only")
        arguments = (case.width, case.index_itemsize, at.source, at.index, at.out, case.n)
        return lambda: bench.native.enqueue(f"gather_{name}", *arguments)

    return make


def gather_rows(bench, case, at):
    """Make the gather of rows without any check."""
    arguments = (case.width, case.index_itemsize, at.source, at.index, at.out, case.n)
    return lambda: bench.native.enqueue("gather_rows", *arguments)


def gather_arrays(array, case, at):
    """Make source, index and out by an array library."""
    return (
        array(at.source, (case.m, *case.row), case.dtype),
        array(at.index, (case.n,), case.index),
        array(at.out, (case.n, *case.row), case.dtype),
    )


def gather_torch(bench, case, at):
    """Make torch.index_select(out=)."""
    torch = library(bench, "torch")
    source, index, out = gather_arrays(torch.array, case, at)
    select = torch.module.index_select
    return lambda: select(source, 0, index, out=out)


def gather_embedding(bench, case, at):
    """Make torch.nn.functional.embedding, which has no out=."""
    torch = library(bench, "torch")
    source, index, _ = gather_arrays(torch.array, case, at)
    embedding = torch.module.nn.functional.embedding
    return returning_tensor(lambda: embedding(index, source))


def gather_cupy(bench, case, at):
    """Make cupy.take(out=)."""
    cupy = library(bench, "cupy")
    source, index, out = gather_arrays(cupy.array, case, at)
    take = cupy.module.take
    return lambda: take(source, index, axis=0, out=out)


def gather_jax(bench, case, at):
    """Make a jitted gather without any check."""
    jax = library(bench, "jax")
    source = jax.array(at.source, (case.m, *case.row), case.dtype)
    index = jax.array(at.index, (case.n,), case.index)
    return lambda: jax.take(source, index)


def copied(case):
    """The bytes of the copies that a gather is compared with, a multiple of 16."""
    return case.copied_bytes() // 16 * 16


def gather_copy(name):
    """Copy into out, from the source for rows and else from the index."""

    def make(bench, case, at):
        if case.distribution != "uniform":
            raise NotApplicable("the same as for uniform indices")
        origin = at.source if case.rows else at.index
        return lambda: bench.native.enqueue(name, at.out, origin, copied(case))

    return make


def copied_work(case, unit):
    """The work of a gather whose whole traffic is streamed like the copied bytes."""
    return case.streamed_work(unit, copied(case))


def saxpy_copied_work(case, unit):
    """The copied bytes."""
    return 2 * (case.traffic // 2 // 16 * 16) * 1e-9


SAXPY = (
    Implementation("gpukern", OURS, saxpy_gpukern),
    Implementation("cub", PEER, saxpy_native("cub")),
    Implementation("plain", PEER, saxpy_native("plain")),
    Implementation("cublas", PEER, saxpy_cublas, in_place=True),
    Implementation("torch", PEER, saxpy_torch),
    Implementation("cupy", PEER, saxpy_cupy),
    Implementation("jax", PEER, saxpy_jax, wall=True),
    ceiling("memcpy", saxpy_copy("copy"), saxpy_copied_work),
    ceiling("copy", saxpy_copy("copy_kernel"), saxpy_copied_work),
)
GATHER = (
    Implementation("gpukern", OURS, gather_gpukern()),
    Implementation("gpukern direct", VARIANT, gather_gpukern(path="direct")),
    Implementation("gpukern partitioned", VARIANT, gather_gpukern(path="partitioned")),
    Implementation("gpukern wrap", VARIANT, gather_gpukern("wrap", "direct")),
    Implementation("gpukern clip", VARIANT, gather_gpukern("clip", "direct")),
    Implementation("gpukern fill", VARIANT, gather_gpukern("fill", "direct")),
    Implementation(
        "gpukern raise", OURS, gather_gpukern("raise", "direct", True), capturable=False
    ),
    Implementation(
        "gpukern raise, out unchanged",
        VARIANT,
        gather_gpukern("raise", "direct"),
        capturable=False,
    ),
    Implementation("thrust", PEER, gather_native("thrust")),
    Implementation("torch", PEER, gather_torch),
    Implementation("embedding", PEER, gather_embedding, capturable=False),
    Implementation("cupy", PEER, gather_cupy),
    Implementation("jax", PEER, gather_jax, wall=True),
    Implementation("unchecked", CEILING, gather_native("unchecked")),
    Implementation("unchecked rows", CEILING, gather_rows),
    ceiling("memcpy", gather_copy("copy"), copied_work),
    ceiling("copy", gather_copy("copy_kernel"), copied_work),
)
