# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: measures gpukern, its peers and the ceilings in one process.

Writes results.json (after every point, so that a run cut short loses nothing), tables.md and plots.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks import libraries, report
from benchmarks.cases import label
from benchmarks.machine import describe_machine, gpu_state
from benchmarks.measure import SCRATCH, Bench, TooLargeError, measure
from benchmarks.native import BenchError, Native
from benchmarks.progress import Progress
from benchmarks.suites import SUITES, tables_of

# Of the free memory; the rest is for the peers' results and for gpukern's scratch.
MEMORY_SHARE = 0.45
MOST_MEMORY = 56 * 2**30
QUICK_ROUNDS, FULL_ROUNDS = 7, 9


def parse(arguments):
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--suite", action="append", choices=list(SUITES), help="may be given again; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="the most important points only")
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS",
        help="start no further point after this; the least important points come last",
    )  # fmt: skip
    parser.add_argument(
        "--peers", default=",".join(libraries.NAMES), help="Python peers, default: %(default)s"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="a folder")
    parser.add_argument("--no-plots", action="store_true", help="write JSON and tables only")
    return parser.parse_args(arguments)


def open_bench(native, peers, rounds, classes=None):
    """Allocate the memory and open the peers."""
    native.open()
    size = min(int(native.free_bytes() * MEMORY_SHARE), MOST_MEMORY) // 4096 * 4096
    memory = libraries.Memory(native.allocate(size), size)
    found, missing = libraries.open_libraries(memory, native.stream, peers, classes)
    l2_bytes = native.attribute("l2_bytes")
    return Bench(native, memory.address, size, l2_bytes, found, missing, rounds)


def save(path, results):
    """Write JSON so that there is a whole file at any moment."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    os.replace(partial, path)


def run(bench, tables, results, path, time_limit=None, stream=None):
    """Measure the cases, the important ones first; return False if the GPU was lost."""
    order = [(case.priority, table, case) for table in tables for case in table.cases]
    order.sort(key=lambda each: each[0])
    progress = Progress(len(order), stream)
    save(path, results)
    for _, table, case in order:
        if time_limit is not None and progress.elapsed() > time_limit:
            results["dropped"].append({"case": label(case), "reason": "time limit"})
            continue
        progress.show(label(case))
        try:
            results["points"].append(measure(bench, table, case))
        except TooLargeError as error:
            results["dropped"].append({"case": label(case), "reason": str(error)})
        except BenchError as error:
            results["dropped"].append({"case": label(case), "reason": str(error)})
            results["lost"] = f"{label(case)}: {error}"
            save(path, results)
            progress.finish(f"stopped: {error}")
            return False
        progress.step()
        save(path, results)
    save(path, results)
    progress.finish()
    return True


def new_results(bench, tables, settings):
    """Return what JSON has before the first point."""
    return {
        "schema": 1,
        "machine": describe_machine(bench.libraries, bench.missing),
        "settings": settings,
        "tables": [
            {"name": t.name, "title": t.title, "unit": t.unit, "note": t.note,
             "implementations": list(t.implementations)}
            for t in tables
        ],
        "points": [],
        "dropped": [],
    }  # fmt: skip


def main(arguments=None):
    """Run, write, and return the exit status."""
    options = parse(arguments)
    tables = tables_of(options.suite or list(SUITES), options.quick)
    try:
        native = Native()
        bench = open_bench(
            native, options.peers.split(","), QUICK_ROUNDS if options.quick else FULL_ROUNDS
        )
    except BenchError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    settings = {
        "quick": options.quick,
        "suites": options.suite or list(SUITES),
        "rounds": bench.rounds,
        "memory": bench.size - SCRATCH,
        "l2_bytes": bench.l2_bytes,
    }
    results = new_results(bench, tables, settings)
    alive = run(bench, tables, results, options.out / "results.json", options.time_limit)
    results["gpu_state_after"] = gpu_state()
    save(options.out / "results.json", results)
    for path in report.write(results, options.out, plots=not options.no_plots):
        print(path)
    return 0 if alive else 1


if __name__ == "__main__":
    sys.exit(main())
