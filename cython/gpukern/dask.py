# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy of Dask arrays, whose chunks are host arrays.

Results are lazy. A gather has a task for each chunk of the index, which orders the indices by the
chunk of the table, one for each pair of chunks, which gathers on the worker that has the chunk of
the table, and one for each chunk of the result. Only this module imports dask.
"""

import itertools
import sys
import uuid
from typing import Any, cast

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt

import gpukern
from gpukern.distributed.indexing import MODES, bucketed, rows_of
from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

__all__ = ["gather", "saxpy"]


def gather(
    table: da.Array, index: Any, *, axis: int = 0, mode: str = "raise", fill_value: Any = 0
) -> da.Array:
    """Take items of a Dask array along its first axis, as :func:`gpukern.gather`.

    Parameters
    ----------
    table : dask.array.Array
        Its chunks are NumPy arrays of known length. Chunks along other axes are merged.
    index : dask.array.Array or array_like of an integer dtype
        Of any shape. With a client of dask.distributed, chunks of a host array go to its workers at
        once; the graph has their futures only.
    axis : int
        Only 0.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        As in :func:`gpukern.gather`; 'raise' raises when the result is computed.
    fill_value : scalar
        For mode 'fill'.

    Returns
    -------
    dask.array.Array
        Of shape ``index.shape + table.shape[1:]``, in the chunks of the index.

    Raises
    ------
    IndexError
        In mode 'raise', when the result is computed.
    TypeError, ValueError
        For other invalid arguments.

    """
    if not isinstance(table, da.Array):
        raise GpukernTypeError(f"gather: table must be a dask.array, got {type(table).__name__}")
    if mode not in MODES:
        raise GpukernValueError(f"gather: mode must be one of {MODES}, got {mode!r}")
    if axis != 0 or table.ndim == 0:
        raise GpukernValueError(f"gather: axis of a Dask array must be 0, got {axis}")
    if any(np.isnan(size) for size in table.chunks[0]):
        raise GpukernValueError("gather: the chunks of table must have known lengths")
    asked = _as_dask(index, table.numblocks[0])
    if asked.dtype.kind not in "iu":
        raise GpukernTypeError(f"gather: index must be of an integer dtype, got {asked.dtype}")
    table = table.rechunk(dict.fromkeys(range(1, table.ndim), -1))
    starts = np.concatenate(([0], np.cumsum(table.chunks[0]))).astype(np.int64)
    parts = table.to_delayed(optimize_graph=False).reshape(-1)
    trailing = table.shape[1:]
    # Optimizing would leave the keys of futures only, and nothing to keep their data.
    blocks = asked.to_delayed(optimize_graph=False)
    result = np.empty(blocks.shape, object)
    route, serve = dask.delayed(_route, nout=len(parts) + 1), dask.delayed(_serve)
    assemble = dask.delayed(_assemble)
    for place in np.ndindex(blocks.shape):
        shape = tuple(sizes[n] for sizes, n in zip(asked.chunks, place, strict=True))
        order, *rows = route(blocks[place], starts, mode, place)
        found = [serve(part, row) for part, row in zip(parts, rows, strict=True)]
        made = assemble(order, found, shape, trailing, table.dtype, fill_value)
        result[place] = da.from_delayed(made, (*shape, *trailing), table.dtype)
    return _stacked(result, asked.numblocks)


def _stacked(blocks: npt.NDArray[Any], numblocks: tuple[int, ...]) -> da.Array:
    """Join blocks along the axes of the index."""
    if not numblocks:
        return cast("da.Array", blocks[()])
    for _ in numblocks:
        joined = np.empty(blocks.shape[:-1], object)
        for place in np.ndindex(joined.shape):
            joined[place] = da.concatenate(list(blocks[place]), axis=blocks.ndim - 1)
        blocks = joined
    return cast("da.Array", blocks[()])


def _as_dask(index: Any, parts: int) -> da.Array:
    if isinstance(index, da.Array):
        return index
    array = np.asarray(index)
    if array.size == 0 and isinstance(index, list):
        array = array.astype(np.int64)
    sizes = [-(-array.shape[0] // parts)] if array.ndim and array.size else []
    chunks = da.core.normalize_chunks(
        tuple(sizes) + array.shape[len(sizes) :], array.shape, dtype=array.dtype
    )
    distributed = sys.modules.get("distributed")
    try:
        client = None if distributed is None else distributed.get_client()
    except ValueError:  # there is none
        client = None
    if client is None:
        return da.from_array(array, chunks)
    name = f"gpukern-index-{uuid.uuid4().hex}"
    graph = {}
    ends = [np.cumsum((0, *each)) for each in chunks]
    for place in np.ndindex(*map(len, chunks)):
        part = array[tuple(slice(e[n], e[n + 1]) for e, n in zip(ends, place, strict=True))]
        graph[(name, *place)] = client.scatter(part, hash=False)
    return da.Array(graph, name, chunks, dtype=array.dtype)


def _route(
    index: npt.NDArray[Any], starts: npt.NDArray[np.int64], mode: str, place: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return the positions of the indices by chunk of the table, and the rows of each."""
    try:
        rows = rows_of(index, int(starts[-1]), mode, 0)
    except GpukernIndexError as error:
        text = str(error).replace("(rank 0, index", f"(chunk {place} of the index, index")
        raise GpukernIndexError(text) from None
    asked = bucketed(rows, starts)
    ends = [0, *itertools.accumulate(asked.counts.tolist())]
    return asked.order, *(asked.rows[a:b] for a, b in itertools.pairwise(ends))


def _serve(table: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if len(rows) == 0:  # of an empty chunk, too
        return np.empty((0, *table.shape[1:]), table.dtype)
    found: npt.NDArray[Any] = gpukern.gather(table, rows, mode="clip")
    return found


def _assemble(
    order: npt.NDArray[np.int64],
    found: list[npt.NDArray[Any]],
    shape: tuple[int, ...],
    trailing: tuple[int, ...],
    dtype: np.dtype[Any],
    fill_value: Any,
) -> npt.NDArray[Any]:
    """Put the rows into the order of the indices."""
    count = int(np.prod(shape, dtype=np.int64))
    out = np.empty((count, *trailing), dtype)
    if len(order) < count:
        none = np.empty((1, *trailing), dtype)
        out[...] = gpukern.gather(none, [1], mode="fill", fill_value=fill_value)
    begin = 0
    for rows in found:
        gpukern.scatter(out, order[begin : begin + len(rows)], rows, unique=True)
        begin += len(rows)
    return out.reshape((*shape, *trailing))


def saxpy(a: Any, x: da.Array, y: da.Array) -> da.Array:
    """Compute ``a * x + y`` of Dask arrays of one shape and dtype, as :func:`gpukern.saxpy`.

    Parameters
    ----------
    a : scalar
        As in :func:`gpukern.saxpy`.
    x, y : dask.array.Array
        Chunks that differ are made equal.

    Returns
    -------
    dask.array.Array

    """
    if x.shape != y.shape:
        raise GpukernValueError(f"saxpy: x and y must have one shape, got {x.shape} and {y.shape}")
    return da.map_blocks(_saxpy_of_blocks, x, y.rechunk(x.chunks), a=a, dtype=x.dtype, meta=x._meta)


def _saxpy_of_blocks(x: npt.NDArray[Any], y: npt.NDArray[Any], a: Any) -> npt.NDArray[Any]:
    made: npt.NDArray[Any] = gpukern.saxpy(a, x, y)
    return made
