# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures random calls on a GPU, beside the function of torch that does the same.

``python -m benchmarks.random_calls`` needs torch and a GPU. The arguments of a call depend on the
seed and the call's number only, whatever ``--operation`` selects, so that ``--against FILE`` can
compare a run with an earlier one call by call. ``--seconds 0`` measures nothing and reports the
calls that DIR has. Results are not compared: the tests do that.
"""

import argparse
import collections
import dataclasses
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gpukern
from benchmarks.layouts import device_seconds
from benchmarks.machine import commit
from benchmarks.random_arguments import (
    DTYPES,
    Choices,
    choose_along,
    choose_bags,
    choose_bincount,
    choose_compress,
    choose_count,
    choose_elementwise,
    choose_gather,
    choose_gather_tuple,
    choose_nonzero,
    choose_scatter,
    choose_segments,
)

HEAD_START = 300_000  # cycles of the GPU in which the host enqueues a batch
QUANTILES = 0, 0.05, 0.25, 0.5, 0.95
WORST = 4  # calls of each operation that are printed, if torch's are faster
CHANGED = 20  # calls that are printed by --against


@dataclasses.dataclass(frozen=True)
class Operation:
    """How to choose its arguments; gpukern's call and torch's; whether these wait on the host."""

    choose: Callable
    calls: Callable
    waits: bool = False


CLIP = {"mode": "clip"}
MULTIPLY = gpukern.elementwise("x * y")
# fmt: off
OPERATIONS = {
    "saxpy": Operation(choose_elementwise("x", "y"), lambda torch, x, y, out: (
        lambda: gpukern.saxpy(2.0, x, y, out=out),
        lambda: torch.add(y, x, alpha=2, out=out))),
    "axpby": Operation(choose_elementwise("x", "y"), lambda torch, x, y, out: (
        lambda: gpukern.axpby(0.75, x, 0.25, y, out=out),
        lambda: torch.lerp(x, y, 0.25, out=out))),
    "fma": Operation(choose_elementwise("x", "y", "z"), lambda torch, x, y, z, out: (
        lambda: gpukern.fma(x, y, z, out=out),
        lambda: torch.addcmul(z, x, y, out=out))),
    "elementwise": Operation(choose_elementwise("x", "y"), lambda torch, x, y, out: (
        lambda: MULTIPLY(x, y, out=out),
        lambda: torch.mul(x, y, out=out))),
    "copyto": Operation(choose_elementwise("x", dtypes=DTYPES), lambda torch, x, out: (
        lambda: gpukern.copyto(out, x),
        lambda: out.copy_(x))),
    "gather": Operation(choose_gather, lambda torch, x, index, axis, out: (
        lambda: gpukern.gather(x, index, axis=axis, out=out, **CLIP),
        lambda: torch.index_select(x, axis, index, out=out))),
    "gather_tuple": Operation(choose_gather_tuple, lambda torch, x, **indices: (
        lambda: gpukern.gather(x, tuple(indices.values()), **CLIP),
        lambda: x[tuple(indices.values())])),
    "take_along_axis": Operation(choose_along("x", "out"), lambda torch, x, index, axis, out: (
        lambda: gpukern.take_along_axis(x, index, axis, out=out, **CLIP),
        lambda: torch.gather(x, axis, index, out=out))),
    "put_along_axis": Operation(choose_along("x", "values"), lambda torch, x, index, axis, values: (
        lambda: gpukern.put_along_axis(x, index, values, axis, **CLIP),
        lambda: x.scatter_(axis, index, values))),
    "scatter": Operation(choose_scatter, lambda torch, target, index, values, axis: (
        lambda: gpukern.scatter(target, index, values, axis=axis, reduce="add", order="any",
                                **CLIP),
        lambda: target.index_add_(axis, index, values))),
    "bincount": Operation(choose_bincount, waits=True, calls=lambda torch, index, bins: (
        lambda: gpukern.bincount(index, size=bins),
        lambda: torch.bincount(index, minlength=bins))),
    "compress": Operation(choose_compress, waits=True, calls=lambda torch, mask, x: (
        lambda: gpukern.compress(mask, x),
        lambda: torch.masked_select(x, mask))),
    "nonzero": Operation(choose_nonzero, waits=True, calls=lambda torch, mask: (
        lambda: gpukern.nonzero(mask),
        lambda: torch.nonzero(mask, as_tuple=True))),
    "count_nonzero": Operation(choose_count, waits=True, calls=lambda torch, x: (
        lambda: gpukern.count_nonzero(x),
        lambda: torch.count_nonzero(x).item())),
    "segment_reduce": Operation(
        choose_segments, waits=True, calls=lambda torch, x, offsets, reduce: (
            lambda: gpukern.segment_reduce(x, offsets, reduce=reduce),
            lambda: torch.segment_reduce(x, reduce, offsets=offsets))),
    "gather_reduce": Operation(
        choose_bags, waits=True, calls=lambda torch, x, index, offsets, reduce: (
            lambda: gpukern.gather_reduce(x, index, offsets, reduce=reduce, **CLIP),
            lambda: torch.nn.functional.embedding_bag(
                index, x, offsets, mode=reduce, include_last_offset=True))),
}
# fmt: on


@dataclasses.dataclass(frozen=True)
class Call:
    """A measured call; times are microseconds."""

    number: int
    operation: str
    arguments: str
    ours: float
    theirs: float

    @property
    def of_torch(self):
        """Torch's time over gpukern's."""
        return self.theirs / self.ours

    def __str__(self):
        times = f"{self.of_torch:.3f} {self.ours:.2f} {self.theirs:.2f}"
        return f"{self.number} {times} {self.operation} {self.arguments}"


def read(path):
    """Return the calls of a file."""
    calls = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        try:
            number, _, ours, theirs, operation, arguments = line.split(maxsplit=5)
            calls.append(Call(int(number), operation, arguments, float(ours), float(theirs)))
        except ValueError:
            raise ValueError(f"{path} has a line that is no call: {line}") from None
    return calls


def choose(seed, number):
    """Return the operation of a call, its arguments, and a seed for their values."""
    choices = Choices(seed, number)
    name = choices.one_of(tuple(OPERATIONS))
    values_seed = int(choices.rng.integers(2**62))
    return name, OPERATIONS[name].choose(choices), values_seed


def measure_call(operation, arguments, values_seed):
    """Return the microseconds of gpukern and of torch."""
    import torch

    torch.manual_seed(values_seed)
    made = {
        name: value.make() if hasattr(value, "make") else value for name, value in arguments.items()
    }
    ahead = 0 if operation.waits else HEAD_START
    calls = operation.calls(torch, **made)
    return [device_seconds(call, batches=5, calls=3, ahead=ahead) * 1e6 for call in calls]


def measure(seed, seconds, names, path):
    """Measure calls while time allows, write them, and return them and the errors of others."""
    import torch

    calls, errors = [], collections.Counter()
    end, number = time.perf_counter() + seconds, -1
    with path.open("w", encoding="utf-8") as file:
        print(f"# seed {seed}, {torch.cuda.get_device_name()}, torch {torch.__version__}, gpukern "
              f"{gpukern.__version__} {commit()}", file=file)  # fmt: skip
        while time.perf_counter() < end:
            number += 1
            name, arguments, values_seed = choose(seed, number)
            if name not in names:
                continue
            try:
                times = measure_call(OPERATIONS[name], arguments, values_seed)
            except Exception as error:
                errors[f"{name}: {type(error).__name__}: {str(error)[:100]}"] += 1
                torch.cuda.synchronize()  # raises if no call can follow
                continue
            text = "; ".join(f"{key}: {value}" for key, value in arguments.items())
            calls.append(Call(number, name, text, *times))
            print(calls[-1], file=file, flush=True)
    return calls, errors


def by_operation(calls):
    """Return lists of calls by operation."""
    found = {name: [call for call in calls if call.operation == name] for name in OPERATIONS}
    return {name: each for name, each in found.items() if each}


def report(calls):
    """Yield the quantiles and the worst calls as Markdown."""
    yield "| operation | calls | of torch: worst | 5 % | 25 % | median | 95 % |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, each in by_operation(calls).items():
        found = np.quantile([call.of_torch for call in each], QUANTILES)
        yield f"| {name} | {len(each)} | {' | '.join(f'{value:.2f}' for value in found)} |"
    yield ""
    yield "| operation | call | us | of torch | arguments |"
    yield "|---|---:|---:|---:|---|"
    for name, each in by_operation(calls).items():
        for call in sorted(each, key=lambda call: call.of_torch)[:WORST]:
            if call.of_torch < 1:
                yield (f"| {name} | {call.number} | {call.ours:.1f} | {call.of_torch:.2f} "
                       f"| {call.arguments} |")  # fmt: skip


def compare(old, new):
    """Yield how the times of the calls in both changed, as Markdown."""
    before = {(call.number, call.operation, call.arguments): call.ours for call in old}
    factors = {}
    for call in new:
        key = call.number, call.operation, call.arguments
        if key in before:
            factors[call] = call.ours / before[key]
    yield f"{len(factors)} calls in both, of {len(old)} old and {len(new)} new ones."
    yield ""
    yield "| operation | calls | new time of old |"
    yield "|---|---:|---:|"
    for name, each in by_operation(factors).items():
        mean = statistics.geometric_mean([factors[call] for call in each])
        yield f"| {name} | {len(each)} | {mean:.3f} |"
    yield ""
    yield "| operation | call | us | new time of old | arguments |"
    yield "|---|---:|---:|---:|---|"
    for call in sorted(factors, key=lambda call: -abs(math.log(factors[call])))[:CHANGED]:
        yield (f"| {call.operation} | {call.number} | {call.ours:.1f} | {factors[call]:.2f} "
               f"| {call.arguments} |")  # fmt: skip


def what_is_missing():
    """Return what measurements need and this machine lacks, or None."""
    try:
        import torch
    except ModuleNotFoundError as error:
        return f"needs {error.name}: pip install {error.name}"
    if not gpukern.info()["devices"]:
        return f"needs a GPU: {gpukern.info()['cuda']['reason']}"
    return None if torch.cuda.is_available() else "needs a torch that can use the GPU"


def main(argv=None):
    """Measure on the GPU, report, and compare with an earlier run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=120, help="default: %(default)s")
    parser.add_argument("--operation", nargs="+", choices=OPERATIONS, default=list(OPERATIONS),
                        metavar="NAME", help=f"of {', '.join(OPERATIONS)}")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("build/bench"), metavar="DIR",
                        help="a folder for random_calls.txt; default: %(default)s")  # fmt: skip
    parser.add_argument("--against", type=Path, metavar="FILE", help="one of an earlier run")
    options = parser.parse_args(argv)
    if options.seed < 0:
        parser.error(f"--seed must be 0 or more, got {options.seed}")
    path, errors = options.out / "random_calls.txt", {}
    try:
        old = read(options.against) if options.against else None  # it may be the one written below
        calls = None if options.seconds else read(path)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if calls is None:
        if missing := what_is_missing():
            parser.error(missing)
        options.out.mkdir(parents=True, exist_ok=True)
        calls, errors = measure(options.seed, options.seconds, options.operation, path)
    print("\n".join(report(calls)))
    for error, count in errors.items():
        print(f"{count} not measured: {error}")
    if old is not None:
        print("\n" + "\n".join(compare(old, calls)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
