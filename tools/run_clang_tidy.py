# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on C++ files, one per core, the longest first.

The compile commands are those of build/lint, which `make lint` generates.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COMMAND = ["clang-tidy", "--quiet", "-p", "build/lint"]
# The analyzer takes up to eight minutes for the many template instances of each of these files, and
# has found nothing there. The other checks remain enabled.
NOT_ANALYZED = {"src/cpu/bag_loops.cpp", "src/cpu/gather.cpp", "src/cpu/scatter_combiner.cpp"}


def check(path):
    """Return the exit status of clang-tidy and its output."""
    checks = ["--checks=-clang-analyzer-*"] if path in NOT_ANALYZED else []
    run = subprocess.run([*COMMAND, *checks, path], capture_output=True, text=True, check=False)
    # stderr contains the number of suppressed warnings.
    return run.returncode, run.stdout + (run.stderr if run.returncode else "")


def main(paths):
    """Check the files and return the exit status."""
    # Tests last: the analyzer skips them, so a file of the library takes longer than a test of its
    # size.
    paths = sorted(paths, key=lambda path: (path.startswith("tests/"), -os.path.getsize(path)))
    failed = False
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for status, output in pool.map(check, paths):
            failed = failed or status != 0
            print(output, end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
