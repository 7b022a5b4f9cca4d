# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Operands and reference results on device arrays, of random data that the GPU makes."""

from types import SimpleNamespace

import numpy as np

from benchmarks.c_api import scalar_two
from benchmarks.implementations.unchecked import (
    along_unchecked,
    bags_unchecked,
    scatter_unchecked,
)
from benchmarks.measure.device_layout import Layout, aligned, note_filled
from benchmarks.native import DTYPES, ITEMSIZE
from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.cases import Gather, Saxpy
from benchmarks.suites.scatter_cases import PutAlongAxis, Scatter


def saxpy_operands(bench, case):
    """Fill x and y, compute the reference, and return it and the sets of operands."""
    native = bench.native
    layout = Layout(bench)
    reference = layout.take(case.result_bytes)
    shift = [count * ITEMSIZE[case.dtype] for count in case.shift]
    one = 3 * aligned(case.result_bytes)
    sets = []
    for k in range(layout.set_count(bench, one)):
        x, y, out = (layout.take(case.result_bytes) + by for by in shift)
        for seed, start in ((2 * k, x), (2 * k + 1, y)):
            native.fill(start // 256 * 256, case.result_bytes // 8 * 8 + 128, seed, case.dtype)
        sets.append(SimpleNamespace(x=x, y=out if case.in_place else y, out=out, initial=y))
    note_filled(bench, layout)
    first = sets[0]
    arguments = (
        DTYPES.index(case.dtype),
        scalar_two(case.dtype),
        first.x,
        first.initial,
        reference,
    )
    native.enqueue("saxpy_plain", *arguments, case.n)
    return reference, sets


def gather_operands(bench, case):
    """Fill source and indices, compute the reference, and return it and the sets of operands."""
    native = bench.native
    size = aligned(case.m * case.width)
    layout = Layout(bench, reserve=size)
    source = layout.end
    if bench.filled < size <= layout.room() + size:
        native.fill(source, size, 1)
        bench.filled = size
    reference = layout.take(case.n * case.width)
    index_size, out_size = case.n * case.index_itemsize, case.n * case.width
    one = aligned(index_size) + aligned(out_size)
    sets = []
    for k in range(layout.set_count(bench, one)):
        index, out = layout.take(index_size), layout.take(out_size)
        native.fill_index(index, case.index_itemsize, case.n, case.distribution, case.m, 100 + k)
        sets.append(SimpleNamespace(source=source, index=index, out=out))
    note_filled(bench, layout)
    first = sets[0]
    name = "gather_rows" if case.rows else "gather_unchecked"
    native.enqueue(name, case.width, case.index_itemsize, source, first.index, reference, case.n)
    return reference, sets


def scatter_operands(bench, case):
    """Fill target, indices and values, compute the reference, and return it and the sets.

    The sets share the target. Values to add are small integers, so that sums are exact in any
    order, also where a target accumulates them. Values to put are equal where their indices are, so
    that any of them may be the last.
    """
    native, items = bench.native, case.m * case.width // ITEMSIZE[case.dtype]
    layout = Layout(bench)
    reference, initial, out = (layout.take(case.result_bytes) for _ in range(3))
    for seed, start in enumerate((initial, out)):
        native.fill_integers(start, case.dtype, items, seed)
    index_size, size = case.n * case.index_itemsize, case.n * case.width
    one = aligned(index_size) + aligned(size)
    sets = []
    for k in range(layout.set_count(bench, one)):
        index, values = layout.take(index_size), layout.take(size)
        native.fill_index(index, case.index_itemsize, case.n, case.distribution, case.m, 100 + k)
        if case.reduce is None:
            name = "gather_rows" if case.row_bytes else "gather_unchecked"
            native.enqueue(name, case.width, case.index_itemsize, out, index, values, case.n)
        else:
            count = size // ITEMSIZE[case.dtype]
            native.fill_integers(values, case.dtype, count, 200 + k)
        sets.append(SimpleNamespace(index=index, values=values, out=out, initial=initial))
    note_filled(bench, layout)
    native.enqueue("copy", reference, initial, case.result_bytes)
    scatter_unchecked(native, case, reference, sets[0])
    return reference, sets


def along_operands(bench, case):
    """Fill target, index and values as for a put, and return the reference and the operands."""
    native, layout = bench.native, Layout(bench)
    reference, initial, out, values = (layout.take(case.result_bytes) for _ in range(4))
    index = layout.take(8 * case.n)
    for seed, start in enumerate((initial, out)):
        native.fill_integers(start, case.dtype, case.n, seed)
    native.fill_index(index, 8, case.n, "uniform", case.shape[case.axis], 100)
    at = SimpleNamespace(index=index, values=values, out=out, initial=initial)
    native.enqueue("take_along_axis", 8, out, index, values, *case.shape, case.axis)
    native.enqueue("copy", reference, initial, case.result_bytes)
    along_unchecked(native, case, reference, at)
    note_filled(bench, layout)
    return reference, [at]


def bags_operands(bench, case):
    """Fill table, index, offsets and weights; return the reference and the operands."""
    native, layout = bench.native, Layout(bench)
    reference, out = (layout.take(case.result_bytes) for _ in range(2))
    at = SimpleNamespace(out=out, index=None, weights=None)
    at.source = layout.take(case.m * case.row_bytes)
    native.fill_integers(at.source, case.dtype, case.m * case.row_length, 0)
    if isinstance(case, Bags):
        at.index = layout.take(8 * case.n)
        native.fill_index(at.index, 8, case.n, case.distribution, case.m, 100)
        at.rows = layout.take(case.n * case.row_bytes)
    if case.weights:
        at.weights = layout.take(case.n * ITEMSIZE[case.dtype])
        native.fill_integers(at.weights, case.dtype, case.n, 1)
    of_items = np.repeat(np.arange(case.bags), np.diff(case.offsets))
    for name, array in (("offsets", case.offsets), ("ids", of_items)):
        setattr(at, name, layout.take(array.nbytes))
        native.upload(getattr(at, name), array)
    at.original, at.copy = (layout.take(case.traffic // 2) for _ in range(2))
    note_filled(bench, layout)
    bags_unchecked(native, case, reference, at)
    return reference, [at]


OPERANDS = {
    Saxpy: saxpy_operands,
    Gather: gather_operands,
    Scatter: scatter_operands,
    PutAlongAxis: along_operands,
    Bags: bags_operands,
    Segments: bags_operands,
}
