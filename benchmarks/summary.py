# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""summary.json: for each point gpukern's figure and its ratio to the best peer and ceiling.

It is small enough to be committed; ``python -m benchmarks.compare`` reads it. ``ratio`` and
``of_ceiling`` are ratios of rates: the larger, the faster is gpukern.
"""

import json

from benchmarks.implementations.base import CEILING, OURS, PEER

FILE = "summary.json"
MACHINE = ("date", "commit", "cpu", "cpus", "versions")


def best(results, role):
    """Return the name and rate of the best correct implementation of a role, or None."""
    rates = {
        name: result["rate"]
        for name, result in results.items()
        if result and result["role"] == role and "rate" in result and result["right"] is not False
    }
    return max(rates.items(), key=lambda each: each[1], default=None)


def significant(number):
    """Round to four significant digits."""
    return float(f"{number:.4g}")


def entry(ours, unit, peer=None, ratio=None, of_ceiling=None):
    """Return a point of the summary."""
    found = {"ours": significant(ours), "unit": unit}
    if peer is not None:
        found |= {"peer": peer, "ratio": significant(ratio)}
    if of_ceiling is not None:
        found["of_ceiling"] = significant(of_ceiling)
    return found


def points(results):
    """Return the points of a results.json as {table: {label: entry}}."""
    found = {}
    units = {table["name"]: table["unit"] for table in results["tables"]}
    for point in results["points"]:
        ours, peer, ceiling = (best(point["results"], role) for role in (OURS, PEER, CEILING))
        if ours:
            found.setdefault(point["table"], {})[point["label"]] = entry(
                ours[1], units[point["table"]],
                *((peer[0], ours[1] / peer[1]) if peer else (None, None)),
                of_ceiling=ours[1] / ceiling[1] if ceiling else None,
            )  # fmt: skip
    return found


def write(folder, section, machine, found):
    """Put a section into a folder's summary.json and return its path."""
    path = folder / FILE
    sections = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    gpu = machine["gpu"]["name"] if machine.get("gpu") else None
    about = {"gpu": gpu, **{key: machine[key] for key in MACHINE if key in machine}}
    sections[section] = {"machine": about, "tables": found}
    path.write_text(text(sections), encoding="utf-8")
    return path


def quoted(value):
    """Format a value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def text(sections):
    """Write JSON with a line for each point."""
    parts = []
    for section, content in sorted(sections.items()):
        tables = []
        for table, entries in content["tables"].items():
            lines = (f"{quoted(name)}: {quoted(each)}" for name, each in entries.items())
            tables.append(f"{quoted(table)}: {{\n" + ",\n".join(lines) + "\n}")
        machine = quoted(content["machine"])
        joined = ",\n".join(tables)
        parts.append(f'{quoted(section)}: {{\n"machine": {machine},\n"tables": {{\n{joined}\n}}}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(path):
    """Return {(section, table, label): entry} of a summary.json, or of the one in a folder."""
    path = path / FILE if path.is_dir() else path
    sections = json.loads(path.read_text(encoding="utf-8"))
    return {
        (section, table, label): each
        for section, content in sections.items()
        for table, entries in content["tables"].items()
        for label, each in entries.items()
    }
