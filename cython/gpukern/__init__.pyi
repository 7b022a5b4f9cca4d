# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The types of the public functions and classes; _typing.pyi has those of arguments."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex, final, overload

import numpy as np
import numpy.typing as npt

from gpukern import errors as errors
from gpukern import typed as typed
from gpukern._ops.axpby import axpby as axpby
from gpukern._ops.fma import fma as fma
from gpukern._ops.indexing.gather import gather as gather
from gpukern._ops.indexing.gather import take as take
from gpukern._ops.indexing.put_along_axis import put_along_axis as put_along_axis
from gpukern._ops.indexing.scatter import bincount as bincount
from gpukern._ops.indexing.scatter import scatter as scatter
from gpukern._ops.indexing.take_along_axis import take_along_axis as take_along_axis
from gpukern._ops.reduction.gather_reduce import gather_reduce as gather_reduce
from gpukern._ops.reduction.segment_reduce import segment_reduce as segment_reduce
from gpukern._ops.saxpy import saxpy as saxpy
from gpukern._ops.saxpy_list import SaxpyList as SaxpyList
from gpukern._ops.saxpy_many import saxpy_many as saxpy_many
from gpukern._ops.selection.compress import compress as compress
from gpukern._ops.selection.count_nonzero import count_nonzero as count_nonzero
from gpukern._ops.selection.nonzero import nonzero as nonzero
from gpukern._streams.index_errors import deferred_errors as deferred_errors
from gpukern._typing import (
    Array,
    BasicIndex,
    Bytes,
    CacheInfo,
    Device,
    Info,
    LibraryArray,
    Number,
    OptionalDevice,
    OtherHostArray,
    Output,
    OutT,
    Progress,
    Scalar,
    Sizes,
    Stream,
    SupportsCudaArrayInterface,
    T,
)
from gpukern.errors import CompileError as CompileError
from gpukern.errors import ContextLostError as ContextLostError
from gpukern.errors import GpukernError as GpukernError

# fmt: off
__all__ = [
    "CompileError", "ContextLostError", "DeviceArray", "Elementwise", "Explanation", "GpukernError",
    "In", "InOut", "Kernel", "Out", "Program", "SaxpyList", "__version__", "axpby", "bincount",
    "cache_info", "clear_cache", "compress", "copyto", "count_nonzero", "deferred_errors",
    "device_count", "elementwise", "empty", "errors", "explain", "fma", "gather", "gather_reduce",
    "get_cmake_dir", "get_include", "get_library_dir", "get_num_threads", "info", "nonzero",
    "pinned_empty", "put_along_axis", "reload_environment", "saxpy", "saxpy_many", "scatter",
    "segment_reduce", "set_num_threads", "synchronize", "take", "take_along_axis", "to_device",
    "typed",
]
# fmt: on
__version__: str

# ---- operations ----

