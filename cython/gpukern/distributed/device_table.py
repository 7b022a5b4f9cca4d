# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DeviceTable: a distributed array in the memory of the GPUs of one host."""

import itertools
import math
import operator
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import gpukern
from gpukern._memory.creation import TableMemory
from gpukern.distributed.array import DistributedArray
from gpukern.distributed.group import (
    Agreement,
    Counts,
    Group,
    as_dtype,
    as_int,
    collective,
    sizes_of,
)
from gpukern.distributed.handles import share
from gpukern.distributed.indexing import device_of
from gpukern.distributed.storage import gpu_storage
from gpukern.errors import (
    GpukernDeviceError,
    GpukernMemoryError,
    GpukernTypeError,
    GpukernValueError,
)

ALONE = ("wrap", "clip", "fill")  # the modes in which each rank gathers alone


class DeviceTable(DistributedArray):
    """A distributed array in the memory of the GPUs of one host, at one range of addresses.

    :func:`empty` makes it. Each GPU of the ranks accesses all rows, those of other GPUs over NVLink
    or PCIe. The memory is uninitialized.

    Attributes
    ----------
    devices : tuple of int
        The CUDA devices of this rank, one for each of its parts.
    staging_memory : int
        0: a gather reads the rows where they are.

    """

    staging_memory = 0

    def __init__(
        self,
        memory: TableMemory,
        layout: "_Layout",
        row_shape: tuple[int, ...],
        dtype: np.dtype[Any],
        group: Group,
        number: int,
    ) -> None:
        self._memory = memory
        self._layout = layout
        self.group = group
        self.number = number
        self.dtype = dtype
        self.starts = layout.rank_starts
        self.shape = (int(layout.part_starts[-1]), *row_shape)
        self.devices = layout.devices
        self._views = {
            device: memory.array(device, self.shape, dtype)
            for device in dict.fromkeys(self.devices)
        }

    def on(self, device: int | str | None = None) -> gpukern.DeviceArray:
        """Return the whole array, as a device of this rank accesses it.

        Parameters
        ----------
        device : int or str, optional
            A CUDA device of this rank; by default its first.

        """
        expected = f"device must be one of this rank, {self.devices}"
        number = self.devices[0] if device is None else _ordinal(device, expected)
        if number not in self._views:
            raise GpukernValueError(f"{expected}, got cuda:{number}")
        view: gpukern.DeviceArray = self._views[number]
        return view

    @property
    def local(self) -> gpukern.DeviceArray:
        """The rows of this rank, as its first device accesses them."""
        rows = self.row_range
        return self.on()[rows.start : rows.stop]

    @property
    def parts(self) -> tuple[gpukern.DeviceArray, ...]:
        """The rows in the memory of each device of this rank, on that device."""
        starts, first = self._layout.part_starts, self._layout.first_part
        return tuple(
            self.on(device)[int(starts[first + i]) : int(starts[first + i + 1])]
            for i, device in enumerate(self.devices)
        )

    def synchronize(self) -> None:
        """Wait for the work on this rank's devices, then for the other ranks. Each must call it.

        Rows that one rank has written are then there for all.
        """
        with collective(self.group, "synchronize") as call:
            with call:
                self._memory.synchronize()
            call.of_all("synchronize", [], **self._identity)

    def has_layout_of(self, other: DistributedArray) -> bool:
        """Whether each row is on the same device as in another array of the same shape."""
        return (
            isinstance(other, DeviceTable)
            and super().has_layout_of(other)
            and self._layout.equals(other._layout)
        )

    def _view(self, device: Any, *arrays: Any) -> gpukern.DeviceArray:
        """Return the whole array as a given device accesses it, or else the device of an array."""
        tuples = (each if isinstance(each, tuple) else (each,) for each in arrays)
        return self.on(device_of(*itertools.chain(*tuples)) if device is None else device)

    def _explained(self, name: str, arguments: Sequence[Any], device: Any) -> gpukern.DeviceArray:
        others = (each for each in arguments if not isinstance(each, DistributedArray))
        return self._view(device, *others)

    def _gather(
        self,
        name: str,
        numpys: object,
        source: object,
        index: Any,
        /,
        **options: Any,
    ) -> Any:
        """Do what gpukern.gather does; in mode 'raise' and unknown ones, all ranks together."""
        mode, out, device = (options.pop(key) for key in ("mode", "out", "device"))
        stream = options["stream"]
        operation = gpukern.take_along_axis if name == "take_along_axis" else gpukern.gather
        if self.group.size == 1 or (isinstance(mode, str) and mode in ALONE):
            view = self._view(device, index, out)
            return operation(view, index, mode=mode, out=out, **options)
        view, result = self.on(), None
        # Without its bytes, a gather from the first axis only checks the indices.
        checks = name == "gather" and options["axis"] in (0, -self.ndim) and self.row_bytes > 0
        with collective(self.group, name) as call:
            with call:
                view = self._view(device, index, out)
                if mode != "raise":
                    raise GpukernValueError(
                        f"{name}: mode must be 'raise', 'wrap', 'clip' or 'fill', got {mode!r}"
                    )
                if out is not None:
                    gpukern.explain(operation, view, index, mode=mode, out=out, **options)
                try:
                    if checks and not isinstance(index, tuple):
                        flat = view.reshape(len(self), math.prod(self.shape[1:]))
                        gpukern.gather(flat[:, :0], index, stream=stream)
                    else:
                        result = operation(view, index, mode=mode, **options)
                except IndexError as error:
                    raise type(error)(f"{error} (rank {self.group.rank})") from None
            call.of_all(name, [], mode=mode, **self._identity)
        if result is None:
            return operation(view, index, mode="wrap", out=out, **options)
        if out is None:
            return result
        gpukern.copyto(out, result)
        return out

    def _refuse(self, name: str, mode: object, error: Exception) -> None:
        """Raise an error; on all ranks unless `mode` is one in which each gathers alone."""
        if self.group.size == 1 or (isinstance(mode, str) and mode in ALONE):
            raise error
        super()._refuse(name, mode, error)

    def _scatter(self, name: str, index: Any, values: Any, /, **options: Any) -> "DeviceTable":
        """Do what gpukern.scatter does, with the indices and values of all ranks, by rank."""
        if self.group.size > 1:
            self.storage = gpu_storage(self.group, self.devices[0])
            super()._scatter(name, index, values, **options)
            self.synchronize()
            return self
        if options["out"] is not None:
            raise GpukernValueError(f"{name}: out is not supported for a DistributedArray")
        view = self._view(options["device"], index, values)
        options["device"] = options["out"] = None
        operation = gpukern.put_along_axis if name == "put_along_axis" else gpukern.scatter
        operation(view, index, values, **options)
        return self

    def _saxpy(self, a: Any, x: Any, y: Any, out: Any, **options: Any) -> "DeviceTable":
        """Do what gpukern.saxpy does, on each device; without `out`, all ranks together."""
        if out is None:
            with collective(self.group, "saxpy") as call:
                with call:
                    self._require_saxpy(x, y, out, **options)
                call.of_all("saxpy without out", dtype=self.dtype.str, shape=self.shape)
            out = _new(
                "saxpy",
                self.group,
                self.devices,
                np.diff(self._layout.own_starts),
                self.shape[1:],
                self.dtype,
            )
        else:
            self._require_saxpy(x, y, out, **options)
        for ours, theirs, result in zip(x.parts, y.parts, out.parts, strict=True):
            gpukern.saxpy(a, ours, theirs, out=result, **options)
        table: DeviceTable = out
        return table

    def _require_saxpy(
        self, x: Any, y: Any, out: Any, *, device: Any, stream: Any, **options: Any
    ) -> None:
        """Raise an error before any part is written."""
        if device is not None or stream is not None:
            raise GpukernValueError("saxpy: a DeviceTable takes neither device nor stream")
        self._require_operands(x, y, out, **options)


