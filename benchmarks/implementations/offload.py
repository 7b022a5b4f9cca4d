# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Host arrays through the GPU: gpukern's device="cuda", round trips of the peers, the link.

"plain copies" copies all operands to preallocated device memory, runs one kernel, and copies the
result back.
"""

from functools import partial
from types import SimpleNamespace

import gpukern
from benchmarks.implementations.base import OURS, PEER, Implementation, ceiling, library
from benchmarks.implementations.host import TWO, gather_gpukern, saxpy_gpukern

DEVICE = "cuda"


def through_gpu(make):
    """Make gpukern's call with device="cuda"."""
    return lambda bench, case, at: make(bench, case, at, device=DEVICE)


def on_pinned(make):
    """Make a call on page-locked copies of the operands; its result is at.out's copy."""
    return lambda bench, case, at: make(bench, case, bench.pinned(at))


# ---- saxpy --------------------------------------------------------------------------------------


def saxpy_plain(bench, case, at):
    """Copy in by CuPy, compute, copy out; the device memory is allocated before."""
    cupy = library(bench, "cupy")
    x, y, out = (cupy.module.empty(case.n, case.dtype) for _ in range(3))

    def run():
        x.set(at.x)
        y.set(at.y)
        cupy.saxpy(TWO, x, y, out)
        return out.get(out=at.out)

    return run


def saxpy_cupy(bench, case, at):
    """Send NumPy's arrays through CuPy as its users write it."""
    cupy = library(bench, "cupy").module
    return lambda: (cupy.asarray(at.x) * TWO + cupy.asarray(at.y)).get(out=at.out)


def saxpy_torch_cuda(bench, case, at):
    """Send tensors through torch.cuda."""
    torch = library(bench, "torch").module
    x, y, out = (torch.from_numpy(each) for each in (at.x, at.y, at.out))

    def run():
        on_gpu = [each.to(DEVICE, non_blocking=True) for each in (x, y)]
        return out.copy_(torch.add(on_gpu[1], on_gpu[0], alpha=2)).numpy()

    return run


def stage_three(bench, case, at):
    """Copy three operands, like staging through page-locked memory."""

    def run():
        for origin in (at.x, at.y, at.x):
            bench.copier.copy(at.out, origin)

    return run


def saxpy_link(bench, case, at):
    """Upload two operands while one is downloaded, without a computation."""
    at = bench.pinned(at)
    cupy = library(bench, "cupy")
    x, y, out = (cupy.module.empty(case.n, case.dtype) for _ in range(3))
    return partial(cupy.transfer, ((x, at.x), (y, at.y)), ((at.out, out),))


def one_way(to_gpu, to_host):
    """Copy one operand to the GPU, another one back, or both concurrently."""

    def make(bench, case, at):
        at = bench.pinned(at)
        cupy = library(bench, "cupy")
        arrays = [cupy.module.empty(case.n, case.dtype) for _ in range(2)]
        return partial(
            cupy.transfer, ((arrays[0], at.x),) * to_gpu, ((at.out, arrays[1]),) * to_host
        )

    return make


def link_work(operands):
    """The bytes of some operands."""
    return lambda case, unit: operands * 1e-9 * case.result_bytes


# ---- gather -------------------------------------------------------------------------------------


def gather_plain(bench, case, at):
    """Copy source and index in by CuPy, gather, copy out; the device memory is allocated before."""
    cupy = library(bench, "cupy").module
    source, index, out = (cupy.empty(each.shape, each.dtype) for each in vars_of(at))

    def run():
        source.set(at.source)
        index.set(at.index)
        cupy.take(source, index, axis=0, out=out)
        return out.get(out=at.out)

    return run


def vars_of(at):
    """The operands of a gather in order."""
    return at.source, at.index, at.out


def gather_cupy(bench, case, at):
    """Send NumPy's arrays through CuPy as its users write it."""
    cupy = library(bench, "cupy").module
    return lambda: cupy.asarray(at.source)[cupy.asarray(at.index)].get(out=at.out)


