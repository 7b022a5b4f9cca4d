# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Writes what was measured as JSON, Markdown and plots."""

import json
from pathlib import Path

from benchmarks.implementations.base import CEILING, OURS, PEER, VARIANT
from benchmarks.machine import describe_machine

PROCESSES = {"one": "one process", "each": "one process for each GPU"}
ROLES = {"gpukern": OURS, "gpukern, raise": VARIANT, "gpukern, one GPU alone": CEILING}


def write(folder, libraries, runs, faults, copies):
    """Write all results.

    `runs` has the rates of each way by GPUs, processes and distribution; `faults` and `copies` are
    by the number of GPUs.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    machine = describe_machine(libraries)
    result = {"machine": machine, "GB/s": runs, "faults": faults, "copies GB/s": copies}
    (folder / "scale.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    lines = heading(machine)
    for run in runs:
        lines += table(run)
    lines += ["", "## Copies from the next GPU", "", "| GPUs | one at a time | all at once |",
              "|---:|---:|---:|"]  # fmt: skip
    for gpus, rates in copies.items():
        lines.append(f"| {gpus} | " + " | ".join(f"{rate:.0f}" for rate in rates.values()) + " |")
    lines += ["", "## Faults"]
    for gpus, found in faults.items():
        seconds, message = found["index errors"]
        lines += ["", f"{gpus} processes, a bad index on one: on all after {seconds * 1e3:.1f} ms,",
                  f"`IndexError: {message}`", "",
                  "A process is killed while all GPUs gather; a collective call of each other one:",
                  ""]  # fmt: skip
        lines += [f"- after {after:.2f} s `{error}`" for after, error in found["death"]]
    (folder / "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw_all(folder, runs, machine["gpu"]["name"])


def heading(machine):
    """Return the first lines of the page."""
    return [
        f"# Tables over several {machine['gpu']['name']}, commit {machine['commit']}",
        "",
        ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        "",
        f"`make bench-scale`, {machine['date'][:10]}. GB/s of rows that each GPU gets, all of them",
        "at once, by the bytes of a row. Skewed: the fourth power of a uniform number, so that the",
        "first GPU of two, four and eight has 84%, 71% and 59% of the rows.",
    ]


def table(run):
    """Return the lines of a table."""
    title = f"{run['gpus']} GPUs, {PROCESSES[run['processes']]}, {run['distribution']}"
    sizes = list(run["rates"])
    names = list(dict.fromkeys(name for rates in run["rates"].values() for name in rates))
    lines = ["", f"## {title}", "", "| | " + " | ".join(map(str, sizes)) + " |",
             "|---|" + "---:|" * len(sizes)]  # fmt: skip
    for name in names:
        rates = [run["rates"][size].get(name) for size in sizes]
        cells = ["" if rate is None else f"{rate:.1f}" for rate in rates]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def draw_all(folder, runs, name):
    """Draw the rates of each run over the bytes of a row, if matplotlib is installed."""
    try:
        from benchmarks import plots
    except ImportError:
        print("no plots: matplotlib is not installed")
        return
    for run in runs:
        lines = {}
        for size, rates in run["rates"].items():
            for way, rate in rates.items():
                _, xs, ys = lines.setdefault(way, (ROLES.get(way, PEER), [], []))
                xs.append(int(size))
                ys.append(rate)
        which = f"{run['gpus']}_gpus_{run['processes']}_{run['distribution']}"
        title = f"{run['gpus']} {name}, {PROCESSES[run['processes']]}, {run['distribution']}"
        plot = plots.Plot(f"{which}.svg", "", "", "bytes of a row", title, {})
        plots.draw(plot, "GB/s of rows for each GPU", lines, folder / plot.file)
