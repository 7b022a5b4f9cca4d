# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on C++ files, one per core, the longest first.

With --analyze, runs the static analyzer in place of the checks of .clang-tidy. The compile commands
are those of build/lint, which `make lint` and `make analyze` generate.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COMMAND = ["clang-tidy", "--quiet", "-p", "build/lint"]
# Of memory behind a C ABI, the analyzer guesses the bounds.
ANALYZE = ["--checks=-*,clang-analyzer-*,-clang-analyzer-security.ArrayBound"]
# The analyzer takes up to eight minutes for the many template instances of each of these files, and
# has found nothing there.
NOT_ANALYZED = {"src/cpu/bag_loops.cpp", "src/cpu/gather_run.cpp", "src/cpu/scatter_combiner.cpp"}


def main(arguments):
    """Check the files and return the exit status."""
    paths = sorted(set(arguments) - {"--analyze"}, key=os.path.getsize, reverse=True)
    options = []
    if "--analyze" in arguments:
        options = ANALYZE
        paths = [path for path in paths if path not in NOT_ANALYZED]

    def check(path):
        run = subprocess.run(
            [*COMMAND, *options, path], capture_output=True, text=True, check=False
        )
        # stderr contains the number of suppressed warnings.
        return run.returncode, run.stdout + (run.stderr if run.returncode else "")

    failed = False
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for status, output in pool.map(check, paths):
            failed = failed or status != 0
            print(output, end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
