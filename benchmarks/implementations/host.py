# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Host arrays on the CPU: gpukern by its Python call, the peers, memcpy.

The functions that are made return the result; `at.out` is None for a new result.
"""

from functools import partial

import numpy as np

import gpukern
from benchmarks.implementations.base import (
    OURS,
    PEER,
    VARIANT,
    Implementation,
    NotApplicable,
    ceiling,
    library,
)

TWO = np.float32(2)


def require_out(case):
    """Leave the cell empty for a new result."""
    if case.new_result:
        raise NotApplicable("with out= only")


def explained(call, operation, *arguments, **options):
    """Attach gpukern.explain of the same call."""
    call.explain = partial(gpukern.explain, operation, *arguments, **options)
    return call


def four(gpukern_call, numpy, torch, numba):
    """Return the implementations of gpukern, NumPy, torch and Numba, one of each."""
    peers = {"numpy": numpy, "torch": torch, "numba": numba}
    ours = Implementation("gpukern", OURS, gpukern_call)
    return (ours, *(Implementation(name, PEER, make) for name, make in peers.items()))


# ---- saxpy --------------------------------------------------------------------------------------


def saxpy_gpukern(bench, case, at, **options):
    """Make gpukern.saxpy on the default device unless `device` is given."""
    if at.out is not None:
        options["out"] = at.out
    call = partial(gpukern.saxpy, 2.0, at.x, at.y, **options)
    return explained(call, gpukern.saxpy, 2.0, at.x, at.y, **options)


def saxpy_numpy(bench, case, at):
    """Make NumPy's a * x + y, copied to out if there is one."""
    x, y, out = at.x, at.y, at.out
    if out is None:
        return lambda: TWO * x + y
    return lambda: np.add(TWO * x, y, out=out)


def saxpy_numpy_out(bench, case, at):
    """Make NumPy's best with out=: both operations write to it."""
    require_out(case)
    x, y, out = at.x, at.y, at.out

    def run():
        np.multiply(x, TWO, out=out)
        return np.add(out, y, out=out)

    return run


def saxpy_torch(bench, case, at):
    """Make torch.add(alpha=) on the CPU."""
    torch = library(bench, "torch").module
    x, y = torch.from_numpy(at.x), torch.from_numpy(at.y)
    if at.out is None:
        return partial(torch.add, y, x, alpha=2)
    return partial(torch.add, y, x, alpha=2, out=torch.from_numpy(at.out))


def saxpy_numba(bench, case, at):
    """Make a parallel loop by Numba."""
    saxpy = library(bench, "numba").saxpy
    return into(case, at, partial(saxpy, TWO, at.x, at.y), at.x.shape)


def into(case, at, call, shape):
    """Bind a function to its output: the given one, or a new one for each call."""
    if at.out is not None:
        out = at.out

        def run():
            call(out)
            return out
    else:

        def run():
            out = np.empty(shape, case.dtype)
            call(out)
            return out

    return run


# Below this the Python call takes longer than the copy.
LEAST_CEILING = 256 << 10


def require_ceiling(case, size):
    """Leave the cell empty if the bytes are too few for a bound."""
    require_out(case)
    if size < LEAST_CEILING:
        raise NotApplicable("the call would cost more than the copy")


def copy_operand(bench, case, at):
    """Copy one operand to another on all cores."""
    require_ceiling(case, case.result_bytes)
    return partial(bench.copier.copy, at.out, at.x)


# ---- gather -------------------------------------------------------------------------------------


def gather_gpukern(bench, case, at, **options):
    """Make gpukern.gather on the default device unless `device` is given."""
    if at.out is not None:
        options["out"] = at.out
    call = partial(gpukern.gather, at.source, at.index, **options)
    return explained(call, gpukern.gather, at.source, at.index, **options)


def gather_numpy(bench, case, at):
    """Make numpy.take; with out= in the mode that needs no buffer, as its documentation advises."""
    if at.out is None:
        return partial(np.take, at.source, at.index, axis=0)
    return partial(np.take, at.source, at.index, axis=0, out=at.out, mode="clip")


def gather_numpy_raise(bench, case, at):
    """Make numpy.take with out= in its default mode, which is gpukern's, too."""
    require_out(case)
    return partial(np.take, at.source, at.index, axis=0, out=at.out)


def gather_numpy_index(bench, case, at):
    """Make NumPy's source[index]."""
    if not case.new_result:
        raise NotApplicable("has no out=")
    source, index = at.source, at.index
    return lambda: source[index]


def gather_torch(bench, case, at):
    """Make torch.index_select on the CPU."""
    torch = library(bench, "torch").module
    source, index = torch.from_numpy(at.source), torch.from_numpy(at.index)
    if at.out is None:
        return partial(torch.index_select, source, 0, index)
    return partial(torch.index_select, source, 0, index, out=torch.from_numpy(at.out))


def gather_numba(bench, case, at):
    """Make a parallel loop by Numba."""
    numba = library(bench, "numba")
    loop = numba.gather_rows if case.rows else numba.gather
    shape = (case.n, *case.row)
    return into(case, at, partial(loop, at.source, at.index), shape)


def copy_to_result(bench, case, at):
    """Copy as many bytes as the result has from the source (rows) or the index."""
    size = case.copied_bytes()
    require_ceiling(case, size)
    if case.distribution != "uniform":
        raise NotApplicable("the same as for uniform indices")
    to, origin = at.out.reshape(-1).view(np.uint8), at.source if case.rows else at.index
    return partial(bench.copier.copy, to[:size], origin[: case.n].reshape(-1).view(np.uint8)[:size])


def copied_work(case, unit):
    """The work of a gather whose whole traffic is streamed like the copied bytes."""
    return case.streamed_work(unit, case.copied_bytes())


SAXPY = (
    Implementation("gpukern", OURS, saxpy_gpukern),
    Implementation("gpukern cpu", VARIANT, partial(saxpy_gpukern, device="cpu")),
    Implementation("numpy", PEER, saxpy_numpy),
    Implementation("numpy out", PEER, saxpy_numpy_out),
    Implementation("torch", PEER, saxpy_torch),
    Implementation("numba", PEER, saxpy_numba),
    ceiling("memcpy", copy_operand, lambda case, unit: 2e-9 * case.result_bytes),
    ceiling("memcpy one way", copy_operand, lambda case, unit: 1e-9 * case.result_bytes),
)
GATHER = (
    Implementation("gpukern", OURS, gather_gpukern),
    Implementation("gpukern cpu", VARIANT, partial(gather_gpukern, device="cpu")),
    Implementation("gpukern clip", VARIANT, partial(gather_gpukern, mode="clip")),
    Implementation("numpy", PEER, gather_numpy),
    Implementation("numpy raise", PEER, gather_numpy_raise),
    Implementation("numpy x[i]", PEER, gather_numpy_index),
    Implementation("torch", PEER, gather_torch),
    Implementation("numba", PEER, gather_numba),
    ceiling("memcpy", copy_to_result, copied_work),
)