@final
class Explanation:
    @property
    def op(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def bytes_written(self) -> int: ...
    @property
    def bytes_to_device(self) -> int: ...
    @property
    def bytes_from_device(self) -> int: ...
    @property
    def bytes_allocated(self) -> int: ...

def explain(op: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation: ...
def copyto(
    dst: Output, src: Array, *, stream: Stream | None = None, blocking: bool = True
) -> None: ...
def synchronize(device: Device = 0, stream: Stream | None = None) -> None: ...

# ---- elementwise functions ----

@final
class Elementwise:
    __name__: str
    __qualname__: str
    @property
    def inputs(self) -> tuple[str, ...]: ...
    def __copy__(self) -> Elementwise: ...
    def __deepcopy__(self, memo: Any) -> Elementwise: ...
    def result_dtype(self, *dtypes: npt.DTypeLike) -> str: ...
    def source(self, *dtypes: npt.DTypeLike) -> str: ...
    # fmt: off
    @overload
    def __call__(
        self, *arguments: Array | Scalar, out: OutT, device: OptionalDevice = None,
        stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
    ) -> OutT: ...
    @overload
    def __call__(
        self, *arguments: Number, out: None = None, device: OptionalDevice = None,
        stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
    ) -> Any: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # for numbers alone: the overload above
        self, *arguments: LibraryArray[T] | Number, out: None = None, device: OptionalDevice = None,
        stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
    ) -> T: ...
    @overload
    def __call__(
        self, first: LibraryArray[T], /, *others: Array, out: None = None,
        device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
        device_memory: Bytes = None,
    ) -> T: ...
    @overload
    def __call__(
        self, *arguments: SupportsCudaArrayInterface | Number, out: None = None,
        device: OptionalDevice = None, stream: Stream = None, progress: Progress = None,
        device_memory: Bytes = None,
    ) -> Any: ...
    @overload
    def __call__(
        self, *arguments: OtherHostArray, out: None = None, device: OptionalDevice = None,
        stream: Stream = None, progress: Progress = None, device_memory: Bytes = None,
    ) -> npt.NDArray[Any]: ...
    # fmt: on

@overload
def elementwise(
    function: str,
    *,
    inputs: Sequence[str] | None = None,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Elementwise: ...
@overload
def elementwise(
    function: Callable[..., Any],
    *,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Elementwise: ...
@overload
def elementwise(
    function: None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Elementwise]: ...

# ---- memory ----

@final
class DeviceArray:
    __array_ufunc__: None
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> str: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[DeviceArray]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getitem__(self, key: BasicIndex | tuple[BasicIndex, ...], /) -> DeviceArray: ...
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> DeviceArray: ...
    def __copy__(self) -> DeviceArray: ...
    def __deepcopy__(self, memo: Any) -> DeviceArray: ...
    # It raises. With NoReturn a DeviceArray would be an ArrayLike.
    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> object: ...
    def numpy(
        self, out: npt.NDArray[Any] | None = None, stream: Stream | None = None
    ) -> npt.NDArray[Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

def empty(
    shape: Sizes,
    dtype: npt.DTypeLike = ...,
    device: Device = 0,
    stream: Stream | None = None,
) -> DeviceArray: ...
def to_device(array: Array, device: Device = 0, stream: Stream | None = None) -> DeviceArray: ...
def pinned_empty(shape: Sizes, dtype: npt.DTypeLike = ...) -> npt.NDArray[Any]: ...

# ---- programs ----

@final
class Program:
    def __init__(
        self,
        source: str,
        options: Iterable[str] = (),
        name: str = "program.cu",
        headers: Mapping[str, str] | None = None,
        name_expressions: Iterable[str] = (),
        architecture: str | None = None,
        device: Device | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def ptx(self) -> str: ...
    @property
    def cubin(self) -> bytes: ...
    @property
    def log(self) -> str: ...
    @property
    def architecture(self) -> str: ...
    @property
    def kernel_names(self) -> tuple[str, ...]: ...
    def kernel(self, name: str, device: Device | None = None) -> Kernel: ...

@final
class Kernel:
    # Arguments: device arrays, In, Out and InOut, numbers, bytes and structures, None.
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def parameter_sizes(self) -> tuple[int, ...]: ...
    @property
    def max_threads_per_block(self) -> int: ...
    @property
    def preferred_block(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def static_shared_bytes(self) -> int: ...
    @property
    def max_dynamic_shared_bytes(self) -> int: ...
    @property
    def local_bytes(self) -> int: ...
    def __getitem__(
        self,
        configuration: tuple[Sizes, Sizes]
        | tuple[Sizes, Sizes, SupportsIndex]
        | tuple[Sizes, Sizes, SupportsIndex, Stream | None],
    ) -> _Launcher: ...
    def launch(
        self,
        grid: Sizes,
        block: Sizes,
        *args: Any,
        shared: SupportsIndex = 0,
        stream: Stream | None = None,
        cooperative: bool = False,
        programmatic_launch: bool = False,
    ) -> None: ...
    def for_size(
        self,
        n: SupportsIndex,
        block: SupportsIndex | None = None,
        *,
        shared: SupportsIndex = 0,
        stream: Stream | None = None,
    ) -> _Launcher: ...

@final
class _Launcher:
    @property
    def kernel(self) -> Kernel: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    def __call__(self, *args: Any) -> None: ...

class _HostArgument:
    def __init__(self, array: npt.ArrayLike) -> None: ...
    @property
    def array(self) -> Any: ...

@final
class In(_HostArgument): ...

@final
class Out(_HostArgument): ...

@final
class InOut(_HostArgument): ...

def cache_info() -> CacheInfo: ...
def clear_cache() -> None: ...

# ---- the library ----

def info() -> Info: ...
def device_count() -> int: ...
def set_num_threads(threads: SupportsIndex | None) -> None: ...
def get_num_threads() -> int: ...
def reload_environment() -> None: ...
def get_include() -> str: ...
def get_library_dir() -> str: ...
def get_cmake_dir() -> str: ...
