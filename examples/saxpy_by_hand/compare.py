# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Runs saxpy by hand in Python and in C++, alternating, from a cold start; prints medians.

Builds main.cpp with $CXX (c++) against the installed gpukern. Needs a GPU. Both programs compile
with the same NVRTC, without a cache, and copy host memory of pages of the same size.
"""

import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import gpukern

HERE = Path(__file__).resolve().parent
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 9


def build(folder):
    """Compile main.cpp and return the program's path."""
    program, library = Path(folder, "saxpy_by_hand"), gpukern.get_library_dir()
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    options = ["-std=c++20", "-O2", f"-I{gpukern.get_include()}", f"-L{library}"]
    link = ["-lgpukern", f"-Wl,-rpath,{library}", "-o", str(program)]
    subprocess.run([*compiler, *options, str(HERE / "main.cpp"), *link], check=True)
    return str(program)


def measure(command, environment):
    """Run one program and return its times: the whole and its steps in ms, the kernel in us."""
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"application ([\d.]+) ms, kernel ([\d.]+) us: right\n  ms: (.*)", run.stdout)
    if found is None:
        raise SystemExit(run.stdout)
    steps = dict(step.rsplit(" ", 1) for step in found[3].split(", "))
    return {"application": found[1], **steps, "kernel (us)": found[2]}


def report(times):
    """Print a line for each step: medians, minimum times, and their ratios."""
    print(f"{'ms':12}{'Python':>10}{'C++':>10}{'ratio':>8}{'Python':>12}{'C++':>10}{'ratio':>8}")
    print(f"{'':12}{'medians':>20}{'':8}{'least':>22}")
    for step in times["C++"][0]:
        line = f"{step:12}"
        for width, summary in ((10, statistics.median), (12, min)):
            python, cpp = (
                summary(float(run[step]) for run in times[name]) for name in ("Python", "C++")
            )
            line += f"{python:{width}.2f}{cpp:10.2f}{python / cpp if cpp else 1:8.3f}"
        print(line)


def main():
    """Measure both programs in turn."""
    if gpukern.device_count() == 0:
        print("skipped: a kernel that runs needs a GPU")
        return
    environment = {
        **os.environ,
        "GPUKERN_CACHE_DIR": "off",
        "GPUKERN_NVRTC": gpukern.info()["nvrtc"]["path"],
        "NUMPY_MADVISE_HUGEPAGE": "0",
    }
    with tempfile.TemporaryDirectory() as folder:
        commands = {"C++": [build(folder)], "Python": [sys.executable, str(HERE / "main.py")]}
        times = {name: [] for name in commands}
        for command in commands.values():  # warm the file cache
            measure(command, environment)
        for turn in range(TURNS):
            for name in list(commands)[:: 1 if turn % 2 else -1]:
                times[name].append(measure(commands[name], environment))
    report(times)


if __name__ == "__main__":
    main()
