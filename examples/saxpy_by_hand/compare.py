# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Runs saxpy by hand in Python and in C++, in turn and each from a cold start; prints medians.

Builds main.cpp with $CXX (c++) against the installed gpukern. Needs a GPU.
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
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 7


def build(folder):
    """Compile main.cpp and return the program's path."""
    program, library = Path(folder, "saxpy_by_hand"), gpukern.get_library_dir()
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    options = ["-std=c++20", "-O2", f"-I{gpukern.get_include()}", f"-L{library}"]
    link = ["-lgpukern", f"-Wl,-rpath,{library}", "-o", str(program)]
    subprocess.run([*compiler, *options, str(HERE / "main.cpp"), *link], check=True)
    return str(program)


def measure(command):
    """Run one program and return its two times, application (ms) and kernel (us)."""
    environment = {**os.environ, "GPUKERN_CACHE_DIR": "off"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"application ([\d.]+) ms, kernel ([\d.]+) us: right", run.stdout)
    if found is None:
        raise SystemExit(run.stdout)
    return float(found[1]), float(found[2])


def main():
    """Measure both programs in turn."""
    if not gpukern.info()["devices"]:
        print("skipped: a kernel that runs needs a GPU")
        return
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "C++": [build(folder)],
            "Python": [sys.executable, str(HERE / "main.py")],
        }
        times = {name: [] for name in commands}
        for turn in range(TURNS):
            order = list(commands) if turn % 2 else list(commands)[::-1]
            for name in order:
                times[name].append(measure(commands[name]))
    for name, runs in times.items():
        application, kernel = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"{name:8} application {application:8.2f} ms   kernel {kernel:7.1f} us")
    medians = {name: statistics.median(run[0] for run in runs) for name, runs in times.items()}
    print(f"Python / C++: {medians['Python'] / medians['C++']:.4f}")


if __name__ == "__main__":
    main()
