# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""House rules for source files: the licence header, length and folder limits, no open tasks."""

import re
import sys
from collections import Counter
from pathlib import Path

MAX_LINES = 450
MAX_FILES = 20  # in a folder of the Python package
PACKAGE = Path("cython", "gpukern")
SOURCES = (".pxd", ".py", ".pyi", ".pyx")
HEADER = ("SPDX-FileCopyrightText: 2026 The gpukern authors", "SPDX-License-Identifier: Apache-2.0")
HEADER_WITHIN = 4  # lines; a "#!" line may come first
# Split, so that this file passes its own check.
MARKS = ("TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImpl" + "emented")
UNFINISHED = re.compile(rf"\b({'|'.join(MARKS)})")


def problems(path):
    """Yield the errors of a file, one line each."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    head = "\n".join(lines[:HEADER_WITHIN])
    if not all(line in head for line in HEADER):
        yield f"{path}:1: the licence header is missing"
    if len(lines) > MAX_LINES:
        yield f"{path}:{len(lines)}: longer than {MAX_LINES} lines"
    for number, line in enumerate(lines, 1):
        if match := UNFINISHED.search(line):
            yield f"{path}:{number}: {match.group()} left in the source"


def crowded_folders():
    """Yield the folders of the package that hold too many sources, one line each."""
    files = Counter(path.parent for path in PACKAGE.rglob("*") if path.suffix in SOURCES)
    for folder, count in files.items():
        if count > MAX_FILES:
            yield f"{folder}: {count} files, more than {MAX_FILES}"


def main(paths):
    """Check the files and return the exit status."""
    found = [problem for path in paths for problem in problems(path)]
    found += crowded_folders()
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
