# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter to a distributed array: values go to the ranks that have the rows."""

from typing import Any

import numpy as np

import gpukern
from gpukern.distributed import indexing
from gpukern.distributed.array import DistributedArray
from gpukern.distributed.group import collective, refuse_masked
from gpukern.distributed.indexing import device_of
from gpukern.errors import GpukernTypeError, GpukernValueError

MAX_ROWS = 2**31 - 1  # that a rank sends or receives, by MPI's counts and displacements


def scatter(
    table: DistributedArray,
    name: str,
    index: Any,
    values: Any,
    *,
    mode: str,
    reduce: str | None,
    order: str,
    unique: bool,
    out: Any,
    progress: Any,
    **options: Any,
) -> DistributedArray:
    """Do what :func:`gpukern.scatter` does with the indices and values of all ranks, by rank."""
    group, rank = table.group, table.group.rank
    how: dict[str, Any] = {"reduce": reduce, "order": order, "unique": unique}
    counts = np.zeros(group.size, np.int64)
    storage = table.storage
    given: Any = None
    numbers, received, questions = given, given, given
    asked = indexing.Buckets(counts, counts, counts)
    with collective(group, name) as call:
        with call:
            if out is not None:
                raise GpukernValueError("scatter: out is not supported for a DistributedArray")
            if progress is not None:
                raise GpukernValueError("scatter: progress is not supported for a DistributedArray")
            indexing.require_rows(table, name, "scatter", mode=mode, **options)
            none = storage.empty((0, *table.shape[1:]), table.dtype)
            gpukern.scatter(table.local, np.empty(0, np.int64), none, **how)  # refuses what it must
            shape, rows = storage.rows_of("scatter", index, len(table), mode)
            asked = storage.bucketed(rows, table.starts)
            given = gpukern.gather(_values(table, shape, values), asked.order, mode="clip")
            counts = asked.counts
        matrix = call.of_all(name, counts, mode=mode, **how, **table._identity)
        mine = np.ascontiguousarray(matrix[:, rank])
        with call:
            most = int(max(matrix.sum(axis=0).max(), matrix.sum(axis=1).max()))
            if most > MAX_ROWS:
                raise GpukernValueError(f"scatter: a rank has {most} rows, more than {MAX_ROWS}")
            questions = storage.put(asked.rows)
            numbers = storage.empty((int(mine.sum()),), asked.rows.dtype)
            received = storage.empty((len(numbers), *table.shape[1:]), table.dtype)
        call.of_all("the memory of scatter")
        begins, mine_begins = indexing.starts_of(counts), indexing.starts_of(mine)
        for source, target in ((questions, numbers), (given, received)):
            if table.row_bytes or source is questions:
                storage.exchange(source, begins, counts, target, mine_begins, mine)
        with call:
            local = table.local
            written = gpukern.scatter(local, numbers, received, **how)
            if written is not local:  # a new array, where the part is immutable, as one of JAX
                table._local = written
        call.of_all("the end of scatter")
    return table


def _values(table: DistributedArray, shape: tuple[int, ...], values: Any) -> Any:
    """Return a value for each index, as scatter converts and broadcasts them."""
    refuse_masked("scatter", values=values)
    if isinstance(values, DistributedArray):
        raise GpukernTypeError("scatter: values must not be a DistributedArray; pass its .local")
    whole = (*shape, *table.shape[1:])
    storage = table.storage
    device = device_of(values)
    if storage.device is not None and device not in (None, storage.device):
        values = gpukern.to_device(values, device).numpy()  # of another GPU of this rank
        device = None
    if not (
        isinstance(values, np.ndarray) and values.shape == whole and values.dtype == table.dtype
    ):
        # What is wrong with it, by the shape of the index.
        one, zeros = storage.empty((1, *table.shape[1:]), table.dtype), np.zeros(shape, np.int64)
        gpukern.explain(gpukern.scatter, one, zeros, values)
        empty = np.empty if device is None else storage.empty
        made = empty((1, *whole), table.dtype)
        gpukern.scatter(made, [0], values)
        values = made[0]
    return storage.put(values.reshape(int(np.prod(shape, dtype=np.int64)), *table.shape[1:]))
