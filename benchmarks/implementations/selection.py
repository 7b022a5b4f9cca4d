# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""compress, nonzero and count_nonzero of device arrays: gpukern by its C ABI, the peers, memcpy.

The results of the peers are new arrays; torch and CuPy count the selected items first.
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
    returning_number,
    returning_tensor,
)


def mask_array(array, case, at, dtype="bool"):
    """Make the mask by an array library."""
    return array(at.mask, (case.n,), dtype)


def operands(array, case, at, mask_dtype="bool"):
    """Make the mask and the items by an array library."""
    items = array(at.source, (case.n, *case.row), case.dtype)
    return mask_array(array, case, at, mask_dtype), items


# ---- gpukern ------------------------------------------------------------------------------------


def compress_gpukern(bench, case, at):
    """Make gpukern_compress into a result of the right size."""
    mask, items = operands(bench.native.tensor, case, at, "uint8")
    out = bench.native.tensor(at.out, (case.selected, *case.row), case.dtype)
    return bench.native.compress_call(mask, items, out)


def nonzero_gpukern(bench, case, at):
    """Make gpukern_nonzero into a result of the right size."""
    mask = mask_array(bench.native.tensor, case, at, "uint8")
    out = bench.native.tensor(at.out, (1, case.selected), "int64")
    return bench.native.nonzero_call(mask, out)


def counter(bench, case, at):
    """Make gpukern_count_nonzero."""
    return bench.native.count_call(mask_array(bench.native.tensor, case, at, "uint8"))


def count_gpukern(bench, case, at):
    """Make gpukern_count_nonzero, whose result is checked."""
    return returning_number(bench, at, counter(bench, case, at))


def counted(make):
    """Make gpukern_count_nonzero and the call itself."""

    def make_both(bench, case, at):
        count, select = counter(bench, case, at), make(bench, case, at)

        def run():
            count()
            select()

        return run

    return make_both


# ---- peers --------------------------------------------------------------------------------------


def compress_torch(bench, case, at):
    """Make an index by a mask; masked_select takes the same time."""
    mask, items = operands(library(bench, "torch").array, case, at)
    return returning_tensor(lambda: items[mask])


def compress_cupy(bench, case, at):
    """Make an index by a mask."""
    cupy = library(bench, "cupy")
    mask, items = operands(cupy.array, case, at)
    return returning_array(cupy, lambda: items[mask])


def compress_jax(bench, case, at):
    """Make a jitted compress of a known size."""
    jax = library(bench, "jax")
    if case.n > 2**26:
        raise NotApplicable("takes seconds: a prefix sum of int64")
    mask, items = operands(jax.array, case, at)
    return lambda: jax.compress(mask, items, case.selected)


def nonzero_torch(bench, case, at):
    """Make torch.nonzero."""
    torch = library(bench, "torch")
    mask, nonzero = mask_array(torch.array, case, at), torch.module.nonzero
    return returning_tensor(lambda: nonzero(mask))


def nonzero_cupy(bench, case, at):
    """Make cupy.nonzero."""
    cupy = library(bench, "cupy")
    mask, nonzero = mask_array(cupy.array, case, at), cupy.module.nonzero
    return returning_array(cupy, lambda: nonzero(mask)[0])


def count_by(name):
    """Make count_nonzero of a library and wait for the number."""

    def make(bench, case, at):
        peer = library(bench, name)
        mask, count = mask_array(peer.array, case, at), peer.module.count_nonzero
        return returning_number(bench, at, lambda: int(count(mask)))

    return make


def implementations(gpukern, torch, cupy, *others):
    """Return the implementations of a selection, also after a count."""
    return (
        Implementation("gpukern", OURS, gpukern),
        Implementation("gpukern counted", VARIANT, counted(gpukern), capturable=False),
        Implementation("torch", PEER, torch, capturable=False),
        Implementation("cupy", PEER, cupy, capturable=False),
        *others,
        ceiling("memcpy", copy_half),
    )


COMPRESS = implementations(
    compress_gpukern,
    compress_torch,
    compress_cupy,
    Implementation("jax", PEER, compress_jax, wall=True),
)
NONZERO = implementations(nonzero_gpukern, nonzero_torch, nonzero_cupy)
COUNT_NONZERO = (
    Implementation("gpukern", OURS, count_gpukern, capturable=False),
    Implementation("torch", PEER, count_by("torch"), capturable=False),
    Implementation("cupy", PEER, count_by("cupy"), capturable=False),
    ceiling("memcpy", copy_half),
)
