# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: measures gpukern, its peers and the ceilings in one process.

The suite ``host`` needs no GPU; with one, it has more tables.

Writes results.json (after every point, so that an interrupted run loses nothing), tables.md,
summary.json and plots.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks import libraries, report
from benchmarks.c_api import BenchError
from benchmarks.implementations import implementations_of
from benchmarks.implementations.base import OURS, VARIANT
from benchmarks.machine import describe_machine, gpu_state
from benchmarks.measure.device import DeviceBench
from benchmarks.measure.host import HostBench
from benchmarks.measure.loop import TooLargeError, measure
from benchmarks.native import Native
from benchmarks.progress import Progress
from benchmarks.suites import SUITES, tables_of
from benchmarks.suites.cases import DEVICE, HOST

# The share of the free memory; the rest is for the peers' results and for gpukern's scratch memory.
MEMORY_SHARE = 0.45
MOST_MEMORY = 56 * 2**30
QUICK_ROUNDS, FULL_ROUNDS = 7, 9
PEERS = tuple(libraries.LIBRARIES)


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
        "--peers", default=",".join(PEERS), help="Python peers (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="a folder")
    parser.add_argument("--no-plots", action="store_true", help="write JSON and tables only")
    return parser.parse_args(arguments)


def open_benches(tables, peers, rounds, native=None, classes=None):
    """Allocate the memory and open the peers; return the benches that the tables need."""
    memories = [memory for memory in (DEVICE, HOST) if any(t.memory == memory for t in tables)]
    needed = dict.fromkeys(name for memory in memories for name in libraries.NAMES[memory])
    block, stream = None, 0
    if DEVICE in memories:
        native = native or Native()
        native.open()
        size = min(int(native.free_bytes() * MEMORY_SHARE), MOST_MEMORY) // 4096 * 4096
        block, stream = libraries.Memory(native.allocate(size), size), native.stream
    wanted = [name for name in needed if name in peers]
    found, missing = libraries.open_libraries(wanted, block, stream, classes)
    missing |= {name: "not selected" for name in needed if name not in peers}
    benches = {}
    if block:
        benches[DEVICE] = DeviceBench(
            native, block.address, block.size, native.l2_bytes(), found, missing, rounds
        )
    if HOST in memories:
        host_tables = [table for table in tables if table.memory == HOST]
        benches[HOST] = HostBench(host_tables, found, missing, rounds)
    return benches


def save(path, results):
    """Write JSON atomically."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    os.replace(partial, path)


def run(benches, tables, results, path, time_limit=None, stream=None):
    """Measure the cases by priority; return False if the GPU was lost."""
    order = [(case.priority, table, case) for table in tables for case in table.cases]
    order.sort(key=lambda each: each[0])
    progress = Progress(len(order), stream)
    save(path, results)
    for _, table, case in order:
        if time_limit is not None and progress.elapsed() > time_limit:
            results["dropped"].append({"case": case.label, "reason": "time limit"})
            continue
        progress.show(case.label)
        try:
            bench, implementations = benches[case.memory], implementations_of(table, case)
            results["points"].append(measure(bench, table, case, implementations))
        except TooLargeError as error:
            results["dropped"].append({"case": case.label, "reason": str(error)})
        except BenchError as error:
            results["dropped"].append({"case": case.label, "reason": str(error)})
            results["lost"] = f"{case.label}: {error}"
            save(path, results)
            progress.finish(f"stopped: {error}")
            return False
        progress.step()
        save(path, results)
    save(path, results)
    progress.finish()
    return True


def new_results(benches, tables, options):
    """Return the contents of JSON before the first point."""
    bench = next(iter(benches.values()))
    settings = {**options, "rounds": bench.rounds}
    for each in benches.values():
        settings |= each.settings()
    return {
        "schema": 1,
        "machine": describe_machine(bench.libraries, bench.missing),
        "settings": settings,
        "tables": [table.header() for table in tables],
        "points": [],
        "dropped": [],
    }


def gpukern_is_right(results):
    """Whether gpukern failed nowhere, and none of its results is wrong."""
    ours = [
        result
        for point in results["points"]
        for result in point["results"].values()
        if result["role"] in (OURS, VARIANT)
    ]
    return not any("error" in each or each.get("right") is False for each in ours)


def main(arguments=None):
    """Run, write, and return the exit status: 1 if gpukern was wrong or the GPU was lost."""
    options = parse(arguments)
    tables = tables_of(options.suite or list(SUITES), options.quick)
    rounds = QUICK_ROUNDS if options.quick else FULL_ROUNDS
    try:
        benches = open_benches(tables, options.peers.split(","), rounds)
    except BenchError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = {"quick": options.quick, "suites": options.suite or list(SUITES)}
    results = new_results(benches, tables, chosen)
    alive = run(benches, tables, results, options.out / "results.json", options.time_limit)
    results["gpu_state_after"] = gpu_state()
    save(options.out / "results.json", results)
    for path in report.write(results, options.out, plots=not options.no_plots):
        print(path)
    return 0 if alive and gpukern_is_right(results) else 1


if __name__ == "__main__":
    sys.exit(main())
