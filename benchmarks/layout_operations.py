# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the operations on arrays in many layouts, beside torch on a GPU or NumPy on the CPU.

``python -m benchmarks.layout_operations`` uses the GPU if there is one; ``--cpu`` measures NumPy
arrays on one core. Each line is compared with the peer's result first. ``--below 0.9`` prints only
what is slower than that part of the peer.
"""

import argparse
import collections
import math

import numpy as np

import gpukern
from benchmarks.layouts import broadcast, device_seconds, host_seconds, permuted

SIDE = 4096  # of square arrays on a GPU
HOST_SIDE = 1000
DTYPES = "float32", "float16", "float64", "uint8"
HOST_DTYPES = "float32", "float64", "int16", "uint8", "complex64"

# `written` holds the result; None: the calls return it.
Call = collections.namedtuple("Call", "name written ours theirs")


def layouts(make, n):
    """Return arrays by name; ``make`` gives one of a shape."""
    return {
        "C order": lambda: make(n, n),
        "transposed": lambda: make(n, n).T,
        "axes reversed": lambda: permuted(make(4, n, n // 4), 2, 1, 0),
        "channels last": lambda: permuted(make(n, n // 3, 3), 2, 0, 1),
        "3 x 3 transposed": lambda: permuted(make(n * n // 9, 3, 3), 0, 2, 1),
        "four axes permuted": lambda: permuted(make(16, n // 4, 16, n // 64), 2, 0, 3, 1),
        "3 of 4 columns": lambda: make(n * n // 4, 4)[:, :3],
        "5 of 8 columns": lambda: make(n * n // 8, 8)[:, 1:6],
        "every second column": lambda: make(n, 2 * n)[:, ::2],
        "every second row": lambda: make(2 * n, n)[::2],
        "columns of a wider array": lambda: make(n, n + 5)[:, :n],
        "repeated row": lambda: broadcast(make(n), (n, n)),
        "repeated column": lambda: broadcast(make(n, 1), (n, n)),
        "not aligned to words": lambda: make(n * n + 1)[1:].reshape(n, n),
    }


def host_layouts(make, n):
    """Return those that only NumPy has."""

    def field():
        records = np.zeros((n, n), [("a", make(1).dtype), ("b", "i1")])
        records["a"] = make(n, n)
        return records["a"]

    return {
        "reversed": lambda: make(n, n)[::-1, ::-1],
        "reversed columns": lambda: make(n, n)[:, ::-1],
        "field of packed records": field,
    }


def device_calls(x):
    """Return the calls with a CUDA tensor."""
    import torch

    def integers(end, *shape):
        return torch.randint(0, end, shape, device="cuda")

    rows, columns = len(x), x.shape[-1]
    some_rows, some_columns = integers(rows, rows), integers(columns, columns)
    each = torch.randperm(rows, device="cuda")
    along = {axis: integers(x.shape[axis], *x.shape) for axis in (0, -1)}
    out = torch.zeros(x.shape, dtype=x.dtype, device="cuda")
    y = integers(8, *x.shape).to(x.dtype)
    ones = torch.ones_like(out)
    clip = {"mode": "clip"}
    take, scatter = gpukern.take_along_axis, gpukern.scatter
    calls = [
        Call("gather, first axis", out, lambda: gpukern.gather(x, some_rows, out=out, **clip),
             lambda: torch.index_select(x, 0, some_rows, out=out)),
        Call("gather, last axis", out,
             lambda: gpukern.gather(x, some_columns, axis=-1, out=out, **clip),
             lambda: torch.index_select(x, x.ndim - 1, some_columns, out=out)),
        Call("copyto from", out, lambda: gpukern.copyto(out, x), lambda: out.copy_(x)),
        Call("count_nonzero", None, lambda: gpukern.count_nonzero(x),
             lambda: torch.count_nonzero(x).item()),
    ]  # fmt: skip
    if x.is_floating_point():
        calls += [
            Call("saxpy", out, lambda: gpukern.saxpy(2, x, y, out=out),
                 lambda: torch.add(y, x, alpha=2, out=out)),
            Call("fma", out, lambda: gpukern.fma(x, y, y, out=out),
                 lambda: torch.addcmul(y, x, y, out=out)),
        ]  # fmt: skip
    calls += [
        Call(f"take_along_axis, {axis}", out,
             lambda k=k, axis=axis: take(x, k, axis, out=out, **clip),
             lambda k=k, axis=axis: torch.gather(x, axis, k, out=out))
        for axis, k in along.items()
    ]  # fmt: skip
    if 0 in x.stride():
        return calls
    calls += [
        Call("copyto to", x, lambda: gpukern.copyto(x, y), lambda: x.copy_(y)),
        Call("scatter", x, lambda: scatter(x, each, y, **clip), lambda: x.index_copy_(0, each, y)),
        Call("scatter, unique", x, lambda: scatter(x, each, y, unique=True, **clip),
             lambda: x.index_copy_(0, each, y)),
        Call("scatter, add", x, lambda: scatter(x, each, y, reduce="add", **clip),
             lambda: x.index_add_(0, each, y)),
    ]  # fmt: skip
    if not x.is_floating_point():
        return calls
    put = gpukern.put_along_axis
    for axis, k in along.items():
        calls += [
            Call(f"put_along_axis, {axis}", x, lambda k=k, axis=axis: put(x, k, ones, axis, **clip),
                 lambda k=k, axis=axis: x.scatter_(axis, k, ones)),
            Call(f"the same, add in any order, {axis}", x,
                 lambda k=k, axis=axis: put(x, k, ones, axis, reduce="add", order="any", **clip),
                 lambda k=k, axis=axis: x.scatter_add_(axis, k, ones)),
        ]  # fmt: skip
    return calls


def host_calls(x):
    """Return the calls with a NumPy array."""
    rng = np.random.default_rng(1)
    some_rows = rng.integers(0, len(x), len(x))
    some_columns = rng.integers(0, x.shape[-1], x.shape[-1])
    along, anywhere = rng.integers(0, x.shape[-1], x.shape), rng.integers(0, x.size, x.shape)
    mask = rng.random(x.shape) < 0.3
    y = np.array(x, order="C")
    ones = np.ones(x.shape, x.dtype)
    calls = [
        Call("gather, first axis", None, lambda: gpukern.gather(x, some_rows),
             lambda: np.take(x, some_rows, 0)),
        Call("gather, last axis", None, lambda: gpukern.gather(x, some_columns, axis=-1),
             lambda: np.take(x, some_columns, -1)),
        Call("gather, axis=None", None, lambda: gpukern.gather(x, anywhere, axis=None),
             lambda: np.take(x, anywhere)),
        Call("take_along_axis", None, lambda: gpukern.take_along_axis(x, along, -1),
             lambda: np.take_along_axis(x, along, -1)),
        Call("compress, axis=None", None, lambda: gpukern.compress(mask.ravel(), x, axis=None),
             lambda: x[mask]),
        Call("count_nonzero", None, lambda: gpukern.count_nonzero(x), lambda: np.count_nonzero(x)),
    ]  # fmt: skip
    if x.dtype.kind in "fc":
        two = x.dtype.type(2)
        calls += [Call("saxpy", None, lambda: gpukern.saxpy(two, x, y), lambda: two * x + y)]
    if 0 in x.strides:
        return calls
    scatter = gpukern.scatter
    return [
        *calls,
        Call("copyto to", x, lambda: gpukern.copyto(x, y), lambda: np.copyto(x, y)),
        Call("scatter", x, lambda: scatter(x, some_rows, y), lambda: x.__setitem__(some_rows, y)),
        Call("scatter, add", x, lambda: scatter(x, some_rows, ones, reduce="add"),
             lambda: np.add.at(x, some_rows, ones)),
        Call("put_along_axis", x, lambda: gpukern.put_along_axis(x, along, ones, -1),
             lambda: np.put_along_axis(x, along, ones, -1)),
    ]  # fmt: skip


def result_of(call, run):
    """Return what a call gives, as an array that no later call changes."""
    if call.written is None:
        return run()
    call.written[...] = 0
    run()
    return call.written.copy() if isinstance(call.written, np.ndarray) else call.written.clone()


def measure(calls, dtype, name, seconds, below):
    """Print a line for each call that takes longer than that part of the peer's."""
    for call in calls:
        ours, theirs = (result_of(call, run) for run in (call.ours, call.theirs))
        same = ours == theirs
        assert same if isinstance(same, bool) else same.all(), (call.name, dtype, name)
        mine, peer = seconds(call.ours), seconds(call.theirs)
        if peer / mine < below:
            print(f"| {call.name} | {dtype} | {name} | {mine * 1e6:.1f} | {peer / mine:.2f} |",
                  flush=True)  # fmt: skip


