# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The program that runs under ncu: the main kernels, each on large data.

An empty kernel marks the start of each case in the profile. ``--list`` names the cases
in their order, without a GPU.
"""

import sys

from benchmarks.implementations.device import gather_gpukern, saxpy_gpukern
from benchmarks.measure.device import DeviceBench
from benchmarks.native import Native
from benchmarks.suites.cases import GI, MI, Gather, Saxpy

MEMORY = 14 * GI
BIG = 128 * MI
MARKER = "empty_kernel"
ROWS = (16, 32, 64, 128, 256, 1024, 4096)


def cases():
    """Yield (name, case, implementation) in the order of the run."""
    for dtype, n in (("float32", BIG), ("float16", 2 * BIG), ("complex128", BIG // 4)):
        case = Saxpy(dtype, n)
        yield case.label, case, saxpy_gpukern
    for path in ("direct", "partitioned"):
        for case in (
            Gather(BIG, BIG),
            Gather(GI, BIG),
            Gather(BIG, BIG, 8),
            Gather(BIG, BIG, index="int64"),
        ):
            yield f"{case.label}, {path}", case, gather_gpukern("clip", path)
    case = Gather(BIG, BIG)
    for mode in ("wrap", "fill", "raise"):
        yield f"{case.label}, direct, {mode}", case, gather_gpukern(mode, "direct")
    for width in ROWS:
        case = Gather(8 * GI // width, GI // width, width, rows=True)
        yield f"{case.label}, rows", case, gather_gpukern()


def main(arguments):
    """Run every case once, or list them."""
    if "--list" in arguments:
        print(*(name for name, _, _ in cases()), sep="\n")
        return 0
    native = Native()
    native.open()
    bench = DeviceBench(native, native.allocate(MEMORY), MEMORY, 1, {}, {})
    for _, case, make in cases():
        _, sets = bench.operands(None, case)
        call = make(bench, case, sets[0])
        native.enqueue("empty")
        call()
        native.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
