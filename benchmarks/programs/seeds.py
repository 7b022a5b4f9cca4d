# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of ``examples/`` and equivalents by CuPy and Numba, each as a separate process.

They print their own times, and check their results.
"""

import os
import re
import sys
import tempfile

from benchmarks.machine import ROOT
from benchmarks.programs.processes import run as run_process
from benchmarks.programs.processes import with_caches

EXAMPLES = ROOT / "examples"
PEERS = ROOT / "benchmarks" / "peers"
PROGRAMS = {
    "hello": "hello.py",
    "gather": "gather.py",
    "saxpy": "saxpy_by_hand/main.py",
    "vector_add": "vector_add.py",
    "polynomial": "polynomial.py",
}
LIBRARIES = ("gpukern", "cupy", "numba")
COMPARE = "saxpy, Python and C++"
FIGURE = re.compile(r"\d+\.?\d* (?:ms|us|GB/s)")
SIZE = re.compile(r"\d+ Mi elements: ")  # one line for each of several sizes
# The lines that compare.py prints when both programs' results are right: medians, then least times.
COMPARED = re.compile(r"(application|kernel \(us\)) +([\d.]+) +([\d.]+) +([\d.]+) ")


def command_of(program, library):
    """Return the command line of a program by a library."""
    if library == "gpukern":
        return [sys.executable, str(EXAMPLES / PROGRAMS[program])]
    return [sys.executable, str(PEERS / f"seed_{library}.py"), program]


def point_of(program, library, command, environment):
    """Run a program and return its entry for JSON."""
    outcome = run_process(command, environment)
    point = {"program": program, "library": library, "seconds": outcome.seconds}
    if outcome.error:
        return {**point, "error": outcome.error}
    lines = [line.strip() for line in outcome.text.splitlines()]
    if program == COMPARE:
        figures = compared(lines)
        right = bool(figures)
    else:
        figures = [line for line in lines if FIGURE.search(line)]
        right = any("right" in line for line in lines)
    return {**point, "right": right, "printed": lines, "figures": figures}


def compared(lines):
    """Return the medians that compare.py printed, as short texts."""
    found = [match.groups() for match in map(COMPARED.match, lines) if match]
    return [f"{what} {python}, {cpp}, ratio {ratio}" for what, python, cpp, ratio in found]


def run(programs=tuple(PROGRAMS), libraries=LIBRARIES, compare=5):
    """Run programs by libraries, each from empty caches of compiled code.

    Then saxpy in Python and in C++ in turn, ``compare`` times each.
    """
    points = []
    for program in programs:
        for library in libraries:
            with tempfile.TemporaryDirectory() as folder:
                command = command_of(program, library)
                points.append(point_of(program, library, command, with_caches(folder)))
    if compare:
        script = str(EXAMPLES / "saxpy_by_hand" / "compare.py")
        command = [sys.executable, script, str(compare)]
        points.append(point_of(COMPARE, "gpukern", command, dict(os.environ)))
    return points


def shown(point):
    """Return the figures for a table; JSON has them all."""
    figures = point["figures"]
    sizes = [line for line in figures if SIZE.match(line)]
    return sizes[-1:] or figures


def markdown(points):
    """Write the points as a table."""
    yield "## The programs of examples/, each a process from a cold start"
    yield ""
    yield (
        "The process's whole time, with imports, random data and NumPy's results, and what it "
        "says; of a program of many sizes, the last."
    )
    yield ""
    yield "| program | by | process, s | prints |"
    yield "|---|---|---:|---|"
    for point in points:
        start = f"| {point['program']} | {point['library']} | {point['seconds']:.2f} |"
        if "error" in point:
            yield f"{start} {point['error']} |"
            continue
        words = "; ".join(shown(point)) or ("right" if point["right"] else "skipped")
        yield f"{start} {words} |"
    yield ""
