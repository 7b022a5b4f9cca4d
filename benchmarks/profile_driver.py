# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The program that profile_ncu.py runs under ncu: the main kernels, each on large data.

An empty kernel before each case tells the profile where the case begins. ``--list`` names the cases
in their order, without a GPU.
"""

import sys
from types import SimpleNamespace

from benchmarks.cases import GI, MI, Gather, Saxpy, label
from benchmarks.implementations import gather_gpukern, saxpy_gpukern
from benchmarks.measure import Bench, gather_operands, saxpy_operands
from benchmarks.native import Native

MEMORY = 14 * GI
BIG = 128 * MI
MARKER = "empty_kernel"
ROWS = (16, 32, 64, 128, 256, 1024, 4096)


def cases():
    """Yield (name, case, implementation) in the order of the run."""
    for dtype, n in (("float32", BIG), ("float16", 2 * BIG), ("complex128", BIG // 4)):
        case = Saxpy(dtype, n)
        yield label(case), case, saxpy_gpukern
    for path in ("direct", "partitioned"):
        for case in (
            Gather(BIG, BIG),
            Gather(GI, BIG),
            Gather(BIG, BIG, 8),
            Gather(BIG, BIG, index="int64"),
        ):
            yield f"{label(case)}, {path}", case, gather_gpukern("clip", path)
    case = Gather(BIG, BIG)
    for mode in ("wrap", "fill", "raise"):
        yield f"{label(case)}, direct, {mode}", case, gather_gpukern(mode, "direct")
    for width in ROWS:
        case = Gather(8 * GI // width, GI // width, width, rows=True)
        yield f"{label(case)}, rows", case, gather_gpukern()


def main(arguments):
    """Run every case once, or list them."""
    if "--list" in arguments:
        print(*(name for name, _, _ in cases()), sep="\n")
        return 0
    native = Native()
    native.open()
    bench = Bench(native, native.allocate(MEMORY), MEMORY, 1, {}, {})
    for _, case, make in cases():
        operands = saxpy_operands if isinstance(case, Saxpy) else gather_operands
        _, sets = operands(bench, case)
        native.synchronize()
        call = make(bench, case, SimpleNamespace(**vars(sets[0])))
        native.enqueue("empty")
        call()
        native.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
