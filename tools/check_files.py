# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""House rules for source files: the licence header, a length limit, no open tasks."""

import re
import sys
from pathlib import Path

MAX_LINES = 450
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


def main(paths):
    """Check the files and return the exit status."""
    found = [problem for path in paths for problem in problems(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
