# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.profile``: a table of Nsight Compute's metrics of the main kernels.

Runs driver.py under ncu and writes ncu.csv, its raw page, and ncu.md, one line per kernel.
``--csv FILE`` makes the table of an earlier run again.
"""

import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.profile.driver import MARKER, cases

TIME = "gpu__time_duration.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
# Metric, head of the column, format.
COLUMNS = (
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM %", "{:.0f}"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2 %", "{:.0f}"),
    ("lts__t_sector_hit_rate.pct", "L2 hits %", "{:.0f}"),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
     "sectors a load", "{:.1f}"),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
     "sectors a store", "{:.1f}"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy %", "{:.0f}"),
    ("launch__registers_per_thread", "registers", "{:.0f}"),
)  # fmt: skip
METRICS = (TIME, READ, WRITTEN, *(metric for metric, _, _ in COLUMNS))
KERNELS = f"regex:gpukern::|{MARKER}"


def run_ncu(out, ncu):
    """Profile the driver and return the path of the CSV file."""
    path = out / "ncu.csv"
    command = [
        ncu, "--target-processes", "all", "--kernel-name-base", "demangled",
        "--kernel-name", KERNELS, "--metrics", ",".join(METRICS),
        "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(path),
        sys.executable, "-m", "benchmarks.profile.driver",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return path


def rows_of(text):
    """Yield the kernels of a raw page as dicts, without ncu's messages and the line of units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    for row in csv.DictReader(lines):
        if row["ID"]:
            yield row


def number(row, metric):
    """Return a value, or None if ncu reports none."""
    try:
        return float(row[metric].replace(",", ""))
    except (KeyError, ValueError):
        return None


def short_name(kernel):
    """Remove namespaces and arguments from a kernel's name, except template arguments."""
    name = re.sub(r"\([^()]*\)$", "", kernel.removeprefix("void "))
    name = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    return re.sub(r"\b(gpukern|gpu)::", "", name).replace("std::", "")[:60]


def cells(row):
    """Return the cells of one kernel, from its time on."""
    nanoseconds = number(row, TIME)
    moved = [number(row, metric) for metric in (READ, WRITTEN)]
    rate = "-"
    if nanoseconds and None not in moved:
        rate = f"{sum(moved) / nanoseconds:.0f}"
    yield f"{nanoseconds / 1000:.1f}" if nanoseconds else "-"
    yield rate
    for metric, _, form in COLUMNS:
        value = number(row, metric)
        yield "-" if value is None else form.format(value)


def markdown(text, names):
    """Return the table of a raw page; ``names`` are the cases, one for each marker."""
    heads = ["case", "kernel", "µs", "DRAM GB/s", *(head for _, head, _ in COLUMNS)]
    lines = [
        "# Profile",
        "",
        "By Nsight Compute: one launch of each kernel, with cold caches and base clocks, so that "
        "times are longer than in the benchmark.",
        "",
        f"| {' | '.join(heads)} |",
        f"|---|---|{'---:|' * (len(heads) - 2)}",
    ]
    remaining = iter(names)
    case = ""
    for row in rows_of(text):
        if MARKER in row["Kernel Name"]:
            case = next(remaining, "?")
            continue
        kernel = f"`{short_name(row['Kernel Name'])}`"
        lines.append(f"| {' | '.join([case, kernel, *cells(row)])} |")
    return "\n".join([*lines, ""])


def main(arguments=None):
    """Profile or read, write the table and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="a folder")
    parser.add_argument("--ncu", default="ncu", help="the program")
    parser.add_argument("--csv", type=Path, help="a raw page to summarise instead of profiling")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.csv or run_ncu(options.out, options.ncu)
    table = markdown(path.read_text(encoding="utf-8"), [name for name, _, _ in cases()])
    (options.out / "ncu.md").write_text(table, encoding="utf-8")
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
