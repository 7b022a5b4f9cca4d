# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures gather of index sets that no choice between kernels was tuned for, on a GPU.

Each line compares gpukern with the fastest of ``torch.take``, ``torch.index_select`` and
``cupy.take``: float32 by int32, default mode ``raise`` of new results where the table says so,
else mode ``clip`` with ``out=``, as the peers are called. Needs torch; CuPy if it is installed.
"""

import argparse
import math

import torch

import gpukern
from benchmarks.layouts import device_seconds

try:
    import cupy
except ImportError:
    cupy = None

MI = 2**20


def uniform(n, m):
    """Return random indices."""
    return torch.randint(0, m, (n,), device="cuda", dtype=torch.int32)


def counted(n):
    """Return 0 to n - 1 as int64."""
    return torch.arange(n, device="cuda")


def walk(n, m, step):
    """Return every step-th index, modulo m."""
    return (counted(n) * step % m).int()


def hashed(n, m):
    """Return Fibonacci hashes of 0 to n - 1."""
    return ((counted(n) * 2654435769 % 2**32) * m // 2**32).int()


def powers(n, m, exponent):
    """Return m u^exponent of uniform u."""
    u = torch.rand(n, device="cuda", dtype=torch.float64)
    return (u**exponent * m).int().clamp_(max=m - 1)


def log_uniform(n, m):
    """Return exp(u log m) of uniform u, as int64."""
    u = torch.rand(n, device="cuda", dtype=torch.float64)
    return torch.exp(u * math.log(m)).long().clamp_(max=m - 1)


def mixed(n, m, first, second, run):
    """Return runs of two sets in turn."""
    use_first = counted(n) // run % 2 == 0
    return torch.where(use_first, first, second)


def index_sets(n, m):
    """Return functions that make n indices below m, by name, and whether these have no locality."""
    in_order = counted(n).int() % m
    random = uniform(n, m)
    return {
        "uniform": (lambda: random, True),
        "in order": (lambda: in_order, False),
        **{  # by 44792, the hashes of the sample come in bursts
            f"walk by {step}": (lambda step=step: walk(n, m, step), True)
            for step in (4097, 44792, 65537, 1000003, 12345677, m // 1618 * 1000 + 1, m // 2 + 33)
        },
        "walk by 7": (lambda: walk(n, m, 7), False),
        "walk by 33": (lambda: walk(n, m, 33), False),
        "hashed": (lambda: hashed(n, m), True),
        "transposed": (lambda: (in_order % 4096 * (m // 4096) + in_order // 4096).int(), True),
        "halves, one in order": (lambda: mixed(n, m, in_order, random, n // 2), False),
        "runs of 4 Ki, every second in order": (
            lambda: mixed(n, m, in_order, random, 4096),
            False,
        ),
        "every second in order": (lambda: mixed(n, m, in_order, random, 1), False),
        "every third in order": (
            lambda: torch.where(counted(n) % 3 == 0, in_order, random),
            False,
        ),
        "random pairs": (lambda: random[counted(n) // 2] // 2 * 2 + in_order % 2, False),
        "half equal": (lambda: mixed(n, m, torch.full_like(in_order, m // 3), random, 1), False),
        "m u^2": (lambda: powers(n, m, 2), True),
        "m u^4": (lambda: powers(n, m, 4), False),
        "m u^8": (lambda: powers(n, m, 8), False),
        "log-uniform": (lambda: log_uniform(n, m).int(), False),
        "log-uniform, scattered": (lambda: (log_uniform(n, m) * 2654435761 % m).int(), False),
        "in a window of 1 Mi": (lambda: uniform(n, MI) + m // 3, False),
        "in a window of 4 Mi": (lambda: uniform(n, 4 * MI) + m // 3, False),
        "in a window of 8 Mi": (lambda: uniform(n, 8 * MI) + m // 3, False),
        "windows of 1 Mi, in turn": (lambda: in_order // MI * MI + uniform(n, MI), False),
        "sorted": (lambda: random.sort().values, False),
        "reversed": (lambda: in_order.flip(0), False),
    }


def peers(source, index, out):
    """Return the calls of the peers by name."""
    wide = index.long()
    calls = {
        "torch.take": lambda: torch.take(source, wide, out=out),
        "torch.index_select": lambda: torch.index_select(source, 0, index, out=out),
    }
    if cupy is not None:
        arrays = [cupy.from_dlpack(array) for array in (source, index, out)]
        calls["cupy.take"] = lambda: cupy.take(arrays[0], arrays[1], out=arrays[2])
    return calls


def measure_sets(n, m):
    """Print a line for each index set."""
    source = torch.rand(m, device="cuda")
    out = torch.empty(n, device="cuda")
    print(f"\n{n // MI} Mi of {m // MI} Mi float32 by int32\n")
    print("| indices | Gitem/s | peer | its Gitem/s | ratio | of its parts |")
    print("|---|---:|---|---:|---:|---:|", flush=True)
    seconds = {}
    for name, (make, far) in index_sets(n, m).items():
        index = make()
        expected = source[index]
        times = {}
        for peer, call in peers(source, index, out).items():
            times[peer] = device_seconds(call)
        out.zero_()  # the peers' result would pass for gpukern's
        ours = device_seconds(lambda: gpukern.gather(source, index, mode="clip", out=out))  # noqa: B023
        assert torch.equal(out, expected), name
        del expected
        seconds[name] = ours
        best = min(times, key=times.get)
        parts = ""
        if "in order" in name and name != "in order":
            share = 1 / 3 if "third" in name else 1 / 2
            of_parts = share * seconds["in order"] + (1 - share) * seconds["uniform"]
            parts = f"{of_parts / ours:.2f}"
        print(f"| {name}{' (no locality)' if far else ''} | {n * 1e-9 / ours:.1f} | {best} "
              f"| {n * 1e-9 / times[best]:.1f} | {times[best] / ours:.2f} | {parts} |",
              flush=True)  # fmt: skip


def measure_small_calls(m):
    """Print a line for each size of a call that waits: mode raise, a new result."""
    source = torch.rand(m, device="cuda")
    print(f"\nA new result, out of {m // MI} Mi; x[i] and take check indices in their kernels\n")
    print("| indices | raise | clip | x[i] | take | x[i] + wait | of raise |")
    print("|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for n in (1000, 64 * 1024, MI):
        index = uniform(n, m)
        wide = index.long()
        times = [
            device_seconds(call) * 1e6
            for call in (
                lambda: gpukern.gather(source, index),  # noqa: B023
                lambda: gpukern.gather(source, index, mode="clip"),  # noqa: B023
                lambda: source[index],  # noqa: B023
                lambda: torch.take(source, wide),  # noqa: B023
                lambda: (source[index], torch.cuda.current_stream().synchronize()),  # noqa: B023
            )
        ]
        print(f"| {n} | " + " | ".join(f"{each:.1f} us" for each in times)
              + f" | {times[4] / times[0]:.2f} |", flush=True)  # fmt: skip


def measure_last_axis():
    """Print a line for each length of rows, gathered along the last axis."""
    print("\nAlong the last axis: as many indices as a row is long, one set for all rows\n")
    print("| rows | of | GB/s | of copy | of torch.index_select |\n|---:|---:|---:|---:|---:|")
    for length in (256, 4096, 16384, 32768, 49152, 65536, 131072):
        rows = 2**28 // length
        source = torch.rand(rows, length, device="cuda")
        out = torch.empty_like(source)
        index = uniform(length, length)
        copy = device_seconds(lambda: out.copy_(source))  # noqa: B023
        peer = device_seconds(lambda: torch.index_select(source, 1, index, out=out))  # noqa: B023
        out.zero_()
        ours = device_seconds(lambda: gpukern.gather(source, index, axis=1, mode="clip", out=out))  # noqa: B023
        assert torch.equal(out, source[:, index])
        print(f"| {rows} | {length} | {8e-9 * 2**28 / ours:.0f} | {copy / ours:.2f} "
              f"| {peer / ours:.2f} |", flush=True)  # fmt: skip


def measure_rows():
    """Print a line for each width of rows that is no multiple of 32 bytes.

    A bound is a copy of as many bytes as the sectors of 32 bytes, or the granules of 64 that DRAM
    reads at least, which hold a row have on average, with those of the index and the result.
    """
    print("\nRandom rows of float32, 1 GiB out of 8 GiB, and bounds by 32 and by 64 bytes\n")
    print("| bytes | GB/s | of copy | of 32 | of 64 | of the best peer |")
    print("|---:|---:|---:|---:|---:|---:|")
    for items in (5, 7, 12, 20, 25, 33, 50, 75):
        width = 4 * items
        count, total = 2**30 // width, 2**33 // width
        source = torch.rand(total, items, device="cuda")
        index = uniform(count, total)
        out = torch.empty(count, items, device="cuda")
        copied = torch.empty_like(out)
        copy = device_seconds(lambda: copied.copy_(out))  # noqa: B023
        calls = [lambda: torch.index_select(source, 0, index, out=out)]  # noqa: B023
        if cupy is not None:
            arrays = [cupy.from_dlpack(array) for array in (source, index, out)]
            calls.append(lambda: cupy.take(arrays[0], arrays[1], axis=0, out=arrays[2]))  # noqa: B023
        peer = min(device_seconds(call) for call in calls)
        out.zero_()
        ours = device_seconds(lambda: gpukern.gather(source, index, mode="clip", out=out))  # noqa: B023
        assert torch.equal(out, source[index])
        bounds = [copy * (read_in(width, unit) + width + 4) / (2 * width) for unit in (32, 64)]
        print(f"| {width} | {2e-9 * count * width / ours:.0f} | {copy / ours:.2f} "
              f"| {bounds[0] / ours:.2f} | {bounds[1] / ours:.2f} | {peer / ours:.2f} |",
              flush=True)  # fmt: skip


def read_in(width, unit):
    """Return the bytes of the whole units that hold a row, on average over packed rows."""
    starts = range(0, unit * width, width)
    units = [(start + width - 1) // unit - start // unit + 1 for start in starts]
    return unit * sum(units) / len(units)


def main(argv=None):
    """Measure on the GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="32 Mi indices and the last axis only")
    arguments = parser.parse_args(argv)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, gpukern "
          f"{gpukern.__version__}")  # fmt: skip
    sizes = ((128 * MI, 128 * MI), (8 * MI, 128 * MI), (32 * MI, 32 * MI))
    for n, m in sizes[-1:] if arguments.quick else sizes:
        measure_sets(n, m)
    measure_last_axis()
    if not arguments.quick:
        measure_small_calls(128 * MI)
        measure_rows()


if __name__ == "__main__":
    main()
