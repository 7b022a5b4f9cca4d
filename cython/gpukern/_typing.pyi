# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The types of arguments; for type checkers only, there is no such module at run time.

A result has the type of the library of the arguments, which need not be installed: the arrays of
torch, JAX and CuPy are recognized by a method of theirs that gives such an array. What depends on
values is Any: whether a 0-d result is a scalar, or on which device a torch index is.
"""

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, type_check_only

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ScalarT = TypeVar("ScalarT", bound=np.generic, default=Any)
OutT = TypeVar("OutT", bound=Output)
NDArrayT = TypeVar("NDArrayT", bound=npt.NDArray[Any])

@type_check_only
class SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@type_check_only
class SupportsCudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

@type_check_only
class TorchTensor(Protocol[T_co]):
    def new_empty(self, size: Sequence[int], /) -> T_co: ...

@type_check_only
class JaxArray(Protocol[T_co]):
    def block_until_ready(self) -> T_co: ...

@type_check_only
class CudaArray(SupportsCudaArrayInterface, Protocol[T_co]):  # DeviceArray, cupy.ndarray
    @property
    def strides(self) -> tuple[int, ...]: ...
    def __copy__(self) -> T_co: ...

@type_check_only
class Nested(Protocol[T_co]):  # a sequence of any depth, but no str and no ndarray
    def __len__(self) -> int: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __getitem__(self, position: int, /) -> T_co | Nested[T_co]: ...
    def count(self, value: Any, /) -> int: ...

@type_check_only
class CudaInfo(TypedDict):
    built: bool
    runtime_version: str | None
    driver_version: str | None
    device_count: int
    reason: str

@type_check_only
class DeviceInfo(TypedDict):
    device: str
    name: str
    compute_capability: str
    multiprocessors: int
    l2_cache_bytes: int
    memory_bytes: int

@type_check_only
class NvrtcInfo(TypedDict):
    version: str | None
    path: str | None
    reason: str

@type_check_only
class CacheInfo(TypedDict):
    memory_hits: int
    disk_hits: int
    misses: int
    rejected: int
    entries: int
    bytes: int
    limit_bytes: int
    directory: str | None

@type_check_only
class Info(TypedDict):
    version: str
    abi_version: int
    library: str
    cuda: CudaInfo
    devices: list[DeviceInfo]
    nvrtc: NvrtcInfo
    cache: dict[str, Any]  # a CacheInfo, or the directory None and the reason
    cpu_count: int
    num_threads: int
    default_device: str
    numpy: str
    python: str

Number: TypeAlias = complex | np.number[Any] | np.bool
Scalar: TypeAlias = Number | npt.NDArray[Any]
LibraryArray: TypeAlias = TorchTensor[T] | JaxArray[T] | CudaArray[T]
HostArray: TypeAlias = npt.NDArray[ScalarT] | Nested[Any]
OtherHostArray: TypeAlias = npt.ArrayLike | SupportsDLPack  # of pandas, for example
Array: TypeAlias = npt.ArrayLike | SupportsDLPack | SupportsCudaArrayInterface
Output: TypeAlias = npt.NDArray[Any] | Buffer | SupportsDLPack | SupportsCudaArrayInterface
Int: TypeAlias = int | np.integer[Any]
# Not every object with __dlpack__ or a buffer: an ndarray of floats has both.
HostIndex: TypeAlias = npt.NDArray[np.integer[Any]] | Nested[Int] | memoryview
OtherIndex: TypeAlias = Int | LibraryArray[Any] | SupportsCudaArrayInterface
Index: TypeAlias = HostIndex | OtherIndex
# Of gather and scatter: a tuple has an index for each of several axes.
HostIndices: TypeAlias = HostIndex | tuple[HostIndex | Int, ...]
OtherIndices: TypeAlias = OtherIndex | tuple[Index, ...]
Indices: TypeAlias = HostIndices | OtherIndices
Axis: TypeAlias = SupportsIndex | None
BasicIndex: TypeAlias = SupportsIndex | slice | EllipsisType | None
Mode: TypeAlias = Literal["raise", "wrap", "clip", "fill"]
Reduction: TypeAlias = Literal["add", "multiply", "min", "max", "mean"] | None
BagReduction: TypeAlias = Literal["sum", "mean", "min", "max"]
Order: TypeAlias = Literal["fixed", "any"]
TakeMode: TypeAlias = Literal["raise", "wrap", "clip"]
Device: TypeAlias = str | int
OptionalDevice: TypeAlias = Device | None
# A number, or an array of numbers.
Factor: TypeAlias = Scalar | HostArray[Any] | LibraryArray[Any]
Rounding: TypeAlias = Literal["nearest", "stochastic"] | None
# An int handle, an object with __cuda_stream__, or a stream of torch or CuPy.
Stream: TypeAlias = Any
Progress: TypeAlias = Callable[[int, int], object] | None
Bytes: TypeAlias = SupportsIndex | None
Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
