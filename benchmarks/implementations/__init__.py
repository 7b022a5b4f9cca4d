# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that is measured on a case: gpukern, its forced paths, the peers, the ceilings."""

from benchmarks.implementations import (
    axes,
    bags,
    device,
    host,
    host_axes,
    host_bags,
    host_scatter,
    host_selection,
    offload,
    scatter,
    selection,
)
from benchmarks.suites.axes import AddPairs, GatherPairs, TakeAlongAxis
from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.cases import DEVICE, HOST, Gather, Saxpy
from benchmarks.suites.scatter_cases import Bincount, PutAlongAxis, Scatter
from benchmarks.suites.selection import Compress, CountNonzero, Nonzero

REGISTRY = {
    (DEVICE, Saxpy): device.SAXPY,
    (DEVICE, Gather): device.GATHER,
    (DEVICE, Scatter): scatter.SCATTER,
    (DEVICE, PutAlongAxis): scatter.PUT_ALONG_AXIS,
    (DEVICE, Bincount): scatter.BINCOUNT,
    (DEVICE, TakeAlongAxis): axes.TAKE_ALONG_AXIS,
    (DEVICE, GatherPairs): axes.GATHER_PAIRS,
    (DEVICE, AddPairs): axes.ADD_PAIRS,
    (DEVICE, Bags): bags.BAGS,
    (DEVICE, Segments): bags.SEGMENTS,
    (DEVICE, Compress): selection.COMPRESS,
    (DEVICE, Nonzero): selection.NONZERO,
    (DEVICE, CountNonzero): selection.COUNT_NONZERO,
    (HOST, Saxpy): host.SAXPY + offload.SAXPY,
    (HOST, Gather): host.GATHER + offload.GATHER,
    (HOST, Scatter): host_scatter.SCATTER,
    (HOST, PutAlongAxis): host_scatter.PUT_ALONG_AXIS,
    (HOST, Bincount): host_scatter.BINCOUNT,
    (HOST, TakeAlongAxis): host_axes.TAKE_ALONG_AXIS,
    (HOST, GatherPairs): host_axes.GATHER_PAIRS,
    (HOST, Bags): host_bags.BAGS,
    (HOST, Segments): host_bags.SEGMENTS,
    (HOST, Compress): host_selection.COMPRESS,
    (HOST, Nonzero): host_selection.NONZERO,
}


def implementations_of(table, case):
    """Return the implementations of a table for a case, in the table's order."""
    known = {each.name: each for each in REGISTRY[case.memory, type(case)]}
    return [known[name] for name in table.implementations]