def gather_torch_cuda(bench, case, at):
    """Send tensors through torch.cuda."""
    torch = library(bench, "torch").module
    source, index, out = map(torch.from_numpy, vars_of(at))

    def run():
        on_gpu = [each.to(DEVICE, non_blocking=True) for each in (source, index)]
        return out.copy_(torch.index_select(on_gpu[0], 0, on_gpu[1])).numpy()

    return run


def stage_two(bench, case, at):
    """Copy the index and the result, like staging through page-locked memory."""

    def run():
        bench.copier.copy(at.out, at.index)
        bench.copier.copy(at.out, at.index)

    return run


def gather_link(bench, case, at):
    """Upload the index while the bytes of the result are downloaded."""
    at = bench.pinned(at)
    cupy = library(bench, "cupy")
    index, out = (cupy.module.empty(each.shape, each.dtype) for each in (at.index, at.out))
    return partial(cupy.transfer, ((index, at.index),), ((at.out, out),))


# ---- rows of a page-locked source, to the GPU ----------------------------------------------------


def gather_hybrid(bench, case, at):
    """Make gpukern.gather of a page-locked source with index and out on the GPU."""
    index, out = gpukern.to_device(at.index), gpukern.empty(at.out.shape, at.out.dtype)
    call = partial(gpukern.gather, at.source, index, mode="clip", out=out)
    wait = partial(library(bench, "cupy").module.cuda.runtime.deviceSynchronize)

    def run():
        call()
        wait()
        return out

    run.explain = partial(gpukern.explain, gpukern.gather, at.source, index, mode="clip", out=out)
    return run


def gather_then_copy(bench, case, at):
    """Gather on the CPU into page-locked memory by torch, then copy."""
    torch = library(bench, "torch").module
    source, index = torch.from_numpy(at.source), torch.from_numpy(at.index)
    pinned = torch.from_numpy(bench.pinned(SimpleNamespace(out=at.out)).out)
    on_gpu = torch.empty(at.out.shape, dtype=pinned.dtype, device=DEVICE)

    def run():
        torch.index_select(source, 0, index, out=pinned)
        on_gpu.copy_(pinned, non_blocking=True)
        torch.cuda.synchronize()
        return pinned.numpy()

    return run


def rows_link(bench, case, at):
    """Copy the number of bytes of the rows to the GPU."""
    host = bench.pinned(SimpleNamespace(out=at.out)).out
    cupy = library(bench, "cupy")
    return partial(cupy.transfer, ((cupy.module.empty(host.shape, host.dtype), host),))


def rows_work(case, unit):
    """The bytes of the rows, once."""
    return 1e-9 * case.n * case.width


SAXPY = (
    Implementation("gpukern cuda", OURS, through_gpu(saxpy_gpukern)),
    Implementation("gpukern pinned", OURS, on_pinned(through_gpu(saxpy_gpukern))),
    Implementation("plain copies", PEER, saxpy_plain),
    Implementation("plain pinned", PEER, on_pinned(saxpy_plain)),
    Implementation("cupy", PEER, saxpy_cupy),
    Implementation("torch cuda", PEER, saxpy_torch_cuda),
    Implementation("torch pinned", PEER, on_pinned(saxpy_torch_cuda)),
    ceiling("staging", stage_three),
    ceiling("pcie", saxpy_link),
    ceiling("pcie in", one_way(1, 0), link_work(1)),
    ceiling("pcie out", one_way(0, 1), link_work(1)),
    ceiling("pcie both", one_way(1, 1), link_work(2)),
)
GATHER = (
    Implementation("gpukern cuda", OURS, through_gpu(gather_gpukern)),
    Implementation("gpukern pinned", OURS, on_pinned(through_gpu(gather_gpukern))),
    Implementation("gpukern hybrid", OURS, gather_hybrid, work=rows_work),
    Implementation("plain copies", PEER, gather_plain),
    Implementation("plain pinned", PEER, on_pinned(gather_plain)),
    Implementation("cupy", PEER, gather_cupy),
    Implementation("torch cuda", PEER, gather_torch_cuda),
    Implementation("torch pinned", PEER, on_pinned(gather_torch_cuda)),
    Implementation("torch, then copy", PEER, gather_then_copy, work=rows_work),
    ceiling("staging", stage_two),
    ceiling("pcie", gather_link),
    ceiling("pcie in", rows_link, rows_work),
)
