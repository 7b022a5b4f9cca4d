# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, summary and plots from a results.json: ``python -m benchmarks.report DIR``."""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import summary
from benchmarks.implementations.base import CEILING, OURS, PEER
from benchmarks.native import DISTRIBUTIONS, DTYPES
from benchmarks.suites.cases import DEVICE, HOST

NOTHING = "-"
METHODS = {
    DEVICE: "Device arrays: the medians of {rounds} samples, or of 3 or more where all would take "
    "more than 4 s; the implementations take turns. Each result was compared with a reference "
    "before it was timed. **Ratio** is gpukern's rate over that of the best peer, **of ceiling** "
    "its rate over that of the best ceiling. `*`: by the host's clock, since the library uses its "
    "own streams.",
    HOST: "Host arrays: the Python calls, timed on the host, alternating; the best of several "
    "samples, since disturbances only ever make one slower.",
}


def cell(result):
    """Write a rate, or the reason why it is missing."""
    if result is None or "absent" in result:
        return NOTHING
    if "error" in result:
        return "error"
    text = rate_text(result["rate"])
    if result["right"] is False:
        return f"WRONG {text}"
    return text + ("*" if result["method"] == "wall" else "")


def rate_text(rate):
    """Write a rate with three or four significant digits."""
    if rate >= 100:
        return f"{rate:.0f}"
    if rate >= 10:
        return f"{rate:.1f}"
    return f"{rate:.2f}" if rate >= 1 else f"{rate:.3g}"


def ratio_cells(results):
    """Return the cells that compare gpukern with the best peer and the best ceiling."""
    ours, peer, ceiling = (summary.best(results, role) for role in (OURS, PEER, CEILING))
    against_peer = f"{ours[1] / peer[1]:.2f} ({peer[0]})" if ours and peer else NOTHING
    return [against_peer, f"{ours[1] / ceiling[1]:.2f}" if ours and ceiling else NOTHING]


def varying(points):
    """Return the columns of the cases that are not the same for all of them."""
    names = list(points[0]["columns"])
    differ = [n for n in names if len({point["columns"][n] for point in points}) > 1]
    return differ or names[:2]


def same_text(points):
    """Describe the fields that are equal for all cases."""
    varied = varying(points)
    first = points[0]["columns"]
    return "; ".join(f"{name}: {value}" for name, value in first.items() if name not in varied)


def markdown_row(cells):
    """Write a row of a table."""
    return f"| {' | '.join(cells)} |"


def table_lines(table, points):
    """Yield the Markdown of one table."""
    yield f"## {table['title']}, {table['unit']}"
    yield ""
    notes = [text for text in (table["note"], same_text(points)) if text]
    if notes:
        yield " ".join(f"{note.rstrip('.')}." for note in notes)
        yield ""
    columns = varying(points)
    names = [
        name
        for name in table["implementations"]
        if any(cell(point["results"].get(name)) != NOTHING for point in points)
    ]
    head = [*columns, *names, "ratio", "of ceiling"]
    yield markdown_row(head)
    yield markdown_row(["---"] * len(columns) + ["---:"] * (len(names) + 2))
    for point in points:
        results = point["results"]
        yield markdown_row(
            [
                *(point["columns"][name] for name in columns),
                *(cell(results.get(name)) for name in names),
                *ratio_cells(results),
            ]
        )
    yield ""


def machine_lines(results):
    """Yield the description of the machine."""
    machine = results["machine"]
    gpu = machine["gpu"]
    if gpu:
        yield (
            f"- {gpu['name']}, compute capability {gpu['compute_capability']}, "
            f"{gpu['multiprocessors']} multiprocessors, {gpu['memory_bytes'] / 2**30:.0f} GiB, "
            f"{gpu['l2_cache_bytes'] / 2**20:.0f} MiB of L2"
        )
    for name, key in (("before", "gpu_state"), ("after", "gpu_state_after")):
        state = machine.get(key) or results.get(key)
        if state:
            yield f"- {name}: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in state.items())
    load = f", load average {machine['load']:.1f} at the start" if "load" in machine else ""
    yield f"- {machine['cpu']}, {machine['cpus']} processors in use{load}"
    yield "- " + ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    for name, reason in machine["missing"].items():
        yield f"- without {name}: {reason}"
    yield f"- {machine['date']}, commit {machine['commit'] or 'unknown'}"


def problems(results):
    """Yield the errors and the cases that were not measured, one line each."""
    if "lost" in results:
        yield f"- the run ended early: {results['lost']}"
    for point in results["points"]:
        for name, result in point["results"].items():
            if result and "error" in result:
                yield f"- {point['label']}: {name}: {result['error']}"
            elif result and result.get("right") is False:
                yield f"- {point['label']}: {name}: the result is WRONG"
    reasons = {}
    for each in results["dropped"]:
        reasons.setdefault(each["reason"], []).append(each["case"])
    for reason, cases in reasons.items():
        yield f"- not measured ({reason}): {', '.join(cases)}"


def in_order(points):
    """Sort the points of a table by their columns: they were measured by priority."""

    def key(point):
        case = point["case"]
        numbers = [value for value in case.values() if isinstance(value, int)]
        return (
            DISTRIBUTIONS.index(case.get("distribution", DISTRIBUTIONS[0])),
            DTYPES.index(case.get("dtype", DTYPES[0])),
            *numbers,
        )

    return sorted(points, key=key)


def method_lines(results):
    """Yield the description of the method."""
    memories = {table["memory"] for table in results["tables"]}
    for memory, text in METHODS.items():
        if memory in memories:
            yield text.format(rounds=results["settings"]["rounds"])
            yield ""


def markdown(results):
    """Return the whole report as Markdown."""
    lines = ["# Benchmark results", "", *machine_lines(results), "", *method_lines(results)]
    for table in results["tables"]:
        points = [point for point in results["points"] if point["table"] == table["name"]]
        if points:
            lines += table_lines(table, in_order(points))
    found = list(problems(results))
    if found:
        lines += ["## Missing and wrong", "", *found, ""]
    return "\n".join(lines)


def write(results, folder, plots=True):
    """Write tables.md, summary.json and the plots; return their paths."""
    path = folder / "tables.md"
    path.write_text(markdown(results), encoding="utf-8")
    written = [path, summary.write(folder, "suites", results["machine"], summary.points(results))]
    if plots:
        try:
            from benchmarks.plots import write_plots
        except ImportError as error:
            print(f"no plots: {error}", file=sys.stderr)
        else:
            written += write_plots(results, folder)
    return written


def main(arguments=None):
    """Render the results.json of a folder again."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds results.json")
    parser.add_argument("--no-plots", action="store_true", help="tables only")
    options = parser.parse_args(arguments)
    source = options.folder / "results.json"
    if not source.is_file():
        parser.error(f"there is no {source}")
    results = json.loads(source.read_text(encoding="utf-8"))
    for path in write(results, options.folder, not options.no_plots):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
