# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The size and the shape of the Python package."""

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "cython" / "gpukern"
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd"}

MAX_EXTENSION_MODULES = 48
MAX_LINES = 19250
# Python over groups of processes.
MAX_LINES_DISTRIBUTED = 3490
# The command line measures peers that may fail in any way. Calls catch what they can name.
CATCHES_ALL = re.compile(r"^\s*except(?::|.*\b(?:Base)?Exception\b)", re.MULTILINE)
# The others pass the exception on: from a callback of C, from a thread, or after a clean-up.
MAY_CATCH_ALL = {
    "_cli/bench.py",
    "_elementwise/cpu_executor.pyx",
    "_elementwise/specialization.pyx",
    "_interop/dlpack.pyx",
    "_streams/progress.pyx",
    "distributed/group.py",
    "distributed/routed_gather.py",
    "distributed/thread_group.py",
}


def source_files():
    # include/ and lib/ are what a build in place leaves.
    return [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in SUFFIXES]


def test_number_of_extension_modules():
    assert sum(path.suffix == ".pyx" for path in source_files()) <= MAX_EXTENSION_MODULES


def number_of_lines(paths):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def test_number_of_lines():
    distributed = [path for path in source_files() if path.parent.name == "distributed"]
    assert number_of_lines(distributed) <= MAX_LINES_DISTRIBUTED
    assert number_of_lines(set(source_files()) - set(distributed)) <= MAX_LINES


def test_calls_catch_what_they_can_name():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in source_files()
        if CATCHES_ALL.search(path.read_text(encoding="utf-8"))
    }
    assert found - MAY_CATCH_ALL == set()
