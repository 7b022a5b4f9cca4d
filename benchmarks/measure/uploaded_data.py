# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Operands and reference results on device arrays, of masks and most indices that NumPy makes."""

from types import SimpleNamespace

import numpy as np

from benchmarks.implementations.unchecked import read_unchecked, scatter_unchecked
from benchmarks.measure.device_layout import Layout, aligned, note_filled
from benchmarks.suites.axes import AddPairs, GatherPairs, TakeAlongAxis
from benchmarks.suites.scatter_cases import Bincount
from benchmarks.suites.selection import Compress, CountNonzero, Nonzero


def uploaded(bench, layout, array):
    """Return the address of a copy of an array."""
    address = layout.take(array.nbytes)
    bench.native.upload(address, np.ascontiguousarray(array))
    return address


def copy_pair(layout, case):
    """Return the memory of the ceiling that moves as many bytes as the case."""
    original, copy = (layout.take(case.traffic // 2) for _ in range(2))
    return {"original": original, "copy": copy}


# ---- indices into two axes ----------------------------------------------------------------------


def indices_of(bench, layout, case, seed):
    """Return the addresses of new indices, and of the flat one if there is one."""
    if not case.has_flat:
        index = layout.take(8 * case.n)
        bench.native.fill_index(index, 8, case.n, "uniform", case.shape[case.axis], seed)
        return (index,), None
    indices, flat = case.draw(np.random.default_rng(seed))
    return tuple(uploaded(bench, layout, each) for each in indices), uploaded(bench, layout, flat)


def index_sets(bench, layout, case, name, size, **shared):
    """Draw the indices of as many sets as fit, each with its own piece of memory."""
    one = (case.index_count + 1) * aligned(8 * case.n) + aligned(size)
    sets = []
    for k in range(layout.set_count(bench, one)):
        at = SimpleNamespace(**shared, **{name: layout.take(size)})
        at.indices, at.index = indices_of(bench, layout, case, 100 + k)
        sets.append(at)
    return sets


def read_operands(bench, case):
    """Fill source and indices, compute the reference, and return it and the sets of operands."""
    native, layout = bench.native, Layout(bench)
    reference, source = layout.take(case.result_bytes), layout.take(case.source_bytes)
    native.fill(source, aligned(case.source_bytes), 1)
    pair = copy_pair(layout, case)
    sets = index_sets(bench, layout, case, "out", case.result_bytes, source=source, **pair)
    note_filled(bench, layout)
    read_unchecked(native, case, reference, sets[0])
    return reference, sets


def add_operands(bench, case):
    """Fill target, indices and values, compute the reference, and return it and the sets.

    The sets share the target. Values are small integers, as those of a scatter by one index.
    """
    native, layout = bench.native, Layout(bench)
    reference, initial, out = (layout.take(case.result_bytes) for _ in range(3))
    for seed, start in enumerate((initial, out)):
        native.fill_integers(start, case.dtype, case.result_bytes // 4, seed)
    size, pair = case.n * case.width, copy_pair(layout, case)
    sets = index_sets(bench, layout, case, "values", size, out=out, initial=initial, **pair)
    for k, at in enumerate(sets):
        native.fill_integers(at.values, case.dtype, size // 4, 200 + k)
    note_filled(bench, layout)
    native.enqueue("copy", reference, initial, case.result_bytes)
    scatter_unchecked(native, case, reference, sets[0])
    return reference, sets


def bincount_operands(bench, case):
    """Draw numbers and weights; return the reference and the operands."""
    layout, rng = Layout(bench), np.random.default_rng(0)
    index = rng.integers(0, case.bins, case.n)
    weights = rng.integers(-8, 9, case.n).astype(case.dtype) if case.weights else None
    counts = np.bincount(index, weights, minlength=case.bins).astype(case.dtype)
    reference, out = uploaded(bench, layout, counts), layout.take(case.result_bytes)
    at = SimpleNamespace(out=out, index=uploaded(bench, layout, index), weights=None)
    if case.weights:
        at.weights = uploaded(bench, layout, weights)
    at.zero, at.one = (uploaded(bench, layout, np.array([each])) for each in (0, 1))
    vars(at).update(copy_pair(layout, case))
    note_filled(bench, layout)
    return reference, [at]


# ---- masks --------------------------------------------------------------------------------------


def mask_sets(bench, layout, case, **sizes):
    """Return sets that have a copy of the mask, pieces of some sizes, and the ceiling's memory."""
    one = aligned(case.n) + sum(map(aligned, sizes.values()))
    sets = []
    for _ in range(layout.set_count(bench, one, beside=2 * aligned(case.traffic // 2))):
        pieces = {name: layout.take(size) for name, size in sizes.items()}
        mask = uploaded(bench, layout, case.mask)
        sets.append(SimpleNamespace(mask=mask, **pieces, **copy_pair(layout, case)))
    note_filled(bench, layout)
    return sets


def compress_operands(bench, case):
    """Fill items and mask; return the reference and the sets of operands."""
    native, layout, size = bench.native, Layout(bench), case.n * case.width
    reference = layout.take(case.result_bytes)
    positions = uploaded(bench, layout, np.flatnonzero(case.mask))
    sets = mask_sets(bench, layout, case, source=size, out=case.result_bytes)
    for k, at in enumerate(sets):
        native.fill(at.source, aligned(size), 1 + k)
    name = "gather_rows" if case.row else "gather_unchecked"
    native.enqueue(name, case.width, 8, sets[0].source, positions, reference, case.selected)
    return reference, sets


def mask_operands(bench, case):
    """Upload the mask; return the reference, positions or their number, and the sets."""
    layout, positions = Layout(bench), np.flatnonzero(case.mask)
    found = positions if isinstance(case, Nonzero) else np.array([positions.size])
    reference = uploaded(bench, layout, found)
    return reference, mask_sets(bench, layout, case, out=case.result_bytes)


OPERANDS = {
    TakeAlongAxis: read_operands,
    GatherPairs: read_operands,
    AddPairs: add_operands,
    Bincount: bincount_operands,
    Compress: compress_operands,
    Nonzero: mask_operands,
    CountNonzero: mask_operands,
}
