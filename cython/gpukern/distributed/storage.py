# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where the parts of a distributed array are, and how rows get from one rank to another."""

import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import gpukern
from gpukern._interop.numpy_subclasses import is_view_of_fields
from gpukern.distributed import indexing
from gpukern.distributed.cuda_driver import Driver
from gpukern.distributed.group import Counts, Group, Transfer, collective, exchange_rows
from gpukern.distributed.indexing import device_of
from gpukern.distributed.nccl import Nccl, NcclSteps, open_library
from gpukern.errors import CompileError, GpukernDeviceError


class HostStorage:
    """Rows in host memory, which the group exchanges."""

    device: int | None = None
    options: ClassVar[dict[str, Any]] = {}  # of calls between exchanges

    def __init__(self, group: Group) -> None:
        self._group = group

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array, not initialized."""
        return np.empty(shape, dtype)

    def put(self, array: Any) -> Any:
        """Return an array of the host as one of this storage."""
        return array

    def is_out(self, out: Any) -> bool:
        """Whether an array can be an output."""
        return isinstance(out, np.ndarray)

    def rows_of(
        self, function: str, index: Any, length: int, mode: str
    ) -> tuple[tuple[int, ...], Any]:
        """Return the shape of an index, and the row of each in C order."""
        wanted = indexing.as_index(function, index)
        return wanted.shape, indexing.rows_of(wanted, length, mode, self._group.rank)

    def distinct(self, rows: Any, length: int, row_bytes: int) -> tuple[Any, Any]:
        """Return each row once, in order, and the positions in these; if slower, rows and None."""
        return indexing.distinct_rows(rows, length, row_bytes)

    def bucketed(self, rows: Any, starts: Counts) -> "indexing.Buckets":
        """Order rows by the rank that has them."""
        return indexing.bucketed(rows, starts)

    def missing(self, rows: Any) -> Any:
        """Return the positions of -1."""
        return np.flatnonzero(rows < 0)

    def places(self, asked: "indexing.Buckets") -> Counts | None:
        """Return where the rows of each rank go, if those of no rank are between others."""
        begins = indexing.starts_of(asked.counts)
        full = asked.counts > 0
        ends = np.concatenate((begins[full], (begins + asked.counts - 1)[full]))
        first, last = self._at(asked.order, ends).reshape(2, -1)
        if (last - first + 1 != asked.counts[full]).any():
            return None
        begins[full] = first
        return begins

    def _at(self, array: Any, positions: Counts) -> Counts:
        found: Counts = array[positions]
        return found

    def repeats(self, rows: Any, length: int, row_bytes: int) -> bool:
        """Whether it pays to send each row once."""
        return indexing.repeats(rows, length, row_bytes)

    def can_receive(self, array: Any) -> bool:
        """Whether rows can be received into an array of this storage."""
        return isinstance(array, np.ndarray)

    def can_write(self, out: Any, read: Sequence[Any]) -> bool:
        """Whether a result may be written to `out`, C-contiguous, while arrays are read."""
        if not out.flags.c_contiguous or is_view_of_fields(out):
            return False
        return not any(np.may_share_memory(out, each) for each in read)

    def steps(self, arrays: Sequence[Any]) -> "HostSteps | NcclSteps":
        """Return the steps of a call that sends and receives these arrays."""
        return HostSteps(self)

    def exchange(self, *transfer: Any) -> None:
        """Send rows to each rank, and receive rows from each; see exchange_rows() of group."""
        rows, starts, counts, received, *places = transfer
        exchange_rows(self._group, as_bytes(rows), starts, counts, as_bytes(received), *places)


class HostSteps:
    """The exchanges of a call, each of which is complete when it returns."""

    def __init__(self, storage: HostStorage) -> None:
        self._storage = storage

    def exchange(self, step: int, transfers: Sequence[Transfer]) -> None:
        """Exchange rows."""
        for transfer in transfers:
            self._storage.exchange(*transfer)

    def computed(self, step: int) -> None:
        """Do nothing: what was computed is there."""

    def finish(self) -> None:
        """Do nothing, likewise."""

    def leave(self, reason: str) -> None:
        """Do nothing: who calls this leaves the group."""


class GpuStorage(HostStorage):
    """Rows on a GPU: NCCL exchanges them, or the group by way of the host."""

    options: ClassVar[dict[str, Any]] = {"stream": 0}

    def __init__(self, group: Group, device: int, nccl: Nccl | None) -> None:
        super().__init__(group)
        self.device, self._gpu = device, device
        self._nccl = nccl
        self._has_programs = True

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array, not initialized."""
        return gpukern.empty(shape, dtype, self._gpu)

    def put(self, array: Any) -> Any:
        """Return an array of the host as one of this storage."""
        return gpukern.to_device(array, self._gpu) if isinstance(array, np.ndarray) else array

    def is_out(self, out: Any) -> bool:
        """Whether an array can be an output."""
        return device_of(out) == self.device

    def rows_of(
        self, function: str, index: Any, length: int, mode: str
    ) -> tuple[tuple[int, ...], Any]:
        """Return the shape of an index, and the row of each, on the GPU if it has programs."""
        from gpukern.distributed import device_indexing

        if isinstance(index, tuple) or length == 0 or not self._has_programs:
            return super().rows_of(function, index, length, mode)
        if device_of(index) != self.device:  # on the host, or on another GPU of this rank
            index = indexing.as_index(function, index)
        there = gpukern.to_device(index, self._gpu)
        if there.dtype.kind not in "iu" or there.dtype == np.uint64:
            return super().rows_of(function, index, length, mode)
        try:
            rows = device_indexing.rows_of(there, self.empty((there.size,), np.int64), length, mode)
        except (CompileError, GpukernDeviceError):  # without NVRTC
            self._has_programs = False
            return super().rows_of(function, index, length, mode)
        if mode == "raise" and device_indexing.any_missing(rows):
            return super().rows_of(function, index, length, mode)  # which raises
        return there.shape, rows

    def distinct(self, rows: Any, length: int, row_bytes: int) -> tuple[Any, Any]:
        """Return each row once, in order, and the positions in these; if slower, rows and None."""
        from gpukern.distributed import device_indexing

        if isinstance(rows, np.ndarray):
            return super().distinct(rows, length, row_bytes)
        if not self.repeats(rows, length, row_bytes):
            return rows, None
        return device_indexing.distinct(rows, length, self.empty)

    def repeats(self, rows: Any, length: int, row_bytes: int) -> bool:
        """Whether it pays to send each row once."""
        from gpukern.distributed import device_indexing

        if isinstance(rows, np.ndarray):
            return super().repeats(rows, length, row_bytes)
        count = len(rows)
        if count < indexing.SAMPLE or row_bytes < indexing.LEAST_DISTINCT:
            return False
        if length > indexing.MOST_SPARSE_ON_GPU * count:  # would take a sort, or much memory
            return False
        sample = rows[:: count // indexing.SAMPLE][: indexing.SAMPLE].numpy()
        if not indexing.pays(sample, count, length, row_bytes):
            return False
        return not device_indexing.any_missing(rows)

    def bucketed(self, rows: Any, starts: Counts) -> "indexing.Buckets":
        """Order rows by the rank that has them."""
        from gpukern.distributed import device_indexing

        if isinstance(rows, np.ndarray):
            return super().bucketed(rows, starts)
        return device_indexing.bucketed(rows, starts, self.empty)

    def missing(self, rows: Any) -> Any:
        """Return the positions of -1."""
        from gpukern.distributed import device_indexing

        if isinstance(rows, np.ndarray):
            return super().missing(rows)
        return device_indexing.missing(rows)

    def _at(self, array: Any, positions: Counts) -> Counts:
        found: Counts = gpukern.gather(self.put(array), positions, mode="clip").numpy()
        return found

    def can_receive(self, array: Any) -> bool:
        """Whether rows can be received into an array of this storage."""
        return isinstance(array, gpukern.DeviceArray)

    def can_write(self, out: Any, read: Sequence[Any]) -> bool:
        """Whether a result may be written to `out`, C-contiguous, while arrays are read."""
        wanted = _extent(out)
        others = [_extent(each) for each in read if not isinstance(each, np.ndarray)]
        return wanted is not None and all(
            each is not None and (wanted[1] <= each[0] or each[1] <= wanted[0]) for each in others
        )

    def steps(self, arrays: Sequence[Any]) -> "HostSteps | NcclSteps":
        """Return the steps of a call that sends and receives these arrays."""
        return HostSteps(self) if self._nccl is None else self._nccl.steps(arrays)

    def exchange(self, *transfer: Any) -> None:
        """Send rows to each rank, and receive rows from each; see exchange_rows() of group."""
        rows, starts, counts, received, *places = transfer
        if self._nccl is not None:
            steps = self._nccl.steps([rows, received])
            steps.exchange(0, [(rows, starts, counts, received, places[0], places[1])])
            steps.finish()
            return
        sent, to = _used(starts, counts), _used(*places)
        part = received[to]
        found = np.empty(part.shape, part.dtype)
        at = places[0] - to.start
        super().exchange(rows[sent].numpy(), starts - sent.start, counts, found, at, places[1])
        for begin, count in zip(at, places[1], strict=True):
            these = slice(int(begin), int(begin + count))  # the others keep their rows
            gpukern.copyto(part[these], found[these])


def _used(starts: Counts, counts: Counts) -> slice:
    """Return the range with all rows that a transfer reads or writes."""
    full = counts > 0
    if not full.any():
        return slice(0, 0)
    return slice(int(starts[full].min()), int((starts + counts)[full].max()))


def _extent(array: Any) -> tuple[int, int] | None:
    """Return the addresses of a C-contiguous array on a GPU, None for others."""
    try:
        interface = array.__cuda_array_interface__
    except (AttributeError, TypeError, ValueError, RuntimeError):  # which a dtype may not have
        return None
    size = np.dtype(interface["typestr"]).itemsize
    strides, step = list[int](), size
    for length in reversed(interface["shape"]):
        strides.insert(0, step)
        step *= length
    if interface.get("strides") not in (None, tuple(strides)):
        return None
    begin = int(interface["data"][0])
    return begin, begin + step


def gpu_storage(group: Group, device: int) -> GpuStorage:
    """Return the storage of a device of each rank, which all ranks make together.

    A group keeps its communicators: making one takes seconds.
    """
    known: dict[tuple[int, ...], GpuStorage] = getattr(group, "__dict__", {}).setdefault(
        "_gpukern_storages", {}
    )
    library, identity = None, ""
    driver: Driver | None = None
    with collective(group, "NCCL") as call:
        devices = tuple(call.of_all("the GPUs of NCCL", [device])[:, 0].tolist())
        if devices in known:
            return known[devices]
        with call:
            library = open_library() if group.size > 1 else None
            if library is not None:
                driver = Driver(device)
                identity = driver.identity()
        call.of_all("the library of NCCL")
        identities = [each.decode() for each in group.all_gather(identity.encode())]
        nccl: Nccl | None = None
        # Without NCCL on a rank, or another GPU for each, rows go through the host.
        if library is not None and driver is not None and len({*identities, ""}) > group.size:
            nccl = Nccl(library, group, driver)
        # Without a cycle, a communicator ends with its group. The garbage collector could end it
        # during a call of another one, which waits for that.
        own: Any = weakref.proxy(group) if hasattr(group, "__weakref__") else group
        known[devices] = GpuStorage(own, device, nccl)
    return known[devices]


def as_bytes(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return C-contiguous rows as an array of bytes, of two dimensions."""
    width = rows.dtype.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
    flat = rows.reshape(-1).view(np.dtype((np.void, rows.dtype.itemsize)))
    return flat.view(np.uint8).reshape(len(rows), width)
