# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: measures gpukern, its peers and the ceilings in one process.

The suite ``host`` needs no GPU; with one, it has more tables.

Writes results.json (after every point, so that a run cut short loses nothing), tables.md and plots.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import gpukern
from benchmarks import host_libraries, libraries, report
from benchmarks.cases import label
from benchmarks.host_measure import HostBench
from benchmarks.machine import describe_machine, gpu_state
from benchmarks.measure import Bench, TooLargeError
from benchmarks.native import BenchError, Native
from benchmarks.progress import Progress
from benchmarks.suites import SUITES, tables_of

# Of the free memory; the rest is for the peers' results and for gpukern's scratch.
MEMORY_SHARE = 0.45
MOST_MEMORY = 56 * 2**30
QUICK_ROUNDS, FULL_ROUNDS = 7, 9
PEERS = tuple(dict.fromkeys(libraries.NAMES + host_libraries.NAMES))


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
        "--peers", default=",".join(PEERS), help="Python peers, default: %(default)s"
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


def open_host_bench(tables, peers, rounds, classes=None):
    """Make the arrays for some tables and open the peers on the host."""
    gpu = bool(gpukern.info()["devices"])
    found, missing = host_libraries.open_libraries(gpu, peers, classes)
    return HostBench(tables, found, missing, rounds)


@dataclass
class Benches:
    """The bench of the GPU and that of the host, in one run."""

    device: Bench
    host: HostBench

    def __post_init__(self):
        self.rounds = self.device.rounds
        self.libraries = {**self.device.libraries, **self.host.libraries}
        self.missing = {**self.host.missing, **self.device.missing}

    def measure(self, table, case):
        """Return the point that JSON gets for a case."""
        return (self.host if table.host else self.device).measure(table, case)

    def settings(self):
        """Return what JSON has of both."""
        return {**self.device.settings(), **self.host.settings()}


def open_benches(tables, peers, rounds):
    """Open what the tables need."""
    host = [table for table in tables if table.host]
    device = open_bench(Native(), peers, rounds) if len(host) < len(tables) else None
    if not host:
        return device
    host = open_host_bench(host, peers, rounds)
    return Benches(device, host) if device else host


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
            results["points"].append(bench.measure(table, case))
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
    rounds = QUICK_ROUNDS if options.quick else FULL_ROUNDS
    try:
        bench = open_benches(tables, options.peers.split(","), rounds)
    except BenchError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    settings = {
        "quick": options.quick,
        "suites": options.suite or list(SUITES),
        "rounds": bench.rounds,
        **bench.settings(),
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
