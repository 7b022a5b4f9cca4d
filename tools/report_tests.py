# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Prints how many tests ran, failed and were skipped, from JUnit files: NAME=FILE ...

Exits with 1 if any failed or a file holds no test.
"""

import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

# The reasons of tests that skip without a GPU.
WANTS_GPU = re.compile(r"\b(no|needs|too little)\b.*\b(GPUs?|CUDA devices?)\b|\bwithout CUDA\b")
CTEST_SKIPPED = "SKIP_REGULAR_EXPRESSION_MATCHED"


@dataclass
class Totals:
    """The outcome of one test program."""

    passed: int = 0
    failed: int = 0
    without_gpu: int = 0
    otherwise: list[str] = field(default_factory=list)

    @property
    def count(self):
        """The number of tests."""
        return self.passed + self.failed + self.without_gpu + len(self.otherwise)


def skip_reason(case, skipped):
    """Return why a test was skipped; CTest stores GoogleTest's message in the output."""
    message = skipped.get("message") or ""
    if message != CTEST_SKIPPED:
        return message
    output = case.findtext("system-out") or ""
    match = re.search(r": Skipped\n(.*?)\n?\[", output, re.DOTALL)
    return match.group(1).strip() if match else ""


def read(path):
    """Return the totals of a JUnit file."""
    totals = Totals()
    for case in ET.parse(path).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            totals.failed += 1
        elif skipped is None:
            totals.passed += 1
        elif case.get("status") == "notrun" and skipped.get("message") != CTEST_SKIPPED:
            totals.failed += 1  # CTest's status of a program that it could not start
        elif WANTS_GPU.search(reason := skip_reason(case, skipped)):
            totals.without_gpu += 1
        else:
            totals.otherwise.append(f"{case.get('name')}: {reason}")
    return totals


def main(arguments):
    """Print one line per NAME=FILE and return the exit status."""
    good = True
    print("\ngpukern's tests:")
    for argument in arguments:
        name, _, path = argument.partition("=")
        totals = read(path) if Path(path).exists() else Totals()
        good = good and totals.count > 0 and totals.failed == 0
        print(
            f"  {name:<12}{totals.passed:6d} passed{totals.failed:6d} failed"
            f"{totals.without_gpu:6d} skipped for want of a GPU"
            f"{len(totals.otherwise):6d} skipped otherwise"
        )
        for line in totals.otherwise:
            print(f"    skipped: {line}")
    print("  all passed" if good else "  FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
