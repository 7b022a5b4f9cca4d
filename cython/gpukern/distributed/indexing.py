# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The indices of a call on a distributed array: their rows, and the ranks that have these."""

import contextlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import gpukern
from gpukern.distributed.array import DistributedArray
from gpukern.distributed.group import Counts, refuse_masked
from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

FEW = 8  # ranks up to which a pass for each is faster than a sort
CUDA_DEVICES = (2, 13)  # DLPack's numbers of device and of managed memory
SAMPLE = 4096
LEAST_DISTINCT = 16  # bytes of a row from which it may pay to send it once
# Rows of the table for each index, up to which an array as long as the table finds distinct ones.
MOST_SPARSE, MOST_SPARSE_ON_GPU = 8, 2
MODES = ("raise", "wrap", "clip", "fill")


def device_of(*arrays: Any) -> int | None:
    """Return the number of the GPU of the first array that is on one."""
    for array in arrays:
        where = getattr(array, "__dlpack_device__", None)
        if where is not None and not isinstance(array, np.ndarray):
            kind, number = where()
            if int(kind) in CUDA_DEVICES:
                return int(number)
    return None


def as_index(function: str, index: Any) -> npt.NDArray[Any]:
    """Return the index as an ndarray of an integer dtype, in host memory."""
    if isinstance(index, tuple):
        raise GpukernTypeError(f"{function}: index must be one array, got a tuple")
    refuse_masked(function, index=index)
    device = device_of(index)
    given = index if device is None else gpukern.to_device(index, device).numpy()
    made: npt.NDArray[Any] | None = None
    with contextlib.suppress(TypeError, ValueError):  # which the call below raises, with its name
        made = np.asarray(given)
    if made is not None and made.size == 0 and isinstance(index, list):
        made = made.astype(np.int64)
    if made is None or made.dtype.kind not in "iu":
        if function == "scatter":
            gpukern.scatter(np.empty(1), given, 0, mode="clip")
        else:
            gpukern.gather(np.empty(1), given, mode="clip")
        raise GpukernTypeError(f"{function}: index must be an array of an integer dtype")
    return made


def require_rows(
    table: DistributedArray,
    name: str,
    function: str,
    *,
    axis: Any,
    mode: Any,
    device: Any,
    stream: Any,
    device_memory: Any = None,
) -> None:
    """Raise an error for another function and for options that are not supported."""
    if name != function:
        raise GpukernTypeError(f"{name}: a DistributedArray is not supported; pass its .local")
    if device is not None or stream is not None:
        raise GpukernValueError(f"{name}: a DistributedArray takes neither device nor stream")
    if device_memory is not None:
        raise GpukernValueError(
            f"{name}: a DistributedArray takes no device_memory; its staging_memory limits a call"
        )
    if mode not in MODES:
        raise GpukernValueError(
            f"{name}: mode must be 'raise', 'wrap', 'clip' or 'fill', got {mode!r}"
        )
    if axis not in (0, -table.ndim) and not (axis is None and table.ndim == 1):
        raise GpukernValueError(
            f"{name}: axis of a DistributedArray must be 0, which is divided among the ranks, "
            f"got {axis}"
        )


def rows_of(index: npt.NDArray[Any], length: int, mode: str, rank: int) -> Counts:
    """Return the row of each index, in C order; -1 for one out of bounds in mode 'fill'.

    Raises an IndexError in mode 'raise', and in any for an index into an empty axis.
    """
    flat = np.ascontiguousarray(index, index.dtype.newbyteorder("=")).reshape(-1)
    if flat.size == 0:
        return flat.astype(np.int64)
    least, greatest = int(flat.min()), int(flat.max())
    if least >= 0 and greatest < length:
        return flat.astype(np.int64, copy=False)
    if mode == "clip" and length:
        bound: Counts = np.clip(flat, 0, min(length - 1, np.iinfo(flat.dtype).max))
        return bound.astype(np.int64)
    if mode == "wrap" and length:
        if flat.dtype == np.uint64:
            return (flat % np.uint64(length)).astype(np.int64)
        wrapped: Counts = flat.astype(np.int64) % length
        return wrapped
    good = flat < length
    if flat.dtype.kind == "i":
        good &= flat.astype(np.int64, copy=False) >= -length
    bad = np.flatnonzero(~good)
    if bad.size and (mode != "fill" or not length):
        raise GpukernIndexError(
            f"index {flat[bad[0]]} is out of bounds for axis 0 with size {length} "
            f"(rank {rank}, index {bad[0]} in C order)"
        )
    rows = flat.astype(np.int64)
    rows[rows < 0] += length
    rows[bad] = -1
    return rows


