# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""compress of device arrays: gpukern by its C ABI, the peers, memcpy.

The results of the peers are new arrays; torch and CuPy count the selected items first.
"""

from benchmarks.implementations.bags import returning_tensor
from benchmarks.implementations.base import (
    OURS,
    PEER,
    VARIANT,
    Implementation,
    NotApplicable,
    ceiling,
    library,
)


def operands(array, case, at, mask_dtype="bool"):
    """Make the mask and the items by an array library."""
    mask = array(at.mask, (case.n,), mask_dtype)
    return mask, array(at.source, (case.n, *case.row), case.dtype)


def gpukern_call(bench, case, at, counts=False):
    """Make gpukern_compress into a result of the right size, optionally after counting."""
    mask, items = operands(bench.native.tensor, case, at, "uint8")
    out = bench.native.tensor(at.out, (case.selected, *case.row), case.dtype)
    compress = bench.native.compress_call(mask, items, out)
    if not counts:
        return compress
    count = bench.native.count_call(mask)

    def run():
        count()
        compress()

    return run


def compress_counted(bench, case, at):
    """Make gpukern_count_nonzero and gpukern_compress."""
    return gpukern_call(bench, case, at, counts=True)


def compress_torch(bench, case, at):
    """Make an index by a mask; masked_select takes the same time."""
    mask, items = operands(library(bench, "torch").array, case, at)
    return returning_tensor(lambda: items[mask])


def compress_cupy(bench, case, at):
    """Make an index by a mask."""
    cupy = library(bench, "cupy")
    mask, items = operands(cupy.array, case, at)

    def run():
        return items[mask]

    run.result_address = cupy.address_of
    return run


def compress_jax(bench, case, at):
    """Make a jitted compress of a known size."""
    jax = library(bench, "jax")
    if case.n > 2**26:
        raise NotApplicable("takes seconds: a prefix sum of int64")
    mask, items = operands(jax.array, case, at)
    return lambda: jax.compress(mask, items, case.selected)


def compress_copy(bench, case, at):
    """Copy half of the bytes that must be read and written, in words of 16 bytes."""
    half = case.traffic // 2 // 16 * 16
    return lambda: bench.native.enqueue("copy", at.copy, at.original, half)


COMPRESS = (
    Implementation("gpukern", OURS, gpukern_call),
    Implementation("gpukern counted", VARIANT, compress_counted, capturable=False),
    Implementation("torch", PEER, compress_torch, capturable=False),
    Implementation("cupy", PEER, compress_cupy, capturable=False),
    Implementation("jax", PEER, compress_jax, wall=True),
    ceiling("memcpy", compress_copy),
)
