# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The types of the public functions and classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn, Protocol, SupportsIndex, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from gpukern import errors as errors
from gpukern import typed as typed
from gpukern.errors import CompileError as CompileError
from gpukern.errors import ContextLostError as ContextLostError
from gpukern.errors import GpukernError as GpukernError

__version__: str

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _SupportsCudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

_Array: TypeAlias = npt.ArrayLike | _SupportsDLPack | _SupportsCudaArrayInterface
_Scalar: TypeAlias = complex | np.number[Any] | np.bool | npt.NDArray[Any]
_Device: TypeAlias = str | int
# An int handle, an object with __cuda_stream__, or a stream of torch or CuPy.
_Stream: TypeAlias = Any
_Progress: TypeAlias = Callable[[int, int], object]
_IndexMode: TypeAlias = Literal["raise", "wrap", "clip", "fill"]
_Reduction: TypeAlias = Literal["add", "multiply", "min", "max", "mean"]
_Order: TypeAlias = Literal["fixed", "any"]
_Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]

# ---- operations ----
# A result belongs to the library of the arguments, which these types cannot express.

def gather(
    source: _Array,
    index: _Array,
    *,
    axis: SupportsIndex | None = 0,
    mode: _IndexMode = "raise",
    fill_value: Any = 0,
    out: Any | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    progress: _Progress | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
def take_along_axis(
    source: _Array,
    index: _Array,
    axis: SupportsIndex | None = -1,
    *,
    mode: _IndexMode = "raise",
    fill_value: Any = 0,
    out: Any | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    progress: _Progress | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
def scatter(
    target: Any,
    index: _Array,
    values: Any,
    *,
    axis: SupportsIndex | None = 0,
    mode: _IndexMode = "raise",
    reduce: _Reduction | None = None,
    order: _Order = "fixed",
    unique: bool = False,
    out: Any | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
def put_along_axis(
    target: Any,
    index: _Array,
    values: Any,
    axis: SupportsIndex | None = -1,
    *,
    mode: _IndexMode = "raise",
    reduce: _Reduction | None = None,
    order: _Order = "fixed",
    unique: bool = False,
    out: Any | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
def bincount(
    index: _Array,
    weights: _Array | None = None,
    *,
    size: SupportsIndex | None = None,
    mode: Literal["raise", "fill"] = "raise",
    order: _Order = "fixed",
    device: _Device | None = None,
    stream: _Stream | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...
def saxpy(
    a: _Scalar,
    x: _Array,
    y: _Array,
    *,
    out: Any | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    progress: _Progress | None = None,
    device_memory: SupportsIndex | None = None,
) -> Any: ...

class Explanation:
    op: str
    place: str
    why: str
    path: str
    threads: int
    chunks: int
    bytes_read: int
    bytes_written: int
    bytes_to_device: int
    bytes_from_device: int
    bytes_allocated: int

def explain(op: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation: ...
def copyto(
    dst: Any, src: _Array, *, stream: _Stream | None = None, blocking: bool = True
) -> None: ...
def synchronize(device: _Device = 0, stream: _Stream | None = None) -> None: ...

# ---- elementwise functions ----

@final
class Elementwise:
    __name__: str
    __qualname__: str
    @property
    def inputs(self) -> tuple[str, ...]: ...
    def result_dtype(self, *dtypes: npt.DTypeLike) -> str: ...
    def source(self, *dtypes: npt.DTypeLike) -> str: ...
    def __call__(
        self,
        *arguments: _Array | _Scalar,
        out: Any | None = None,
        device: _Device | None = None,
        stream: _Stream | None = None,
        progress: _Progress | None = None,
        device_memory: SupportsIndex | None = None,
    ) -> Any: ...

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
    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> NoReturn: ...
    def numpy(
        self, out: npt.NDArray[Any] | None = None, stream: _Stream | None = None
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
    shape: _Sizes,
    dtype: npt.DTypeLike = ...,
    device: _Device = 0,
    stream: _Stream | None = None,
) -> DeviceArray: ...
def to_device(array: _Array, device: _Device = 0, stream: _Stream | None = None) -> DeviceArray: ...
def pinned_empty(shape: _Sizes, dtype: npt.DTypeLike = ...) -> npt.NDArray[Any]: ...

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
        device: _Device | None = None,
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
    def kernel(self, name: str, device: _Device | None = None) -> Kernel: ...

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
        configuration: tuple[_Sizes, _Sizes]
        | tuple[_Sizes, _Sizes, SupportsIndex]
        | tuple[_Sizes, _Sizes, SupportsIndex, _Stream | None],
    ) -> _Launcher: ...
    def launch(
        self,
        grid: _Sizes,
        block: _Sizes,
        *args: Any,
        shared: SupportsIndex = 0,
        stream: _Stream | None = None,
        cooperative: bool = False,
        programmatic_launch: bool = False,
    ) -> None: ...
    def for_size(
        self,
        n: SupportsIndex,
        block: SupportsIndex | None = None,
        *,
        shared: SupportsIndex = 0,
        stream: _Stream | None = None,
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

def cache_info() -> dict[str, Any]: ...
def clear_cache() -> None: ...

# ---- the library ----

def info() -> dict[str, Any]: ...
def device_count() -> int: ...
def set_num_threads(threads: SupportsIndex | None) -> None: ...
def get_num_threads() -> int: ...
def reload_environment() -> None: ...
def get_include() -> str: ...
def get_library_dir() -> str: ...
def get_cmake_dir() -> str: ...
