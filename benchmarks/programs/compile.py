# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""From the text of an element-wise function to its result: cold, from disk, from memory.

Each time is measured in a fresh process, see benchmarks/peers/compile_once.py; NVRTC alone compiles
the same source.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import gpukern
from benchmarks.peers import compile_once
from benchmarks.programs.processes import run_json, with_caches
from gpukern._elementwise import cuda_codegen

SCRIPT = Path(compile_once.__file__)
NVRTC = "NVRTC alone"
WITHOUT_GPU = "sm_90"
OWN = "gpukern, C form"
CACHED = [way for way in compile_once.WAYS if way != "Numba vectorize"]
WAYS = (NVRTC, *compile_once.WAYS)
QUICK_WAYS = (NVRTC, OWN, "CuPy ElementwiseKernel", "Numba cuda.jit")
TIMES = ("first", "second", "again", "lookup")


def request(folder):
    """Write the sources that NVRTC compiles for gpukern, and return the file's path."""
    devices = gpukern.info()["devices"]
    capability = devices[0]["compute_capability"].replace(".", "") if devices else None
    architecture = f"sm_{capability}" if capability else WITHOUT_GPU
    library = Path(gpukern.info()["nvrtc"]["path"])
    builtins = sorted(library.parent.glob(f"libnvrtc-builtins{library.suffixes[0]}.[0-9]*"))
    functions = [gpukern.elementwise(text) for text in compile_once.TEXTS]
    path = Path(folder, "request.json")
    asked = {
        "libraries": [*map(str, builtins[:1]), str(library)],
        "sources": [each.source("float32", "float32") for each in functions],
        "headers": dict(cuda_codegen.headers()),
        "options": [*cuda_codegen.OPTIONS, f"--gpu-architecture={architecture}"],
    }
    path.write_text(json.dumps(asked), encoding="utf-8")
    return str(path)


def one_turn(ways, asked):
    """Yield (way, state, times or error) of a cold and then a cached process of each way."""
    for way in ways:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(SCRIPT), "nvrtc" if way == NVRTC else way]
            if way == NVRTC:
                yield way, "cold", run_json([*command, asked], with_caches(folder))
                continue
            for state in ("cold", "disk") if way in CACHED else ("cold",):
                found = run_json(command, with_caches(folder))
                yield way, state, found
                if "error" in found:
                    break


def run(turns, ways=WAYS):
    """Measure; return the points: medians over the turns, of each way and state of the caches."""
    points = {}
    with tempfile.TemporaryDirectory() as folder:
        asked = request(folder)
        # One unmeasured run, so that the libraries' files are in the page cache.
        for _ in one_turn(ways[:1], asked):
            pass
        for _ in range(turns):
            for way, state, found in one_turn(ways, asked):
                point = points.setdefault((way, state), {"way": way, "cache": state, "turns": []})
                if "error" in found:
                    point["error"] = found["error"]
                    ways = [each for each in ways if each != way]
                else:
                    point["turns"].append(found)
    for point in points.values():
        for name in point["turns"][0] if point["turns"] else ():
            point[name] = statistics.median(turn[name] for turn in point["turns"])
    return list(points.values())


def milliseconds(seconds):
    """Write a time."""
    return "-" if seconds is None else f"{1e3 * seconds:.3f}"


def markdown(points):
    """Write the points as a table, and what gpukern adds to NVRTC."""
    yield "## From an element-wise expression to its result, ms"
    yield ""
    yield (
        "Each line is a fresh process. **First** is the process's first kernel, with NVRTC's "
        "opening where it is needed, **second** another one, both until the result is on the "
        "host. **Again** makes an equal function once more and calls it, **lookup** calls one "
        "that was called before, both without waiting for the GPU."
    )
    yield ""
    yield "| | cache | first | second | again | lookup |"
    yield "|---|---|---:|---:|---:|---:|"
    for point in points:
        start = f"| {point['way']} | {point['cache']} |"
        if "error" in point:
            yield f"{start} {point['error']} | - | - | - |"
            continue
        yield f"{start} " + " | ".join(milliseconds(point.get(name)) for name in TIMES) + " |"
    yield ""
    found = {(p["way"], p["cache"]): p for p in points if "error" not in p}
    own, alone = found.get((OWN, "cold")), found.get((NVRTC, "cold"))
    if own and alone:
        more = [1e3 * (own[name] - alone[name]) for name in ("first", "second")]
        yield f"Cold, gpukern takes {more[0]:+.2f} and {more[1]:+.2f} ms beyond NVRTC alone."
        yield ""
    if own:
        beyond = 1e6 * (own["again"] - own["lookup"])
        yield f"From memory, an equal function takes {beyond:+.2f} µs beyond a lookup."
        yield ""