def main(argv=None):
    """Measure on the GPU, or on the CPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="NumPy arrays")
    parser.add_argument("--side", type=int, help="the side of square arrays")
    parser.add_argument("--dtypes", nargs="+", help="names of dtypes")
    parser.add_argument("--below", type=float, default=math.inf, help="print only slower calls")
    arguments = parser.parse_args(argv)
    on_host = arguments.cpu or not gpukern.info()["devices"]
    calls, seconds = (host_calls, host_seconds) if on_host else (device_calls, device_seconds)
    side = arguments.side or (HOST_SIDE if on_host else SIDE)
    if on_host:
        gpukern.set_num_threads(1)  # as NumPy
    print("| call | dtype | layout | us | of the peer |\n|---|---|---|---:|---:|")
    for dtype in arguments.dtypes or (HOST_DTYPES if on_host else DTYPES):

        def make(*shape, dtype=dtype):
            if on_host:
                return np.random.default_rng(1).integers(0, 8, shape).astype(dtype)
            import torch

            return torch.randint(0, 8, shape, device="cuda").to(getattr(torch, dtype))

        of_host = host_layouts(make, side) if on_host else {}
        for name, array in {**layouts(make, side), **of_host}.items():
            measure(calls(array()), dtype, name, seconds, arguments.below)


if __name__ == "__main__":
    main()
