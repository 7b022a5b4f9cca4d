# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.call_cost``: the cost of a call on the host, compared with its peers.

Every kind of argument on NumPy arrays, torch tensors and, with a GPU, torch CUDA tensors, CuPy
arrays and DeviceArrays: batches of calls, which fit the launch queue, alternate with the peer's.
``--against PYTHON`` compares another interpreter's gpukern with this one's instead.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import gpukern
from benchmarks import summary
from benchmarks.c_api import BenchError
from benchmarks.call_cost import against
from benchmarks.call_cost.calls import BATCH, measure
from benchmarks.call_cost.groups import N, groups
from benchmarks.call_cost.native import native_calls
from benchmarks.machine import describe_machine
from benchmarks.native import Native
from benchmarks.report import machine_lines


def all_calls(gpu, by_c):
    """Return the calls, and the reasons for missing libraries."""
    native, launch = [], None
    if gpu and by_c:
        try:
            library = Native()
            library.open()
            native = native_calls(library)
            launch = native[0].cost
        except BenchError as error:
            print(f"call_cost: without the calls by C: {error}", file=sys.stderr)
    found, missing = groups(gpu)
    return native + [call for group in found for call in group.calls(launch)], missing


def chosen(calls, pattern):
    """Return the calls whose name has a text."""
    return [call for call in calls if pattern in against.key(call)]


def microseconds(point):
    """Write a point's median."""
    return f"{1e6 * point['seconds']:.2f}" if "seconds" in point else "-"


def row(point):
    """Return the row of a point."""
    start = f"| {point['name']} | {point.get('error') or microseconds(point)} |"
    peer = point.get("peer", {})
    if "seconds" not in point or "seconds" not in peer:
        return f"{start} {peer.get('name', '-')} | {peer.get('error', '-')} | - | - |"
    least, median = (point[each] / peer[each] for each in ("least", "seconds"))
    return f"{start} {peer['name']} | {microseconds(peer)} | {least:.2f} | {median:.2f} |"


def markdown(results):
    """Write the points as tables, one per group."""
    yield "# Cost of a call"
    yield ""
    yield from machine_lines(results)
    yield ""
    settings = results["settings"]
    yield (
        f"Medians of {settings['repeats']} batches of at most {settings['batch']} calls on {N} "
        "elements, alternating with the peer. The ratios are gpukern's time over the peer's, of "
        "the shortest batches and of the medians: below 1, gpukern is faster."
    )
    for group in dict.fromkeys(point["group"] for point in results["points"]):
        yield from ("", f"## {group}", "")
        yield "| call | µs | peer | µs | ratio of minima | of medians |"
        yield "|---|---:|---|---:|---:|---:|"
        yield from (row(point) for point in results["points"] if point["group"] == group)
    yield ""


def entries(points):
    """Return the points for summary.json."""
    found = {}
    for point in points:
        if "seconds" in point:
            peer = point.get("peer", {})
            ratio = (peer["name"], peer["least"] / point["least"]) if "least" in peer else ()
            entry = summary.entry(1e6 * point["seconds"], "µs", *ratio)
            found.setdefault(point["group"], {})[point["name"]] = entry
    return found


def against_markdown(results):
    """Write the comparison of two builds as a table."""
    timed = [point for point in results["points"] if "old" in point]
    slower = [each for each in timed if against.is_flagged((each["old"], each["new"]))]
    yield "# Cost of a call, two builds"
    yield ""
    yield from machine_lines(results)
    yield ""
    yield (
        f"{len(timed)} calls; {len(slower)} take more than 3% longer than in the other build. µs "
        "are the least of all batches; ratios are new over old."
    )
    yield ""
    yield "| call | old, µs | new, µs | ratio of minima | of medians | |"
    yield "|---|---:|---:|---:|---:|---|"
    for point in timed:
        old, new = point["old"], point["new"]
        median = statistics.median(new) / statistics.median(old)
        mark = "**slower**" if point in slower else ""
        yield (
            f"| {point['name'].replace(' | ', ': ')} | {1e6 * min(old):.2f} | {1e6 * min(new):.2f} "
            f"| {against.ratio((old, new)):.2f} | {median:.2f} | {mark} |"
        )
    yield ""
    for point in results["points"]:
        if "errors" in point:
            yield f"- {point['name'].replace(' | ', ': ')}: {' / '.join(point['errors'])}"


def parse(arguments):
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.call_cost", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="batches (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=BATCH, help="calls (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="calls whose name has a text")
    parser.add_argument("--against", metavar="PYTHON", help="an interpreter with another gpukern")
    parser.add_argument("--out", type=Path, help="a folder for JSON and Markdown")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments=None):
    """Measure, print, write, and return the exit status."""
    options = parse(arguments)
    gpu = bool(gpukern.info()["devices"])
    synchronize = gpukern.synchronize if gpu else int
    if options.worker:
        against.work(all_calls(gpu, by_c=False)[0], options.batch, synchronize)
        return 0
    if options.against:
        name, missing, write = "call_cost_against", {}, against_markdown
        points = against.compare(options.against, options.repeats, options.batch, options.only)
    else:
        calls, missing = all_calls(gpu, by_c=True)
        name, write = "call_cost", markdown
        calls = chosen(calls, options.only)
        points = measure(calls, options.repeats, options.batch, synchronize)
    results = {
        "machine": describe_machine({}, missing),
        "settings": {"repeats": options.repeats, "batch": options.batch},
        "points": points,
    }
    text = "\n".join(write(results))
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")
        (options.out / f"{name}.md").write_text(text, encoding="utf-8")
        if name == "call_cost":
            summary.write(options.out, name, results["machine"], entries(points))
    return 0


if __name__ == "__main__":
    sys.exit(main())
