# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy of Dask arrays, whose chunks are host arrays.

Results are lazy. A gather has a task for each group of chunks of the index, which orders the
indices by the chunk of the table, two for each pair of a group and a chunk of the table, of which
one gathers on the worker that has that chunk, one for each group that orders the rows, and one for
each chunk of the result. Only this module imports dask.
"""

import copy
import functools
import itertools
import math
import operator
import sys
import uuid
from typing import Any, cast

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.highlevelgraph import HighLevelGraph

import gpukern
from gpukern.distributed.group import as_int, refuse_masked
from gpukern.distributed.indexing import MODES, as_index, bucketed, rows_of
from gpukern.errors import GpukernIndexError, GpukernTypeError, GpukernValueError

__all__ = ["gather", "saxpy"]

Sizes = tuple[int, ...]
LEAST = 1 << 17  # indices of a group of chunks: fewer are not worth the tasks
GROUP_BYTES = 1 << 27  # of the rows for a group of several chunks


def gather(
    table: da.Array, index: Any, *, axis: int = 0, mode: str = "raise", fill_value: Any = 0
) -> da.Array:
    """Take items of a Dask array along its first axis, as :func:`gpukern.gather`.

    Parameters
    ----------
    table : dask.array.Array
        Its chunks are NumPy arrays of known size. Chunks along other axes are merged.
    index : dask.array.Array or array_like of an integer dtype
        Of any shape. With a client of dask.distributed, chunks of a host array go to its workers at
        once, and the graph has their keys only.
    axis : int
        Only the first.
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
        For other invalid arguments, at once.

    Notes
    -----
    Small chunks of the index form groups of up to 131072 indices and 128 MiB of rows. The graph has
    two tasks for each pair of a group and a chunk of the table. Those pairs are left out of which
    the least and the greatest index of a chunk of a host array tell that they have nothing in
    common; so few are left where the index is sorted.

    """
    _require("gather", table=table)
    if not isinstance(mode, str) or mode not in MODES:
        raise GpukernValueError(f"gather: mode must be one of {MODES}, got {mode!r}")
    if table.ndim == 0:
        raise GpukernValueError("gather: table must have one dimension or more, got shape ()")
    if as_int("gather: axis", axis) not in (0, -table.ndim):
        raise GpukernValueError(f"gather: axis of a Dask array must be 0, got {axis}")
    trailing = table.shape[1:]
    if mode == "fill":
        _fill_item(trailing, table.dtype, fill_value)  # refuses what it must
        fill_value = copy.deepcopy(fill_value)
    table = table.rechunk(dict.fromkeys(range(1, table.ndim), -1))
    starts = np.concatenate(([0], np.cumsum(table.chunks[0]))).astype(np.int64)
    parts: dict[tuple[int, ...], tuple[int, int]] = {}
    if isinstance(index, da.Array):
        _require("gather", index=index)
        if index.dtype.kind not in "iu":
            raise GpukernTypeError(f"gather: index must be of an integer dtype, got {index.dtype}")
        asked = index
    else:
        asked, parts = _divided(as_index("gather", index), starts)
    chunks = asked.chunks + table.chunks[1:]
    if mode != "raise" and 0 in trailing:  # nothing is moved, not even from an empty axis
        return cast("da.Array", da.empty(asked.shape + trailing, dtype=table.dtype, chunks=chunks))
    name, zeros = f"gpukern-gather-{uuid.uuid4().hex}", (0,) * len(trailing)
    graph: dict[Any, Any] = {f"{name}-starts": starts}
    item = {"trailing": trailing, "dtype": table.dtype, "fill_value": fill_value}
    most = min(LEAST, GROUP_BYTES // max(math.prod(trailing) * table.dtype.itemsize, 1))
    for number, group in enumerate(_groups(asked.chunks, most)):
        ranges = [parts.get(place, (0, len(starts) - 1)) for place in group]
        first, last = min(a for a, _ in ranges), max(b for _, b in ranges)
        route, order, done = ((f"{name}-{step}", number) for step in ("route", "order", "done"))
        work = functools.partial(_route, mode=mode, shapes=group, first=first, last=last)
        graph[route] = (work, [(asked.name, *place) for place in group], f"{name}-starts")
        found = []
        for part in range(first, last):
            rows, served = (f"{name}-rows", number, part), (f"{name}-serve", number, part)
            graph[rows] = (operator.getitem, route, part - first + 1)
            graph[served] = (_serve, (table.name, part, *zeros), rows, table.chunks[0][part])
            found.append(served)
        graph[order] = (operator.getitem, route, 0)
        finish = functools.partial(_assemble, shapes=list(group.values()), **item)
        graph[done] = (finish, order, found)
        for i, place in enumerate(group):
            graph[(name, *place, *zeros)] = (operator.getitem, done, i)
    inputs: list[Any] = [table, asked]  # Dask does not declare its arrays as collections
    whole = HighLevelGraph.from_collections(name, graph, dependencies=inputs)
    return da.Array(whole, name, chunks, dtype=table.dtype)


def _require(function: str, **arrays: Any) -> None:
    """Raise an error for what is not a Dask array of NumPy arrays of known sizes."""
    for name, array in arrays.items():
        if not isinstance(array, da.Array):
            raise GpukernTypeError(
                f"{function}: {name} must be a dask.array, got {type(array).__name__}"
            )
        refuse_masked(function, **{f"a chunk of {name}": array._meta})
        if not isinstance(array._meta, np.ndarray) or array.dtype.hasobject:
            raise GpukernTypeError(
                f"{function}: {name} must be of NumPy arrays of a fixed-width dtype, got "
                f"{type(array._meta).__name__} of {array.dtype}"
            )
        if any(np.isnan(size) for size in array.shape):
            raise GpukernValueError(
                f"{function}: the chunks of {name} must have known sizes; "
                "its compute_chunk_sizes() finds them"
            )


def _groups(chunks: tuple[Sizes, ...], most: int) -> list[dict[Sizes, Sizes]]:
    """Return the shapes of chunks by place, in groups of up to `most` indices or of one chunk."""
    groups: list[dict[Sizes, Sizes]] = []
    count = most + 1
    for place in np.ndindex(*map(len, chunks)):
        shape = tuple(sizes[n] for sizes, n in zip(chunks, place, strict=True))
        count += math.prod(shape)
        if count > most:
            groups.append({})
            count = math.prod(shape)
        groups[-1][place] = shape
    return groups


class _Sent:
    """A chunk that a client has sent to workers, under its key in the graph.

    The scheduler of the client has that key. Another one, such as "sync", computes with this
    object instead.
    """

    def __init__(self, future: Any = None) -> None:
        self.future = future

    def __reduce__(self) -> Any:
        return _Sent, ()


def _divided(
    array: npt.NDArray[Any], starts: npt.NDArray[np.int64]
) -> tuple[da.Array, dict[tuple[int, ...], tuple[int, int]]]:
    """Return the index as a Dask array, and for each chunk the range of the table's chunks."""
    ends = [0, *array.shape[:1]]
    if array.ndim and array.size:
        least = -(-LEAST // math.prod(array.shape[1:]))
        rows = max(-(-len(array) // (len(starts) - 1)), least)
        ends = [*range(0, len(array), rows), len(array)]
    chunks = (tuple(b - a for a, b in itertools.pairwise(ends)), *((n,) for n in array.shape[1:]))
    chunks = chunks[: array.ndim]
    name = f"gpukern-index-{uuid.uuid4().hex}"
    graph: dict[Any, Any] = {}
    parts = {}
    for place in np.ndindex(*map(len, chunks)):
        part = array[ends[place[0]] : ends[place[0] + 1]] if place else array
        part = part.copy()  # the caller may write to the index before the result is computed
        graph[(name, *place)], parts[place] = part, _parts_of(part, starts)
    distributed = sys.modules.get("distributed")
    try:
        client = None if distributed is None else distributed.get_client()
    except ValueError:  # there is none
        client = None
    if client is not None:
        graph = {key: _Sent(each) for key, each in client.scatter(graph, hash=False).items()}
    return da.Array(graph, name, chunks, dtype=array.dtype), parts


def _parts_of(index: npt.NDArray[Any], starts: npt.NDArray[np.int64]) -> tuple[int, int]:
    least, greatest = (int(index.min()), int(index.max())) if index.size else (0, 0)
    if least < 0 or greatest >= starts[-1]:
        return 0, len(starts) - 1
    first, last = np.searchsorted(starts, [least, greatest], "right")
    return int(first) - 1, int(last)


def _route(
    chunks: list[Any],
    starts: npt.NDArray[np.int64],
    *,
    mode: str,
    shapes: dict[tuple[int, ...], tuple[int, ...]],
    first: int,
    last: int,
) -> tuple[Any, ...]:
    """Return the positions of the indices by chunk of the table, and the rows of each."""
    rows = []
    for index, (place, shape) in zip(chunks, shapes.items(), strict=True):
        if isinstance(index, _Sent):
            if getattr(index.future, "status", None) != "finished":  # the client may have ended
                raise GpukernValueError("gather: the workers have lost a chunk of index")
            index = index.future.result()
        refuse_masked("gather", **{"a chunk of index": index})
        if index.dtype.kind not in "iu":
            raise GpukernTypeError(
                f"gather: chunk {place} of index must be of an integer dtype, as its array says, "
                f"got {index.dtype}"
            )
        _require_shape(f"chunk {place} of index", shape, index)
        try:
            rows.append(rows_of(index, int(starts[-1]), mode, 0))
        except GpukernIndexError as error:
            text = str(error).replace("(rank 0, index", f"(chunk {place} of the index, index")
            raise GpukernIndexError(text) from None
    asked = bucketed(rows[0] if len(rows) == 1 else np.concatenate(rows), starts[first : last + 1])
    ends = [0, *itertools.accumulate(asked.counts.tolist())]
    return asked.order, *(asked.rows[a:b] for a, b in itertools.pairwise(ends))


def _require_shape(name: str, shape: tuple[int, ...], chunk: npt.NDArray[Any]) -> None:
    if chunk.shape != shape:
        raise GpukernValueError(
            f"gather: {name} must have shape {shape}, as its array says, got {chunk.shape}"
        )


def _serve(table: npt.NDArray[Any], rows: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    refuse_masked("gather", **{"a chunk of table": table})
    _require_shape("a chunk of table", (count, *table.shape[1:]), table)
    if len(rows) == 0:  # of an empty chunk, too
        return np.empty((0, *table.shape[1:]), table.dtype)
    return np.asarray(gpukern.gather(table, rows, mode="clip"))


def _assemble(
    order: npt.NDArray[np.int64],
    found: list[npt.NDArray[Any]],
    *,
    shapes: list[tuple[int, ...]],
    trailing: tuple[int, ...],
    dtype: np.dtype[Any],
    fill_value: Any,
) -> list[npt.NDArray[Any]]:
    """Put the rows into the order of the indices; return those of each chunk of the index."""
    ends = list(itertools.accumulate(map(math.prod, shapes), initial=0))
    count = ends[-1]
    out = np.empty((count, *trailing), dtype)
    if len(order) < count:
        out[...] = _fill_item(trailing, dtype, fill_value)
    begin = 0
    for rows in found:
        gpukern.scatter(out, order[begin : begin + len(rows)], rows, unique=True)
        begin += len(rows)
    if len(shapes) == 1:
        return [out.reshape((*shapes[0], *trailing))]
    # Copies: a chunk that is kept must not keep the others.
    return [
        out[a:b].reshape((*shape, *trailing)).copy()
        for shape, (a, b) in zip(shapes, itertools.pairwise(ends), strict=True)
    ]


def _fill_item(
    trailing: tuple[int, ...], dtype: np.dtype[Any], fill_value: Any
) -> npt.NDArray[Any]:
    none = np.empty((1, *trailing), dtype)
    item: npt.NDArray[Any] = gpukern.gather(none, [1], mode="fill", fill_value=fill_value)
    return item


def saxpy(a: Any, x: da.Array, y: da.Array) -> da.Array:
    """Compute ``a * x + y`` of Dask arrays of one shape, as :func:`gpukern.saxpy`.

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
    _require("saxpy", x=x, y=y)
    if x.shape != y.shape:
        raise GpukernValueError(f"saxpy: x and y must have one shape, got {x.shape} and {y.shape}")
    if np.ndim(a) != 0:
        raise GpukernTypeError(f"saxpy: a must be a scalar, got an array of shape {np.shape(a)}")
    none = (0,) * x.ndim
    a = copy.deepcopy(a)
    meta = gpukern.saxpy(a, np.empty(none, x.dtype), np.empty(none, y.dtype))  # may refuse them
    made = da.map_blocks(_saxpy_of_blocks, x, y.rechunk(x.chunks), a=a, dtype=meta.dtype, meta=meta)
    return cast("da.Array", made)


def _saxpy_of_blocks(x: npt.NDArray[Any], y: npt.NDArray[Any], a: Any) -> npt.NDArray[Any]:
    refuse_masked("saxpy", **{"a chunk of x": x, "a chunk of y": y})
    return np.asarray(gpukern.saxpy(a, x, y))
