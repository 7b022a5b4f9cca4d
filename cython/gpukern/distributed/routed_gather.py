# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather from a distributed array: each rank asks the others for rows, in bounded rounds."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import gpukern
from gpukern.distributed import indexing
from gpukern.distributed.array import DistributedArray
from gpukern.distributed.group import Agreement, Counts, collective, refuse_masked
from gpukern.errors import GpukernTypeError, GpukernValueError

INDEX_BYTES = 32  # of scratch memory for each index of a round
REPORT = 0.1  # seconds between two reports


def gather(
    table: DistributedArray,
    name: str,
    index: Any,
    *,
    mode: str,
    fill_value: Any,
    out: npt.NDArray[Any] | None,
    progress: Callable[[int, int], object] | None,
    **options: Any,
) -> Any:
    """Do what :func:`gpukern.gather` does, for the index of each rank."""
    numbers, fill = [0], np.empty(0)
    rows: Any = fill
    result: Any = fill
    with collective(table.group, name) as call:
        with call:
            indexing.require_rows(table, name, "gather", mode=mode, **options)
            fill = _fill_item(table, mode, fill_value)
            shape, rows = table.storage.rows_of("gather", index, len(table), mode)
            result = _result(table, shape, rows, out)
            if progress is not None and not callable(progress):
                raise GpukernTypeError(
                    f"gather: progress must be callable or None, got {type(progress).__name__}"
                )
            numbers = [len(rows)]
        longest = int(call.of_all(name, numbers, mode=mode, **table._identity).max())
        flat = result.reshape(len(rows), *table.shape[1:])
        limit = max(table.staging_memory // (2 * (table.row_bytes + INDEX_BYTES)), 1)
        report = _Report(progress, len(rows) * table.row_bytes)
        for begin in range(0, longest, limit) if table.row_bytes else ():
            part = slice(begin, begin + limit)
            _gather_part(call, table, rows[part], flat[part], fill, limit)
            with call:
                report(min(begin + limit, len(rows)) * table.row_bytes)
        call.of_all("the end of gather")
    if out is None:
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result
    if result is not out:
        gpukern.copyto(out, result)
    return out


def _fill_item(table: DistributedArray, mode: str, fill_value: Any) -> npt.NDArray[Any]:
    """Return an array of one item, the fill value as gather converts it."""
    if mode != "fill":
        return np.empty(0)
    none = np.empty((1, *table.shape[1:]), table.dtype)
    filled: npt.NDArray[Any] = gpukern.gather(none, [1], mode="fill", fill_value=fill_value)
    return filled


def _result(table: DistributedArray, wanted: tuple[int, ...], rows: Any, out: Any) -> Any:
    """Return C-contiguous memory for the result: that of `out` where nothing else reads it."""
    shape = (*wanted, *table.shape[1:])
    refuse_masked("gather", out=out)
    storage = table.storage
    if out is None:
        return storage.empty(shape, table.dtype)
    if storage.device is not None:
        if not storage.is_out(out):
            raise GpukernTypeError(
                f"gather: out must be an array on cuda:{storage.device}, got {type(out).__name__}"
            )
        # What is wrong with it otherwise.
        one = storage.empty((1, *table.shape[1:]), table.dtype)
        zeros = np.zeros(wanted, np.int64)
        gpukern.explain(gpukern.gather, one, zeros, mode="clip", out=out)
        return storage.empty(shape, table.dtype)
    if not isinstance(out, np.ndarray):
        raise GpukernTypeError(f"gather: out must be an ndarray, got {type(out).__name__}")
    if out.dtype != table.dtype:
        raise GpukernTypeError(f"gather: out must be of dtype {table.dtype}, got {out.dtype}")
    if out.shape != shape:
        raise GpukernValueError(f"gather: out must have shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise GpukernValueError("gather: out is read-only")
    read = (table.local, rows)  # in later rounds, too; the rows may be the index itself
    if not out.flags.c_contiguous or any(np.may_share_memory(out, each) for each in read):
        return np.empty(shape, table.dtype)
    return out


class _Report:
    """Calls back, at most ten times a second and at the end."""

    def __init__(self, progress: Callable[[int, int], object] | None, total: int) -> None:
        self.progress, self.total, self.next = progress, total, 0.0

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if self.progress is not None and (now >= self.next or done >= self.total):
            self.next = now + REPORT
            self.progress(done, self.total)


def _gather_part(
    call: Agreement,
    table: DistributedArray,
    rows: Any,
    out: Any,
    fill: npt.NDArray[Any],
    limit: int,
) -> None:
    """Gather some rows; the other ranks gather theirs."""
    rank, size = table.group.rank, table.group.size
    asked, counts = indexing.Buckets(rows, rows, rows), np.zeros(size, np.int64)
    positions: Any = None
    storage = table.storage
    found: Any = None
    with call:
        distinct, positions = storage.distinct(rows, len(table), table.row_bytes)
        asked = storage.bucketed(distinct, table.starts)
        counts = asked.counts.copy()
        counts[rank] = 0  # these do not leave the rank
        found = storage.empty((len(asked.rows), *out.shape[1:]), table.dtype)
    matrix = call.of_all("a part of gather", counts)
    begins = indexing.starts_of(asked.counts)
    questions, numbers, answers = found, found, found
    with call:
        own = slice(begins[rank], begins[rank] + asked.counts[rank])
        gpukern.gather(table.local, asked.rows[own], mode="clip", out=found[own])
        most = max((int(now[:, rank].sum()) for _, now in rounds(matrix, limit)), default=0)
        questions = storage.put(asked.rows)
        numbers = storage.empty((most,), asked.rows.dtype)
        answers = storage.empty((most, *out.shape[1:]), table.dtype)
    if matrix.any():
        call.of_all("the memory of gather")
    for done, now in rounds(matrix, limit):
        _exchange(call, table, questions, found, begins + done[rank], now, numbers, answers)
    with call:
        if len(asked.order) < len(distinct):
            gpukern.scatter(out, storage.missing(rows), storage.put(fill)[0])
        if positions is None:
            gpukern.scatter(out, asked.order, found, unique=True)
        else:
            # Rows in order are so by rank, too: the order is that of the distinct rows.
            gpukern.gather(found, positions, mode="clip", out=out)


def rounds(matrix: Counts, limit: int) -> Iterator[tuple[Counts, Counts]]:
    """Yield the rows that are done and those to do in each round, for each two ranks.

    No rank is asked for more than `limit` rows in a round, or for one row by each rank.
    """
    busiest = int(matrix.sum(axis=0).max())
    most = max(limit // len(matrix), 1) if busiest > limit else limit
    for begin in range(0, int(matrix.max()), most):
        yield np.minimum(matrix, begin), np.clip(matrix - begin, 0, most)


def _exchange(
    call: Agreement,
    table: DistributedArray,
    asked: Any,
    found: Any,
    begins: Counts,
    now: Counts,
    numbers: Any,
    answers: Any,
) -> None:
    """Ask the other ranks for rows, and answer them."""
    rank, exchange = table.group.rank, table.storage.exchange
    counts, served = now[rank], np.ascontiguousarray(now[:, rank])
    served_begins = indexing.starts_of(served)
    numbers, answers = numbers[: int(served.sum())], answers[: int(served.sum())]
    exchange(asked, begins, counts, numbers, served_begins, served)
    with call:
        gpukern.gather(table.local, numbers, mode="clip", out=answers)
    exchange(answers, served_begins, served, found, begins, counts)