@dataclass
class Buckets:
    """Rows by the rank that has them.

    `order` has the positions of the rows that are asked for, by rank; `rows` their numbers within
    that rank; `counts` their number for each rank. The first two are where the indices are.
    """

    order: Any
    rows: Any
    counts: Counts


def bucketed(rows: Counts, starts: Counts) -> Buckets:
    """Order rows by the rank that has them; rows of one rank keep their order. Leaves out -1."""
    size = len(starts) - 1
    if size <= FEW:
        parts = [np.flatnonzero((rows >= a) & (rows < b)) for a, b in itertools.pairwise(starts)]
        counts = np.array([len(part) for part in parts], np.int64)
        order = np.concatenate(parts)
    else:
        kind: type[np.integer] = np.uint16 if size < 2**16 else np.int64
        owners = np.searchsorted(starts[1:-1], rows, "right").astype(kind)
        order = np.argsort(owners, kind="stable")  # a radix sort, of 16 bits
        counts = np.bincount(owners, minlength=size).astype(np.int64)
        missing = np.count_nonzero(rows < 0)
        if missing:  # they are with those of rank 0
            order = order[rows[order] >= 0]
            counts[0] -= missing
    local = np.empty(len(order), number_type(starts))
    for begin, count, start in zip(starts_of(counts), counts, starts[:-1], strict=True):
        part = slice(begin, begin + count)
        np.subtract(rows[order[part]], start, out=local[part], casting="unsafe")
    return Buckets(order, local, counts)


def number_type(starts: Counts) -> type[np.signedinteger[Any]]:
    """Return the dtype of a row's number within its rank, which all ranks send and expect."""
    return np.int32 if np.diff(starts).max() < 2**31 else np.int64


def starts_of(counts: Counts) -> Counts:
    """Return the position of the first of each count."""
    starts: Counts = np.cumsum(counts) - counts
    return starts


def distinct_rows(rows: Counts, length: int, row_bytes: int) -> tuple[Counts, Counts | None]:
    """Return each row once, in order, and the positions in these; if slower, the rows and None."""
    if not repeats(rows, length, row_bytes):
        return rows, None
    if length > MOST_SPARSE * len(rows):
        return np.unique(rows, return_inverse=True)
    present = np.zeros(length, bool)
    present[rows] = True
    distinct = gpukern.nonzero(present)[0]
    place = np.empty(length, np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[rows]


def repeats(rows: Counts, length: int, row_bytes: int) -> bool:
    """Whether it pays to send each row once."""
    count = len(rows)
    if count < SAMPLE or row_bytes < LEAST_DISTINCT or (rows < 0).any():
        return False
    return pays(rows[:: count // SAMPLE][:SAMPLE], count, length, row_bytes)


def pays(sample: Counts, count: int, length: int, row_bytes: int) -> bool:
    """Whether to send each of `count` rows once.

    A sample tells: of s rows, s**2 / 2 / d pairs are equal where d rows are equally frequent.
    """
    pairs = SAMPLE - len(np.unique(sample))
    likely = min(SAMPLE**2 / 2 / max(pairs, 1), length)
    return likely <= count / 2 and (length <= MOST_SPARSE * count or row_bytes >= 256)
