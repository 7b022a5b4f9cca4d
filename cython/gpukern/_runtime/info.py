# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Versions, backends and devices, and the directories of the C and C++ files."""

import os
import sys

import numpy as np

from gpukern._program import program
from gpukern._runtime import runtime
from gpukern.errors import GpukernError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

__version__ = runtime.version()


def get_include():
    """Returns the include directory for ``#include <gpukern/gpukern.h>``."""
    return os.path.join(_PACKAGE, "include")


def get_library_dir():
    """Returns the directory of ``libgpukern.so``."""
    return os.path.join(_PACKAGE, "lib")


def get_cmake_dir():
    """Returns the directory for CMake's ``gpukern_DIR``, for ``find_package(gpukern CONFIG)``."""
    return os.path.join(_PACKAGE, "lib", "cmake", "gpukern")


def info():
    """Describes the library, the backends and the machine.

    This function searches for CUDA devices and NVRTC; importing gpukern does not.

    Returns
    -------
    dict
        ``version``, ``abi_version``, ``library`` (a path), ``cuda`` (a dict: ``built``,
        ``runtime_version``, ``driver_version``, ``device_count``, and ``reason`` if there is no
        device), ``devices`` (a list of dicts), ``nvrtc`` (a dict: ``version``, ``path``, and
        ``reason`` without one), ``cache`` (see :func:`cache_info`; ``reason`` if its settings are
        invalid), ``cpu_count`` (the processors that the process may use), ``num_threads``,
        ``default_device``, ``numpy`` and ``python`` (versions).

    """
    cuda = runtime.cuda_status()
    return {
        "version": __version__,
        "abi_version": runtime.abi_version(),
        "library": os.path.join(get_library_dir(), "libgpukern.so"),
        "cuda": cuda,
        "devices": [runtime.device_status(number) for number in range(cuda["device_count"])],
        "nvrtc": program.nvrtc_status(),
        "cache": _cache(),
        "cpu_count": len(os.sched_getaffinity(0)),
        "num_threads": runtime.get_num_threads(),
        "default_device": _default_device(cuda["device_count"]),
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }


def _cache():
    """Return the state of the cache, or why it has none."""
    try:
        return program.cache_info()
    except GpukernError as error:
        return {"directory": None, "reason": str(error)}


def _default_device(device_count):
    """Return the default device of host arrays, or the invalid name in the environment."""
    named = runtime.default_device_name() or "cpu"
    return "cpu" if named == "cuda" and not device_count else named
