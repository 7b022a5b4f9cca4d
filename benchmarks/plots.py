# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of a results.json: rates over sizes, with the peers and the ceilings as lines.

Needs matplotlib. The colours are Okabe and Ito's, which colour-blind readers can tell apart;
markers distinguish the lines in black and white.
"""

from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.implementations.base import CEILING, OURS, VARIANT
from benchmarks.suites.cases import MI, size_text

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#D55E00")
OURS_COLOUR = "#D55E00"
CEILING_COLOUR = "#666666"
MARKERS = "osD^vPX<>"
CEILING_STYLES = ("--", ":", "-.")


@dataclass(frozen=True)
class Plot:
    """One figure: the points of a table where some fields have given values, over another one.

    That field has numbers or names.
    """

    file: str
    table: str
    x: str
    x_label: str
    title: str
    where: dict


PLOTS = (
    *(
        Plot(f"{name.replace(' ', '_')}.svg", name, "n", "elements", title, {})
        for name, title in (
            ("host saxpy", "host arrays: saxpy, float32, out="),
            ("host saxpy new", "host arrays: saxpy, float32, new result"),
            ("host saxpy cuda", "host arrays through the GPU: saxpy, float32"),
            ("host saxpy pinned", "page-locked arrays through the GPU: saxpy, float32"),
        )
    ),
    *(
        Plot(f"{name.replace(' ', '_')}.svg", name, "n", "items gathered", title, {"m": 128 * MI})
        for name, title in (
            ("host gather", "host arrays: gather from 128Mi float32, out="),
            ("host gather new", "host arrays: gather from 128Mi float32, new result"),
            ("host gather cuda", "host arrays through the GPU: gather from 128Mi float32"),
            ("host gather pinned", "page-locked arrays through the GPU: gather from 128Mi float32"),
        )
    ),
    *(
        Plot(f"elementwise_{name}.svg", f"elementwise {name}", "n", "elements",
             f"{title} as an element-wise function, float32", {})
        for name, title in (("add", "vector add"), ("polynomial", "polynomial"))
    ),
    Plot("host_rows.svg", "host rows", "width", "bytes of a row",
         "host arrays: gather of rows, 64 MiB of 512 MiB", {}),
    Plot("scatter.svg", "scatter add", "distribution", "distribution of the index",
         "scatter add of 128Mi float32 into 128Mi", {"m": 128 * MI, "n": 128 * MI}),
    Plot("bags.svg", "bag sum", "lengths", "items a bag",
         "bag sums of 8Mi rows of 64 float32, uniform",
         {"row_length": 64, "distribution": "uniform"}),
    Plot("compress.svg", "compress", "percent", "percent selected",
         "compress of 256Mi float32", {"n": 256 * MI}),
    Plot("saxpy.svg", "saxpy sizes", "n", "elements", "saxpy, float32", {}),
    Plot("rows.svg", "rows", "width", "bytes of a row", "gather of rows, 2 GiB of 16 GiB", {}),
    Plot("gather_source.svg", "gather grid", "m", "items in the source",
         "gather of 128Mi float32, uniform", {"n": 128 * MI, "distribution": "uniform"}),
    Plot("gather_count.svg", "gather grid", "n", "items gathered",
         "gather from 128Mi float32, uniform", {"m": 128 * MI, "distribution": "uniform"}),
    *(
        Plot(f"gather_{name.replace(' ', '_')}.svg", "gather grid", "m", "items in the source",
             f"gather of 128Mi float32, {name}", {"n": 128 * MI, "distribution": name})
        for name in ("sorted", "blocked", "zipf", "scattered zipf", "equal")
    ),
)  # fmt: skip


def lines_of(plot, results):
    """Return {implementation: (role, [x], [rate])} of a plot."""
    lines = {}
    points = [
        point
        for point in results["points"]
        if point["table"] == plot.table
        and all(point["case"][field] == value for field, value in plot.where.items())
    ]
    for point in sorted(points, key=lambda each: each["case"][plot.x]):
        for name, result in point["results"].items():
            if result and "rate" in result and result["right"] is not False:
                _, xs, rates = lines.setdefault(name, (result["role"], [], []))
                xs.append(point["case"][plot.x])
                rates.append(result["rate"])
    return lines


def styles(lines):
    """Return the style of each line: gpukern thick, ceilings grey and without markers."""
    peers = ceilings = 0
    chosen = {}
    for name, (role, _, _) in lines.items():
        if role == CEILING:
            style = CEILING_STYLES[ceilings % len(CEILING_STYLES)]
            chosen[name] = {"color": CEILING_COLOUR, "linestyle": style, "linewidth": 1.4}
            ceilings += 1
        elif role == OURS:
            chosen[name] = {"color": OURS_COLOUR, "marker": "o", "linewidth": 2.6, "zorder": 5}
        elif role == VARIANT:
            chosen[name] = {"color": OURS_COLOUR, "linestyle": "--", "linewidth": 1.6, "zorder": 4}
        else:
            chosen[name] = {
                "color": COLOURS[peers % (len(COLOURS) - 1)],
                "marker": MARKERS[(peers + 1) % len(MARKERS)],
                "markersize": 5,
                "linewidth": 1.3,
            }
            peers += 1
    return chosen


def labels_apart(ticks, most):
    """Return labels of ascending ticks on a logarithmic axis, blank where labels would overlap."""
    apart = (ticks[-1] / ticks[0]) ** (1 / most)
    labels, last = [], 0
    for tick in ticks:
        labels.append(size_text(tick) if tick >= last * apart else "")
        last = tick if labels[-1] else last
    return labels


def draw(plot, unit, lines, path):
    """Draw one figure into a file."""
    figure, axes = pyplot.subplots(figsize=(7.2, 4.6), layout="constrained")
    chosen = styles(lines)
    for name, (role, xs, rates) in lines.items():
        label = f"{name} (ceiling)" if role == CEILING else name
        axes.plot(xs, rates, label=label, **chosen[name])
    axes.set_yscale("log")
    ticks = sorted({x for _, xs, _ in lines.values() for x in xs})
    if not isinstance(ticks[0], str):
        axes.set_xscale("log", base=2)
        rotation = 45 if len(ticks) > 10 else 0
        axes.set_xticks(ticks, labels_apart(ticks, 32 if rotation else 16), rotation=rotation)
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="both", color="#dddddd", linewidth=0.6)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(unit)
    axes.set_title(plot.title, loc="left")
    figure.legend(fontsize=8, ncols=4, loc="outside lower center", frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


def write_plots(results, folder):
    """Draw every plot that has at least two points; return the paths."""
    units = {table["name"]: table["unit"] for table in results["tables"]}
    written = []
    with matplotlib.rc_context({"svg.hashsalt": "gpukern", "font.size": 10}):
        for plot in PLOTS:
            lines = lines_of(plot, results)
            if any(len(xs) > 1 for _, xs, _ in lines.values()):
                path = folder / plot.file
                draw(plot, units[plot.table], lines, path)
                written.append(path)
    return written
