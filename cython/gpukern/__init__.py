# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""CUDA kernels for Python: gather, scatter and saxpy, on the CPU or on a GPU.

>>> from gpukern import gather, saxpy, scatter
>>> out = gather(source, index)                      # source[index]
>>> scatter(target, index, values, reduce="add")     # target[index] += values, also for duplicates
>>> out = saxpy(2.0, x, y)                           # 2.0 * x + y, rounded once

Host arrays are computed on the CPU, device arrays on their GPU. See the functions.
"""

from gpukern import errors, typed
from gpukern._elementwise.decorator import elementwise
from gpukern._elementwise.dispatch import Elementwise
from gpukern._memory.creation import empty, pinned_empty, to_device
from gpukern._memory.device_array import DeviceArray
from gpukern._ops.axpby import axpby
from gpukern._ops.copy import copyto, synchronize
from gpukern._ops.explain import Explanation, explain
from gpukern._ops.fma import fma
from gpukern._ops.indexing.gather import gather, take
from gpukern._ops.indexing.put_along_axis import put_along_axis
from gpukern._ops.indexing.scatter import bincount, scatter
from gpukern._ops.indexing.take_along_axis import take_along_axis
from gpukern._ops.reduction.gather_reduce import gather_reduce
from gpukern._ops.reduction.segment_reduce import segment_reduce
from gpukern._ops.saxpy import saxpy
from gpukern._ops.saxpy_list import SaxpyList
from gpukern._ops.saxpy_many import saxpy_many
from gpukern._ops.selection.compress import compress
from gpukern._ops.selection.count_nonzero import count_nonzero
from gpukern._ops.selection.nonzero import nonzero
from gpukern._program.kernel import Kernel
from gpukern._program.launch import In, InOut, Out
from gpukern._program.program import Program, cache_info, clear_cache
from gpukern._runtime.info import __version__, get_cmake_dir, get_include, get_library_dir, info
from gpukern._runtime.runtime import (
    device_count,
    get_num_threads,
    reload_environment,
    set_num_threads,
)
from gpukern._streams.index_errors import deferred_errors
from gpukern.errors import CompileError, ContextLostError, GpukernError

__all__ = [
    "CompileError",
    "ContextLostError",
    "DeviceArray",
    "Elementwise",
    "Explanation",
    "GpukernError",
    "In",
    "InOut",
    "Kernel",
    "Out",
    "Program",
    "SaxpyList",
    "__version__",
    "axpby",
    "bincount",
    "cache_info",
    "clear_cache",
    "compress",
    "copyto",
    "count_nonzero",
    "deferred_errors",
    "device_count",
    "elementwise",
    "empty",
    "errors",
    "explain",
    "fma",
    "gather",
    "gather_reduce",
    "get_cmake_dir",
    "get_include",
    "get_library_dir",
    "get_num_threads",
    "info",
    "nonzero",
    "pinned_empty",
    "put_along_axis",
    "reload_environment",
    "saxpy",
    "saxpy_many",
    "scatter",
    "segment_reduce",
    "set_num_threads",
    "synchronize",
    "take",
    "take_along_axis",
    "to_device",
    "typed",
]
