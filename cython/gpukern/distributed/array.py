# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DistributedArray: an array whose rows are divided among the ranks of a group."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from gpukern._ops.indexing.indexed_read import register_distributed_array
from gpukern.distributed.group import (
    Counts,
    Group,
    as_dtype,
    as_int,
    collective,
    of_all_ranks,
    refuse_masked,
    sizes_of,
)
from gpukern.errors import GpukernTypeError, GpukernValueError

if TYPE_CHECKING:
    from gpukern.distributed.device_table import DeviceTable
    from gpukern.distributed.storage import HostStorage

# On a GPU a round waits for the other ranks several times, for as long as it moves 100 MB.
STAGING_MEMORY = 256 << 20
STAGING_MEMORY_OF_GPU = 1 << 30


class DistributedArray:
    """An array whose first axis is divided among the ranks of a group, in the order of the ranks.

    :func:`from_local` and :func:`empty` make it. It goes into :func:`gpukern.gather`,
    :func:`gpukern.take`, :func:`gpukern.scatter` and :func:`gpukern.saxpy`.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    dtype : dtype
    group : group
    starts : ndarray of int64
        Of shape ``(size + 1,)``: the first row of each rank, then the number of rows.
    staging_memory : int
        Bytes that a gather may use on a rank, beside its result and its index.
    number : int
        The same on all ranks, and another for each array that from_local makes.

    """

    def __init__(
        self,
        local: Any,
        dtype: np.dtype[Any],
        starts: Counts,
        group: Group,
        storage: "HostStorage",
        staging_memory: int,
        number: int,
    ) -> None:
        self._local = local
        self.starts = starts
        self.group = group
        self.storage = storage
        self.staging_memory = staging_memory
        self.number = number
        self.dtype = dtype
        self.shape: tuple[int, ...] = (int(starts[-1]), *local.shape[1:])

    @property
    def local(self) -> Any:
        """The rows of this rank, which may be written to between two calls."""
        return self._local

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def row_range(self) -> range:
        """The rows of this rank."""
        return range(int(self.starts[self.group.rank]), int(self.starts[self.group.rank + 1]))

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    @property
    def _identity(self) -> dict[str, object]:
        """What is the same on all ranks in a call on this array, for ``Agreement.of_all``."""
        return {"dtype": self.dtype.str, "shape": self.shape, "table": self.number}

    def has_layout_of(self, other: "DistributedArray") -> bool:
        """Whether each row is on the same rank as in another array of the same shape."""
        return self.shape == other.shape and np.array_equal(self.starts, other.starts)

    def like(self, local: Any) -> "DistributedArray":
        """Return an array of the same layout."""
        return DistributedArray(
            local,
            self.dtype,
            self.starts,
            self.group,
            self.storage,
            self.staging_memory,
            self.number,
        )

    def _gather(
        self,
        name: str,
        numpys: object,
        source: object,
        index: Any,
        /,
        **options: Any,
    ) -> Any:
        """Do what gpukern.gather does."""
        from gpukern.distributed.routed_gather import gather

        return gather(self, name, index, **options)

    def _refuse(self, name: str, mode: object, error: Exception) -> None:
        """Raise an error on all ranks; `mode` is for DeviceTable."""
        with collective(self.group, name) as call:
            call.error = error
            call.of_all()

    def _scatter(self, name: str, index: Any, values: Any, /, **options: Any) -> "DistributedArray":
        """Do what gpukern.scatter does."""
        from gpukern.distributed.routed_scatter import scatter

        return scatter(self, name, index, values, **options)

    def _saxpy(self, a: Any, x: Any, y: Any, out: Any, **options: Any) -> "DistributedArray":
        """Do what gpukern.saxpy does, on the rows of this rank."""
        from gpukern import saxpy

        self._require_operands(x, y, out, **options)
        local = saxpy(a, x.local, y.local, out=None if out is None else out.local, **options)
        return self.like(local) if out is None else out

    def _require_operands(
        self, x: Any, y: Any, out: Any, *, rounding: Any, seed: Any, **_: Any
    ) -> None:
        # The bits of 'stochastic', which has a seed, depend on the place in the whole array.
        if not (rounding is None or (isinstance(rounding, str) and rounding == "nearest")):
            raise GpukernValueError(
                f"saxpy: rounding of a DistributedArray must be 'nearest', got {rounding!r}"
            )
        if seed is not None:
            raise GpukernValueError("saxpy: seed is for rounding='stochastic'")
        first = "x" if x is self else "y"
        for name, each in (("x", x), ("y", y), *(() if out is None else (("out", out),))):
            if not isinstance(each, DistributedArray):
                raise GpukernTypeError(
                    f"saxpy: {name} must be a DistributedArray, as {first} is, "
                    f"got {type(each).__name__}"
                )
            if not self.has_layout_of(each):
                raise GpukernValueError(
                    f"saxpy: {name} must have the layout of {first}, {self!r}, got {each!r}"
                )

    def _explained(self, name: str, arguments: Sequence[Any], device: Any) -> object:
        """Return what gpukern.explain explains in place of this array."""
        raise GpukernTypeError(
            f"explain: {name} of a DistributedArray is several calls; pass its .local"
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows = self.row_range
        return (
            f"DistributedArray(shape={self.shape}, dtype={self.dtype}, rows {rows.start} to "
            f"{rows.stop} on rank {self.group.rank} of {self.group.size})"
        )

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> object:
        raise GpukernTypeError(
            "a DistributedArray is on several ranks: pass its .local for the rows of this rank"
        )

    def __reduce__(self) -> NoReturn:
        raise GpukernTypeError(
            "a DistributedArray cannot be pickled: other processes have its rows; send its .local"
        )


register_distributed_array(DistributedArray)


@of_all_ranks
def from_local(array: Any, group: Group, *, staging_memory: int | None = None) -> DistributedArray:
    """Make a distributed array of a part on each rank. Each rank must call it.

    Parameters
    ----------
    array : array
        The rows of this rank, not copied: an ndarray of any fixed-width dtype, or an array on a
        GPU, as gather takes it, on all ranks; of one dimension or more. The number of rows may
        differ between the ranks and be 0.
    group : group
        See :class:`Group`.
    staging_memory : int, optional
        Bytes that a gather may use on a rank, beside its result and its index; it exchanges what
        needs more in several rounds. By default 256 MiB, and 1 GiB of a GPU.

    Returns
    -------
    DistributedArray

    Raises
    ------
    ValueError
        On each rank, for dtypes or rows that differ; it names the ranks.
    TypeError
        On each rank, for arrays that cannot be distributed.

    """
    from gpukern.distributed.indexing import device_of
    from gpukern.distributed.storage import HostStorage, gpu_storage

    local: Any = np.empty(0, np.uint8)
    arguments: dict[str, object] = {}
    dtype, rows = np.dtype(np.uint8), 0
    device: int | None = None
    with collective(group, "from_local") as call:
        with call:
            device = device_of(array)
            local = _plain(array) if device is None else array
            dtype = _dtype_of(local, device)
            rows = local.shape[0]
            if staging_memory is None:
                staging_memory = STAGING_MEMORY if device is None else STAGING_MEMORY_OF_GPU
            staging_memory = as_int("from_local: staging_memory", staging_memory)
            if staging_memory < 1:
                raise GpukernValueError(
                    f"from_local: staging_memory must be at least 1, got {staging_memory}"
                )
            # The repr of a dtype says everything: names, places, units, names of other packages.
            arguments = {"dtype": dtype, "row_shape": tuple(local.shape[1:])}
            arguments["device"] = "cpu" if device is None else "cuda"
            arguments["staging_memory"] = staging_memory
        numbers = call.of_all("from_local", [rows, secrets.randbits(62)], **arguments)
    storage = HostStorage(group) if device is None else gpu_storage(group, device)
    starts = np.concatenate(([0], np.cumsum(numbers[:, 0]))).astype(np.int64)
    most = staging_memory or STAGING_MEMORY
    return DistributedArray(local, dtype, starts, group, storage, most, int(numbers[0, 1]))


def _dtype_of(local: Any, device: int | None) -> np.dtype[Any]:
    if device is None:
        dtype: np.dtype[Any] = local.dtype
        return dtype
    from gpukern import to_device

    if len(local.shape) == 0:
        raise GpukernValueError("from_local: array must have at least one dimension")
    return to_device(local[:0], device).dtype


def _plain(array: npt.ArrayLike) -> npt.NDArray[Any]:
    refuse_masked("from_local", array=array)
    local = np.asarray(array)
    if local.ndim == 0:
        raise GpukernValueError("from_local: array must have at least one dimension")
    if local.dtype.hasobject or local.dtype.kind == "T":
        raise GpukernTypeError(
            f"from_local: array must be of a fixed-width dtype, got {local.dtype}"
        )
    return local


@overload
def empty(
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    group: Group,
    *,
    devices: None = None,
    rows: None = None,
    staging_memory: int | None = None,
) -> DistributedArray: ...
@overload
def empty(
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    group: Group | None = None,
    *,
    devices: int | str | Sequence[int | str],
    rows: Sequence[int] | None = None,
    staging_memory: int | None = None,
) -> "DeviceTable": ...
@of_all_ranks
def empty(
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    group: Group | None = None,
    *,
    devices: int | str | Sequence[int | str] | None = None,
    rows: Sequence[int] | None = None,
    staging_memory: int | None = None,
) -> DistributedArray:
    """Make a distributed array of uninitialized memory. Each rank must call it.

    Parameters
    ----------
    shape : int or tuple of int
        Of the whole array.
    dtype : dtype
        Of any fixed-width type; on GPUs of 1 to 65535 bytes.
    group : group, optional
        See :class:`Group`. By default this process alone, which then needs `devices`.
    devices : int, str or sequence, optional
        The CUDA devices of this rank; one may be given several times. By default the memory is that
        of the host.
    rows : sequence of int, optional
        The number of rows on each device of this rank. By default the same number on each device of
        all ranks, or in the memory of each rank; the last ones have up to that less.
    staging_memory : int
        As in :func:`from_local`, of an array in host memory.

    Returns
    -------
    DistributedArray
        A :class:`DeviceTable` on GPUs.

    Raises
    ------
    gpukern.errors.GpukernDeviceError
        On each rank, for devices that cannot access each other's memory.
    MemoryError
        On each rank, if a device lacks memory.

    """
    if devices is not None:
        from gpukern.distributed import device_table

        return device_table.empty(shape, dtype, group, devices, rows)
    if group is None:
        raise GpukernValueError("empty: an array without devices must have a group")
    local: Any = np.empty(0)
    sizes: tuple[int, ...] = ()
    with collective(group, "empty") as call:
        with call:
            if rows is not None:
                raise GpukernValueError(f"empty: rows needs devices, got {rows!r} without devices")
            sizes = sizes_of("empty", shape)
            if not sizes:
                raise GpukernValueError("empty: shape must have one dimension or more, got ()")
            each = -(-sizes[0] // group.size)
            first = min(group.rank * each, sizes[0])
            local = np.empty((min(each, sizes[0] - first), *sizes[1:]), as_dtype("empty", dtype))
        call.of_all("empty", dtype=local.dtype, shape=sizes)
    return from_local(local, group, staging_memory=staging_memory)
