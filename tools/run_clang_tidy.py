# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on files of C++, one per core at a time, the longest first.

The compile commands are those of build/lint, which `make lint` makes.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COMMAND = ["clang-tidy", "--quiet", "-p", "build/lint"]
# The analyzer follows each of these files' many instances of its templates: for eight minutes, of
# which nothing came. The other checks stay.
NOT_ANALYZED = {"src/cpu/gather.cpp"}


def check(path):
    """Return the exit status of clang-tidy and what it printed."""
    checks = ["--checks=-clang-analyzer-*"] if path in NOT_ANALYZED else []
    run = subprocess.run([*COMMAND, *checks, path], capture_output=True, text=True, check=False)
    # On stderr it counts the warnings that it does not show.
    return run.returncode, run.stdout + (run.stderr if run.returncode else "")


def main(paths):
    """Check the files and return the exit status."""
    # Tests are not analyzed at all: a file of the library takes longer than one of its size there.
    paths = sorted(paths, key=lambda path: (path.startswith("tests/"), -os.path.getsize(path)))
    failed = False
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for status, output in pool.map(check, paths):
            failed = failed or status != 0
            print(output, end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