class _Layout:
    """The rows of each part, and the parts of each rank."""

    def __init__(self, rows: list[Counts], rank: int, devices: list[Counts]) -> None:
        firsts = np.concatenate(([0], np.cumsum([len(each) for each in rows])))
        self.part_starts = np.concatenate(([0], np.cumsum(np.concatenate(rows)))).astype(np.int64)
        self.rank_starts: Counts = self.part_starts[firsts]
        self.firsts = firsts
        self.first_part = int(firsts[rank])
        self.devices: tuple[int, ...] = tuple(devices[rank].tolist())
        self.all_devices = np.concatenate(devices)
        self.own_starts: Counts = self.part_starts[
            self.first_part : self.first_part + len(self.devices) + 1
        ]

    def equals(self, other: "_Layout") -> bool:
        """Whether the parts of all ranks have the same rows and devices."""
        return (
            np.array_equal(self.part_starts, other.part_starts)
            and np.array_equal(self.firsts, other.firsts)
            and np.array_equal(self.all_devices, other.all_devices)
        )


def empty(
    shape: Any,
    dtype: npt.DTypeLike,
    group: Group | None,
    devices: int | str | Sequence[int | str],
    rows: Sequence[int] | None,
) -> DeviceTable:
    """Make a DeviceTable; see gpukern.distributed.empty."""
    group = _Alone() if group is None else group
    own: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    kind: np.dtype[Any] = np.dtype("u1")
    counts: list[int] = []
    with collective(group, "empty") as call:
        with call:
            sizes = sizes_of("empty", shape)
            if not sizes:
                raise GpukernValueError("empty: shape must have one dimension or more, got ()")
            kind = as_dtype("empty", dtype)
            # As integers of Python, which do not overflow; as in NumPy, also where a size is 0.
            if math.prod(max(size, 1) for size in sizes) * max(kind.itemsize, 1) >= 2**63:
                raise GpukernMemoryError("empty: the array takes 2**63 bytes or more")
            given: Any = (devices,) if np.ndim(devices) == 0 else devices
            own = tuple(_ordinal(each, "empty: devices must be CUDA devices") for each in given)
            if not own:
                raise GpukernValueError("empty: devices must not be empty")
            if rows is not None:
                if np.ndim(rows) != 1 or len(rows) != len(own):
                    raise GpukernValueError(
                        f"empty: rows must have a number for each of {len(own)} devices, "
                        f"got {rows!r}"
                    )
                counts = [as_int("empty: rows", each) for each in rows]
                if min(counts) < 0 or sum(counts) > sizes[0]:
                    raise _wrong_rows(sizes[0], rows)
        same = {"dtype": kind, "shape": sizes, "rows": None if rows is None else "given"}
        parts = call.of_all("empty on GPUs", [len(own)], **same)[:, 0].tolist()
        if rows is None:
            each = -(-sizes[0] // sum(parts))
            first = sum(parts[: group.rank])
            ends = [min((first + i) * each, sizes[0]) for i in range(len(own) + 1)]
            counts = [end - begin for begin, end in itertools.pairwise(ends)]
        total = sum(call.of_all("the rows of empty", [sum(counts)])[:, 0].tolist())
        with call:
            if total != sizes[0]:
                raise _wrong_rows(sizes[0], total)
        call.of_all("the sum of the rows")
    return _new("empty", group, own, counts, sizes[1:], kind)


def _wrong_rows(wanted: int, got: object) -> GpukernValueError:
    return GpukernValueError(
        f"empty: the rows of all devices must be {wanted} in all and not negative, got {got}"
    )


def _new(
    function: str,
    group: Group,
    devices: tuple[int, ...],
    counts: Sequence[int] | Counts,
    row_shape: tuple[int, ...],
    dtype: np.dtype[Any],
) -> DeviceTable:
    """Allocate the rows of this rank, and map those of the others. Each rank must call it."""
    memory: Any = None
    part_bytes = np.empty(0, np.int64)
    with collective(group, function) as call:
        known = call.of_all(f"the parts of {function}", [len(devices), secrets.randbits(62)])
        numbers, number = known[:, 0], int(known[0, 1])
        padded = np.zeros((2, numbers.max()), np.int64)
        padded[:, : len(devices)] = counts, devices
        table = call.of_all(f"the rows of {function}", padded.reshape(-1))
        table = table.reshape(group.size, *padded.shape)
        rows, places = (
            [table[rank, i, :count] for rank, count in enumerate(numbers)] for i in range(2)
        )
        layout = _Layout(rows, group.rank, places)
        with call:
            # Of a row of no bytes, too, the dtype must be one that a GPU has.
            gpukern.empty(0, dtype, devices[0])
            row_bytes = dtype.itemsize * math.prod(row_shape)
            part_bytes = row_bytes * np.concatenate(rows)
            owners = np.full(len(part_bytes), -1, np.int32)
            owners[layout.first_part : layout.first_part + len(devices)] = devices
            access = np.array(list(dict.fromkeys(devices)), np.int32)
            memory = TableMemory(part_bytes, owners, access, group.size > 1)
        call.of_all(f"the memory of {function}")
        if group.size > 1:
            share(call, memory, layout.firsts)
        _verify(call, memory, layout, part_bytes, number)
    return DeviceTable(memory, layout, row_shape, dtype, group, number)


def _verify(call: Agreement, memory: Any, layout: _Layout, part_bytes: Counts, number: int) -> None:
    """Let each device read what another has written: CUDA may say that it can where it cannot."""
    begins = np.cumsum(part_bytes) - part_bytes
    lengths = np.minimum(part_bytes, 8)
    if lengths.sum() == 0 or len(part_bytes) == 1:
        return
    views = {
        device: memory.array(device, int(part_bytes.sum()), np.uint8)
        for device in dict.fromkeys(layout.devices)
    }

    def mark(part: int) -> npt.NDArray[np.uint8]:
        value = np.array([number + part * 0x0101010101], np.int64)
        return value.view(np.uint8)[: int(lengths[part])]

    with call:
        for i, device in enumerate(layout.devices):
            part = layout.first_part + i
            begin = int(begins[part])
            gpukern.copyto(views[device][begin : begin + int(lengths[part])], mark(part))
        memory.synchronize()
    call.of_all("writing to the parts")
    with call:
        for device, view in views.items():
            for part, length in enumerate(lengths):
                index = int(begins[part]) + np.arange(int(length))
                found = gpukern.gather(view, gpukern.to_device(index, device), mode="clip")
                if not np.array_equal(found.numpy(), mark(part)):
                    raise GpukernDeviceError(
                        f"cuda:{device} does not read what the GPU of part {part} has written"
                    )
    call.of_all("reading from the parts")


def _ordinal(device: Any, expected: str) -> int:
    """Return the number of a CUDA device."""
    if not isinstance(device, str) and not hasattr(device, "__index__"):
        raise GpukernTypeError(f"{expected}, got {device!r}")
    given = device if isinstance(device, str) else operator.index(device)
    name = gpukern.empty(0, np.uint8, given).device
    if name == "cpu":
        raise GpukernValueError(f"{expected}, got {device!r}")
    return int(name.removeprefix("cuda:"))


class _Alone:
    """The group of one process that shares with no other."""

    rank = 0
    size = 1

    def all_gather(self, data: bytes) -> list[bytes]:
        """Return the data of this rank."""
        return [data]
