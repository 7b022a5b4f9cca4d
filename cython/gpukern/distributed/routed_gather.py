# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather from a distributed array: each rank asks the others for rows, in bounded rounds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

import gpukern
from gpukern.distributed import indexing
from gpukern.distributed.array import DistributedArray
from gpukern.distributed.group import LAG, Agreement, Counts, Transfer, collective, refuse_masked
from gpukern.errors import GpukernTypeError, GpukernValueError

INDEX_BYTES = 32  # of scratch memory for each index of a round
BUFFERS = 5  # of rows: two to send, two that were received, one for those of the rank itself
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
    numbers, fill = [1, 0], np.empty(0)
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
            numbers = [_parts(table, rows), progress is not None]
        parts, reports = call.of_all(name, numbers, mode=mode, **table._identity).max(axis=0)
        flat = result.reshape(len(rows), *table.shape[1:])
        each = max(-(-len(rows) // int(parts)), 1)
        report = _Report(progress, len(rows), table.row_bytes)
        for begin in range(0, int(parts) * each, each) if table.row_bytes else ():
            part, report.before = slice(begin, begin + each), min(begin, len(rows))
            _gather_part(call, table, rows[part], flat[part], fill, report if reports else None)
        call.of_all("the end of gather")
    if out is None:
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result
    if result is not out:
        gpukern.copyto(out, result)
    return out


def _parts(table: DistributedArray, rows: Any) -> int:
    """Return the number of parts: rows that are sent once are all in memory at the same time."""
    if not table.row_bytes or not table.storage.repeats(rows, len(table), table.row_bytes):
        return 1
    parts = -(-len(rows) * 2 * (table.row_bytes + INDEX_BYTES) // table.staging_memory)
    return min(parts, len(rows))


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
        zeros = storage.empty(wanted, np.int64)  # not read
        gpukern.explain(gpukern.gather, one, zeros, mode="clip", out=out)
    elif not isinstance(out, np.ndarray):
        raise GpukernTypeError(f"gather: out must be an ndarray, got {type(out).__name__}")
    elif out.dtype != table.dtype:
        raise GpukernTypeError(f"gather: out must be of dtype {table.dtype}, got {out.dtype}")
    elif out.shape != shape:
        raise GpukernValueError(f"gather: out must have shape {shape}, got {out.shape}")
    elif not out.flags.writeable:
        raise GpukernValueError("gather: out is read-only")
    # Later rounds read as well; the rows may be the index itself.
    is_separate = storage.can_write(out, (table.local, rows))
    return out if is_separate else storage.empty(shape, table.dtype)


class _Report:
    """Calls back, at most ten times a second and at the end."""

    def __init__(
        self, progress: Callable[[int, int], object] | None, rows: int, row_bytes: int
    ) -> None:
        self.progress, self.total, self.row_bytes = progress, rows * row_bytes, row_bytes
        self.before, self.next = 0, 0.0

    def __call__(self, rows: int) -> None:
        done = (self.before + rows) * self.row_bytes
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
    report: Callable[[int], object] | None,
) -> None:
    """Gather some rows; the other ranks gather theirs."""
    group, storage = table.group, table.storage
    asked, counts = indexing.Buckets(rows, rows, rows), np.zeros(group.size, np.int64)
    positions: Any = None
    moves: _Moves | None = None
    with call:
        distinct, positions = storage.distinct(rows, len(table), table.row_bytes)
        asked = storage.bucketed(distinct, table.starts)
        counts = asked.counts.copy()
        counts[group.rank] = 0  # these do not leave the rank
    matrix = call.of_all("a part of gather", counts)
    with call:
        limit = max(table.staging_memory // (BUFFERS * (table.row_bytes + INDEX_BYTES)), 1)
        found, places = out, None
        if positions is None and storage.can_receive(out):
            places = storage.places(asked)
        if positions is not None or (places is None and len(asked.order) <= limit):
            found = storage.empty((len(asked.order), *out.shape[1:]), table.dtype)
            places = indexing.starts_of(asked.counts)
        moves = _Moves(table, asked, found, places, matrix, limit)
    if matrix.any():
        call.of_all("the memory of gather")
    with call:
        if len(asked.order) < len(distinct):
            item = storage.put(fill)[0]
            gpukern.scatter(out, storage.missing(rows), item, mode="clip", **storage.options)
    if moves is not None:
        with moves.ended_by_errors(call):
            for done in moves.all_steps(call):
                if report is not None:
                    with call:
                        done += len(distinct) - len(asked.order)  # written before
                        report(done if positions is None else done * len(rows) // len(distinct))
                    call.of_all("a step of gather")
    with call:
        if positions is not None:
            gpukern.gather(found, positions, mode="clip", out=out, **storage.options)
        elif moves is not None and found is not out:
            order = moves.order
            gpukern.scatter(out, order, found, mode="clip", unique=True, **storage.options)


class _Moves:
    """The memory and the steps of a part.

    In a step, a rank asks for the rows of a round, receives those for which it asked LAG steps
    before, finds those for which the others ask, and writes what it received to its places. The
    next step exchanges meanwhile, so there are two of each buffer.
    """

    def __init__(
        self,
        table: DistributedArray,
        asked: indexing.Buckets,
        out: Any,
        places: Counts | None,  # where in `out` the rows of each rank are received
        matrix: Counts,
        limit: int,
    ) -> None:
        storage, rank = table.storage, table.group.rank
        self.table, self.asked, self.out, self.places = table, asked, out, places
        self.rank, self.limit = rank, limit
        # For each round: the rows that are done, to receive and to send, by rank.
        self.plan = [
            (done[rank].copy(), now[rank].copy(), now[:, rank].copy())
            for done, now in rounds(matrix, limit)
        ]
        self.begins = indexing.starts_of(asked.counts)
        # No step may wait for the GPU, which waits for the other ranks: one of them may have ended.
        self.rows, self.order = storage.put(asked.rows), storage.put(asked.order)
        served = max((int(send.sum()) for _, _, send in self.plan), default=0)
        received = max((int(receive.sum()) for _, receive, _ in self.plan), default=0)
        shape = out.shape[1:]

        def two(count: int, *rest: int, dtype: Any = table.dtype) -> list[Any]:
            first = storage.empty((count, *rest), dtype)
            return [first, storage.empty((count, *rest), dtype) if len(self.plan) > 1 else first]

        self.numbers = two(served, dtype=asked.rows.dtype)
        self.answers = two(served, *shape)
        self.found = [out, out] if self.places is not None else two(received, *shape)
        arrays = [self.rows, *self.numbers, *self.answers, *self.found]
        self.steps = storage.steps(arrays) if self.plan else None

    @contextmanager
    def ended_by_errors(self, call: Agreement) -> Iterator[None]:
        """End the exchanges of the other ranks for an error of the block that they do not have."""
        try:
            yield
        except BaseException as error:
            if error is not call.agreed and self.steps is not None:
                self.steps.leave(f"stopped in gather: {type(error).__name__}")
            raise

    def all_steps(self, call: Agreement) -> Iterator[int]:
        """Do each step; yield the number of rows of this rank that are written, or will be."""
        written = int(self.asked.counts[self.rank])
        for step in range(len(self.plan) + LAG if self.plan else 0):
            transfers = self._transfers(step)
            if transfers and self.steps is not None:
                self.steps.exchange(step, transfers)
            with call:
                self._compute(step)
            if self.steps is not None:
                self.steps.computed(step)
            if step == LAG - 1:  # meanwhile the first rows arrive
                with call:
                    self._copy_own()
            if step >= LAG - 1:
                written += int(self.plan[step - LAG][1].sum()) if step >= LAG else 0
                yield written
        if self.steps is None:
            with call:
                self._copy_own()
            yield written
        else:
            self.steps.finish()

    def _transfers(self, step: int) -> list[Transfer]:
        """Return what is exchanged in a step."""
        made: list[Transfer] = []
        slot = step % LAG
        if step < len(self.plan):
            done, wanted, served = self.plan[step]
            at = self.begins + done
            to = indexing.starts_of(served)
            made.append((self.rows, at, wanted, self.numbers[slot], to, served))
        if step >= LAG:
            done, wanted, served = self.plan[step - LAG]
            own = indexing.starts_of(wanted) if self.places is None else self.places + done
            at = indexing.starts_of(served)
            made.append((self.answers[slot], at, served, self.found[slot], own, wanted))
        return made

    def _compute(self, step: int) -> None:
        """Find the rows to send, and write those that were received."""
        slot, options = step % LAG, self.table.storage.options
        if step < len(self.plan):
            count = int(self.plan[step][2].sum())
            numbers, answers = self.numbers[slot][:count], self.answers[slot][:count]
            gpukern.gather(self.table.local, numbers, mode="clip", out=answers, **options)
        if step >= LAG and self.places is None:
            done, wanted, _ = self.plan[step - LAG]
            self._write(self.begins + done, wanted, self.found[slot])

    def _write(self, begins: Counts, counts: Counts, found: Any) -> None:
        """Write rows to their places, by few calls where they are neighbours in the order."""
        pieces: list[list[int]] = []
        for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
            if pieces and sum(pieces[-1]) == begin:
                pieces[-1][1] += count
            elif count:
                pieces.append([begin, count])
        at, options = 0, self.table.storage.options
        for begin, count in pieces:
            order, part = self.order[begin : begin + count], found[at : at + count]
            gpukern.scatter(self.out, order, part, mode="clip", unique=True, **options)
            at += count

    def _copy_own(self) -> None:
        """Copy the rows that are on this rank."""
        storage, local = self.table.storage, self.table.local
        begin, count = int(self.begins[self.rank]), int(self.asked.counts[self.rank])
        if self.places is not None:
            to = int(self.places[self.rank])
            part, rows = self.out[to : to + count], self.rows[begin : begin + count]
            gpukern.gather(local, rows, mode="clip", out=part, **storage.options)
            return
        each = min(self.limit, count)
        found = storage.empty((each, *self.out.shape[1:]), self.table.dtype)
        for done in range(begin, begin + count, max(each, 1)):
            rows = self.rows[done : min(done + each, begin + count)]
            part = found[: len(rows)]
            gpukern.gather(local, rows, mode="clip", out=part, **storage.options)
            self._write(np.array([done]), np.array([len(rows)]), part)


def rounds(matrix: Counts, limit: int) -> Iterator[tuple[Counts, Counts]]:
    """Yield the rows that are done and those to do in each round, for each two ranks.

    No rank sends or receives more than `limit` rows in a round, or one row for each rank.
    """
    busiest = int(max(matrix.sum(axis=0).max(), matrix.sum(axis=1).max()))
    most = max(limit // len(matrix), 1) if busiest > limit else limit
    for begin in range(0, int(matrix.max()), most):
        yield np.minimum(matrix, begin), np.clip(matrix - begin, 0, most)
