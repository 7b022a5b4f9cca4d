# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.compare OLD NEW``: two result sets, point by point.

OLD and NEW are folders with a summary.json, or such files. Compared is gpukern's ratio to the best
peer of the same run, since absolute figures differ between machines; where a point has no peer, its
ratio to the ceiling, and else its rate.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import summary

MEASURES = ("ratio", "of_ceiling")
PER_CALL = "µs"  # less is faster


def change(old, new):
    """Return the compared quantity, its two values, and new / old; above 1 is faster."""
    for name in MEASURES:
        if name in old and name in new:
            return name, old[name], new[name], new[name] / old[name]
    faster = old["ours"] / new["ours"] if old["unit"] == PER_CALL else new["ours"] / old["ours"]
    return "ours", old["ours"], new["ours"], faster


def row(key, old, new, threshold):
    """Return a row of the table and whether the point regressed."""
    measure, before, after, factor = change(old, new)
    peers = " → ".join(dict.fromkeys(each.get("peer", "-") for each in (old, new)))
    fell = factor < 1 - threshold
    cells = (
        *key[1:], f"{old['ours']:g}", f"{new['ours']:g}", new["unit"], peers,
        f"{before:.3g}" if measure == "ratio" else f"{measure} {before:.3g}",
        f"{after:.3g}", f"{(factor - 1) * 100:+.1f} %", "**fell**" if fell else "",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |", fell


def report(old, new, threshold, everything):
    """Yield the comparison as Markdown."""
    rows = [row(key, old[key], new[key], threshold) for key in old if key in new]
    fallen = sum(fell for _, fell in rows)
    yield f"{len(rows)} points in both, {fallen} fell by more than {threshold:.0%}."
    yield ""
    shown = [line for line, fell in rows if fell or everything]
    if shown:
        yield "| table | point | ours, old | new | unit | best peer | ratio, old | new | change | |"
        yield "|---|---|---:|---:|---|---|---:|---:|---:|---|"
        yield from shown
        yield ""
    for name, one, other in (("old", old, new), ("new", new, old)):
        alone = [key for key in one if key not in other]
        if alone:
            tables = dict.fromkeys(" / ".join(key[:2]) for key in alone)
            yield f"Only in the {name} set: {len(alone)} points of {', '.join(tables)}."


def main(arguments=None):
    """Compare, print, and return the exit status: 1 if a point regressed and --fail is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--threshold", type=float, default=0.02, help="default: %(default)s")
    parser.add_argument("--fallen", action="store_true", help="print only the points that fell")
    parser.add_argument("--fail", action="store_true", help="exit with 1 if a point fell")
    options = parser.parse_args(arguments)
    try:
        old, new = summary.read(options.old), summary.read(options.new)
    except OSError as error:
        parser.error(str(error))
    lines = list(report(old, new, options.threshold, not options.fallen))
    print("\n".join(lines))
    fell = any(row(key, old[key], new[key], options.threshold)[1] for key in old if key in new)
    return 1 if fell and options.fail else 0


if __name__ == "__main__":
    sys.exit(main())
