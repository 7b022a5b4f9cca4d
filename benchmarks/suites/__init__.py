# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The suites: tables of cases on device and host arrays.

``--quick`` runs priority 1; a time limit drops the cases with the highest numbers first.
"""

import gpukern
from benchmarks.suites import axes, bags, device, scatter, selection
from benchmarks.suites.cases import Table
from benchmarks.suites.host import host_tables

SUITES = {
    "saxpy": device.saxpy_tables,
    "gather": device.gather_tables,
    "rows": device.rows_tables,
    "modes": device.modes_tables,
    "axes": axes.axes_tables,
    "scatter": scatter.scatter_tables,
    "bags": bags.bags_tables,
    "selection": selection.selection_tables,
    "host": lambda: host_tables(gpu=bool(gpukern.info()["devices"])),
}


def tables_of(suites, quick):
    """Return the tables of some suites; only the cases of the first priority if quick."""
    tables = [table for name in suites for table in SUITES[name]()]
    return [table for table in map(Table.quick, tables) if table.cases] if quick else tables
