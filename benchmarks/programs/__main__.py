# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.programs``: kernels compiled at run time, and those of the peers.

The cost of a launch, the time from an expression to its result, element-wise functions on device
arrays, and the programs of ``examples/``. Without a GPU only NVRTC is measured, and
programs report that they are skipped. Writes programs.json, programs.md, a section of summary.json,
and plots.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import gpukern
from benchmarks import summary
from benchmarks.c_api import BenchError
from benchmarks.libraries import Memory, open_libraries
from benchmarks.machine import describe_machine, gpu_state
from benchmarks.native import Native
from benchmarks.programs import compile as program_compile
from benchmarks.programs import forms as program_forms
from benchmarks.programs import launch as program_launch
from benchmarks.programs import seeds as program_seeds
from benchmarks.programs.forms import FormBench, Numba
from benchmarks.report import in_order, machine_lines, problems, table_lines

# The share of the free memory; the rest is for the processes of the other parts.
MEMORY_SHARE = 0.3
MOST_MEMORY = 12 * 2**30


def open_bench(native, rounds):
    """Allocate the memory and open the peers that run in this process."""
    size = min(int(native.free_bytes() * MEMORY_SHARE), MOST_MEMORY) // 4096 * 4096
    memory = Memory(native.allocate(size), size)
    found, missing = open_libraries(("cupy",), memory, native.stream)
    try:
        found["numba"] = Numba(native.stream)
    except Exception as error:  # continue without a peer that does not start
        missing["numba"] = f"{type(error).__name__}: {error}"[:200]
    return FormBench(native, memory.address, size, native.l2_bytes(), found, missing, rounds)


class Run:
    """The parts, run one after the other, and their results."""

    def __init__(self, quick):
        self.quick = quick
        self.native = None
        self.libraries, self.missing = {}, {}
        self.found = {}
        self.failed = False
        if gpukern.info()["devices"]:
            try:
                self.native = Native()
                self.native.open()
            except BenchError as error:
                self.native = None
                print(f"programs: without the native peers: {error}", file=sys.stderr)

    def compile(self):
        """Time from an expression to its result."""
        if gpukern.info()["nvrtc"]["version"] is None:
            return []
        if not gpukern.info()["devices"]:
            ways = (program_compile.NVRTC,)
        else:
            ways = program_compile.QUICK_WAYS if self.quick else program_compile.WAYS
        return program_compile.run(1 if self.quick else 3, ways)

    def launch(self):
        """The cost of a launch."""
        if self.native is None:
            return []
        points, libraries, missing = program_launch.run(self.native, 5 if self.quick else 15)
        self.libraries |= libraries
        self.missing |= missing
        return points

    def forms(self):
        """Element-wise functions on device arrays."""
        if self.native is None:
            return []
        bench = open_bench(self.native, 5 if self.quick else 9)
        self.libraries |= bench.libraries
        self.missing |= bench.missing
        return program_forms.run(bench)

    def seeds(self):
        """The programs of examples/."""
        libraries = program_seeds.LIBRARIES if gpukern.info()["devices"] else ("gpukern",)
        if not self.quick:
            return program_seeds.run(libraries=libraries)
        # gpukern alone runs the long ones.
        points = program_seeds.run(("hello", "saxpy"), libraries, compare=3)
        return points + program_seeds.run(("gather", "vector_add", "polynomial"), ("gpukern",), 0)

    def part(self, name):
        """Run one part; report its failure, without stopping the others."""
        started = time.perf_counter()
        try:
            self.found[name] = getattr(self, name)()
        except Exception as error:
            self.failed = True
            self.missing[name] = f"{type(error).__name__}: {error}"[:300]
            print(f"{name} failed: {self.missing[name]}", file=sys.stderr)
        print(f"{name}: {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)


PARTS = ("launch", "forms", "compile", "seeds")


def form_lines(results):
    """Yield the tables of the element-wise functions."""
    points = results["forms"]
    for table in results["tables"]:
        of_table = [point for point in points if point["table"] == table["name"]]
        if of_table:
            yield from table_lines(table, in_order(of_table))
    found = list(problems({"points": points, "dropped": []}))
    if found:
        yield from ("Missing and wrong:", "", *found, "")


def markdown(results):
    """Return the whole report as Markdown."""
    lines = ["# Programs: kernels compiled at run time", "", *machine_lines(results), ""]
    if results["launch"]:
        lines += program_launch.markdown(results["launch"])
    if results["forms"]:
        lines += form_lines(results)
    if results["compile"]:
        lines += program_compile.markdown(results["compile"])
    if results["seeds"]:
        lines += program_seeds.markdown(results["seeds"])
    return "\n".join(lines)


def write(results, folder):
    """Write JSON, Markdown, a section of summary.json and, with matplotlib, plots."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "programs.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    (folder / "programs.md").write_text(markdown(results), encoding="utf-8")
    forms = summary.points({"tables": results["tables"], "points": results["forms"]})
    found = {**forms, "launch": program_launch.entries(results["launch"])}
    summary.write(folder, "programs", results["machine"], found)
    try:
        from benchmarks.plots import write_plots
    except ImportError as error:
        print(f"no plots: {error}", file=sys.stderr)
    else:
        write_plots({"tables": results["tables"], "points": results["forms"]}, folder)


def main(arguments=None):
    """Measure, print, write, and return the exit status: 1 if a part failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="may be given again; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="less often: under a minute")
    parser.add_argument("--out", type=Path, help="a folder for programs.json and programs.md")
    options = parser.parse_args(arguments)
    run = Run(options.quick)
    for name in options.part or PARTS:
        run.part(name)
    results = {
        "machine": describe_machine(run.libraries, run.missing),
        "settings": {"quick": options.quick, "parts": options.part or list(PARTS)},
        "tables": [table.header() for table in program_forms.TABLES.values()],
        **{name: run.found.get(name, []) for name in PARTS},
        "gpu_state_after": gpu_state(),
    }
    print(markdown(results))
    if options.out:
        write(results, options.out)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
