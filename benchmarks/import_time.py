# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of `import gpukern` relative to `import numpy`, in fresh interpreters.

The two alternate, so that changes of the clock rate affect both. Compares the median times of the
import statements, without the start of the interpreter.
"""

import argparse
import statistics
import subprocess
import sys

TIMER = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


def import_seconds(module):
    """Return the seconds that a fresh interpreter needs to import a module."""
    command = [sys.executable, "-c", TIMER.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    """Measure, and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20, help="runs of each (default: 20)")
    arguments = parser.parse_args()
    times = {"numpy": [], "gpukern": []}
    for module in times:  # warms the file cache
        import_seconds(module)
    for _ in range(arguments.repeats):
        for module, seconds in times.items():
            seconds.append(import_seconds(module))
    medians = {module: statistics.median(seconds) for module, seconds in times.items()}
    for module, seconds in medians.items():
        print(f"import {module:<8} {seconds * 1e3:7.1f} ms")
    print(f"ratio           {medians['gpukern'] / medians['numpy']:7.2f}")


if __name__ == "__main__":
    main()
