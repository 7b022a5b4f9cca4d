# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures axpby, fma, the mixed dtypes of saxpy and saxpy_many on a GPU, beside torch's nearest.

``python -m benchmarks.arithmetic`` needs torch and a GPU. The bytes are those of the elements that
the operands and the output hold, each once. Results are compared with torch's. ``--lists`` measures
saxpy_many only: calls in place that follow one another, so that the host or the GPU is the limit;
``--side`` does not apply.
"""

import argparse

import torch

import gpukern
from benchmarks.layouts import device_seconds

SIDE = 16384  # of square arrays


def cases(n):
    """Return names, operands whose elements count, outputs, our calls and torch's on them."""

    def make(*shape, dtype=torch.float32):
        return torch.randn(shape, device="cuda").to(dtype)

    x, y, z, out = (make(n, n) for _ in range(4))
    one, row, column = make(1)[0], make(1, n), make(n, 1)
    hx, hy, hout = (make(n, n, dtype=torch.bfloat16) for _ in range(3))
    dx, dy, dz, dz_out = (make(n // 2, n, dtype=torch.float64) for _ in range(4))
    saxpy, axpby, fma = gpukern.saxpy, gpukern.axpby, gpukern.fma
    # fmt: off
    return [
        ("saxpy", (x, y), out, lambda: saxpy(2.0, x, y, out=out),
         lambda: torch.add(y, x, alpha=2, out=out)),
        ("saxpy, a on the GPU", (x, y), out, lambda: saxpy(one, x, y, out=out),
         lambda: torch.addcmul(y, one, x, out=out)),
        ("saxpy, a for each row", (x, y), out, lambda: saxpy(column, x, y, out=out),
         lambda: torch.addcmul(y, column, x, out=out)),
        ("saxpy, bfloat16 onto float32", (hx, y), out, lambda: saxpy(2.0, hx, y, out=out),
         lambda: torch.add(y, hx, alpha=2, out=out)),
        ("saxpy, float32 onto bfloat16", (x, hy), hout, lambda: saxpy(2.0, x, hy, out=hout),
         lambda: torch.add(hy, x, alpha=2, out=hout)),
        ("the same, stochastic", (x, hy), hout,
         lambda: saxpy(2.0, x, hy, out=hout, rounding="stochastic", seed=1), None),
        ("axpby", (x, y), out, lambda: axpby(0.75, x, 0.25, y, out=out),
         lambda: torch.lerp(x, y, 0.25, out=out)),
        ("axpby of bfloat16", (hx, hy), hout, lambda: axpby(0.75, hx, 0.25, hy, out=hout),
         lambda: torch.lerp(hx, hy, 0.25, out=hout)),
        ("fma", (x, y, z), out, lambda: fma(x, y, z, out=out),
         lambda: torch.addcmul(z, x, y, out=out)),
        ("fma, x transposed, y a row", (x, z), out, lambda: fma(x.T, row, z, out=out),
         lambda: torch.addcmul(z, x.T, row, out=out)),
        ("fma, y a column, z a row", (x,), out, lambda: fma(x, column, row, out=out),
         lambda: torch.addcmul(row, x, column, out=out)),
        ("fma of float64", (dx, dy, dz), dz_out, lambda: fma(dx, dy, dz, out=dz_out),
         lambda: torch.addcmul(dz, dx, dy, out=dz_out)),
    ]
    # fmt: on


# Arrays of a list, and elements of each.
LISTS = (
    (10, 1 << 12), (100, 1 << 12), (1000, 1 << 12), (1000, 1 << 8), (1000, 1 << 16), (100, 1 << 20),
    (3000, 1 << 14), (1000, 4097),
)  # fmt: skip


def measure_lists():
    """Print a line for each list of float32 arrays."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, gpukern "
          f"{gpukern.__version__}")  # fmt: skip
    print("| arrays | elements | saxpy_many, us | SaxpyList, us | _foreach_add_, us "
          "| one saxpy, us | list of foreach | list of one |\n"
          "|---:|---:|---:|---:|---:|---:|---:|---:|")  # fmt: skip
    for count, elements in LISTS:
        x, y, expected = (
            [torch.randn(elements, device="cuda") for _ in range(count)] for _ in range(3)
        )
        for theirs, ours in zip(expected, y, strict=True):
            theirs.copy_(ours)
        gpukern.saxpy_many(0.5, x, y, out=y)
        for k in range(count):
            gpukern.saxpy(0.5, x[k], expected[k], out=expected[k])
        assert all(torch.equal(*pair) for pair in zip(y, expected, strict=True))
        one_x, one_y = (torch.randn(count * elements, device="cuda") for _ in range(2))
        prepared = gpukern.SaxpyList(x, y, y)
        many, checked, foreach, one = (
            device_seconds(call) * 1e6
            for call in (
                lambda x=x, y=y: gpukern.saxpy_many(1e-9, x, y, out=y),
                lambda prepared=prepared: prepared(1e-9),
                lambda x=x, y=y: torch._foreach_add_(y, x, alpha=1e-9),
                lambda x=one_x, y=one_y: gpukern.saxpy(1e-9, x, y, out=y),
            )
        )
        print(f"| {count} | {elements} | {many:.1f} | {checked:.1f} | {foreach:.1f} | {one:.1f} "
              f"| {foreach / checked:.2f} | {one / checked:.2f} |", flush=True)  # fmt: skip


def main(argv=None):
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=SIDE, help="the side of square arrays")
    parser.add_argument("--lists", action="store_true", help="measure saxpy_many only")
    given = parser.parse_args(argv)
    if given.lists:
        return measure_lists()
    side = given.side
    source, copied = (torch.zeros(side * side, device="cuda") for _ in range(2))
    copy_rate = 8 * side * side / device_seconds(lambda: copied.copy_(source))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, gpukern "
          f"{gpukern.__version__}, copy {copy_rate * 1e-9:.0f} GB/s")  # fmt: skip
    print("| case | GB/s | of copy | of torch |\n|---|---:|---:|---:|")
    for name, operands, out, ours, theirs in cases(side):
        ratio = "-"
        if theirs is not None:
            peer = device_seconds(theirs)
            expected = out.clone()
            out.zero_()  # the peer's result would pass for gpukern's
        seconds = device_seconds(ours)
        if theirs is not None:
            torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)
            ratio = f"{peer / seconds:.2f}"
        moved = sum(array.numel() * array.itemsize for array in (*operands, out))
        rate = moved / seconds
        print(f"| {name} | {rate * 1e-9:.0f} | {rate / copy_rate:.2f} | {ratio} |", flush=True)
    return measure_lists()


if __name__ == "__main__":
    main()
