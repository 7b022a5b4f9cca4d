# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the operations along each axis of tensors on a GPU, beside torch.

``python -m benchmarks.axis_operations`` needs torch. Each line is compared with torch's result
first. ``--below 0.9`` prints only what is slower than that part of torch.
"""

import argparse
import math

import gpukern
from benchmarks.layout_operations import Call, measure
from benchmarks.layouts import device_seconds

DTYPES = "float32", "float16"
AXES = (
    ((256, 256, 256), 0),
    ((256, 256, 256), 1),
    ((256, 256, 256), 2),
    ((64, 1000, 64), 1),
    ((16, 64, 16384), 1),
    ((1 << 16, 20, 16), 1),
    ((1 << 18, 64), 1),
    ((1 << 20, 4), 1),
    ((20_000, 1000), 1),
    ((100, 20_000), 0),
)
UPDATES = 10_000, 100_000, 1 << 20
KEYS = 3, 1000, 1 << 20


def integers(end, *shape):
    """Return random integers on the GPU."""
    import torch

    return torch.randint(0, end, shape, device="cuda")


def signs(x, *shape):
    """Return values whose sums, in any order, every dtype holds."""
    return (2 * integers(2, *shape) - 1).to(x.dtype)


def calls_along(x, axis):
    """Return the calls along an axis: by one index, and by one for each line."""
    import torch

    n = x.shape[axis]
    each, some, most = torch.randperm(n, device="cuda"), integers(n, n), integers(n, 4 * n)
    one = torch.zeros_like(most)
    lines = integers(n, *x.shape)
    out, ones, values = torch.zeros_like(x), torch.ones_like(x), signs(x, *x.shape)
    four = signs(x, *(4 * size if d == axis else size for d, size in enumerate(x.shape)))
    clip = {"axis": axis, "mode": "clip"}
    scatter, put = gpukern.scatter, gpukern.put_along_axis
    calls = [
        Call("gather", out, lambda: gpukern.gather(x, some, out=out, **clip),
             lambda: torch.index_select(x, axis, some, out=out)),
        Call("scatter", x, lambda: scatter(x, each, ones, **clip),
             lambda: x.index_copy_(axis, each, ones)),
        Call("scatter, add", x, lambda: scatter(x, some, values, reduce="add", **clip),
             lambda: x.index_add_(axis, some, values)),
        Call("scatter, add 4 for each", x, lambda: scatter(x, most, four, reduce="add", **clip),
             lambda: x.index_add_(axis, most, four)),
        Call("scatter, add all to one", x, lambda: scatter(x, one, four, reduce="add", **clip),
             lambda: x.index_add_(axis, one, four)),
        Call("take_along_axis", out, lambda: gpukern.take_along_axis(x, lines, out=out, **clip),
             lambda: torch.gather(x, axis, lines, out=out)),
        Call("put_along_axis", x, lambda: put(x, lines, ones, **clip),
             lambda: x.scatter_(axis, lines, ones)),
        Call("put_along_axis, add", x, lambda: put(x, lines, values, reduce="add", **clip),
             lambda: x.scatter_add_(axis, lines, values)),
    ]  # fmt: skip
    if n % 4 == 0:
        offsets = torch.arange(0, n + 1, n // 4, device="cuda")
        parts = x.unflatten(axis, (4, n // 4))
        calls.append(
            Call("segment_reduce, 4 segments", None,
                 lambda: gpukern.segment_reduce(x, offsets, axis=axis),
                 lambda: parts.sum(axis + 1)))  # fmt: skip
    return calls


def calls_of(x, count, keys):
    """Return the calls with `count` single updates of some of the elements of a vector."""
    import torch

    index = integers(keys, count)
    ones, values = torch.ones(count, dtype=x.dtype, device="cuda"), signs(x, count)
    return [
        Call("scatter", x, lambda: gpukern.scatter(x, index, ones, mode="clip"),
             lambda: x.index_copy_(0, index, ones)),
        Call("scatter, add", x,
             lambda: gpukern.scatter(x, index, values, reduce="add", mode="clip"),
             lambda: x.index_add_(0, index, values)),
    ]  # fmt: skip


def main(argv=None):
    """Measure on the GPU."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, help="names of dtypes")
    parser.add_argument("--below", type=float, default=math.inf, help="print only slower calls")
    arguments = parser.parse_args(argv)
    print("| call | dtype | shape and axis, or updates and keys | us | of torch |")
    print("|---|---|---|---:|---:|")
    for dtype in arguments.dtypes:
        torch_dtype = getattr(torch, dtype)
        for shape, axis in AXES:
            x = integers(2, *shape).to(torch_dtype)
            name = f"{shape}, {axis}"
            measure(calls_along(x, axis), dtype, name, device_seconds, arguments.below)
        for count in UPDATES:
            for keys in KEYS:
                x = integers(2, max(KEYS)).to(torch_dtype)
                name = f"{count}, {keys}"
                measure(calls_of(x, count, keys), dtype, name, device_seconds, arguments.below)


if __name__ == "__main__":
    main()
