# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the build tools of this machine, and the packages that provide missing ones."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

CMAKE_MINIMUM = (3, 24)
NVCC_MINIMUM = (12, 1)

# Build requirements in any case. pyproject.toml lists setuptools as well, since this backend
# imports it.
BASE_REQUIREMENTS = ("setuptools>=77", "Cython>=3.1", "numpy>=2")
NVCC_REQUIREMENT = "cuda-toolkit[nvcc,nvvm,crt,cudart,cccl,nvtx]==13.0.*"
NVCC_DOWNLOAD_MB = 105  # the wheels of NVCC_REQUIREMENT, on x86-64


def _version(program, pattern):
    """Return the version that `program --version` prints, or () without one."""
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    match = re.search(pattern, run.stdout)
    return tuple(int(part) for part in match.groups()) if match else ()


def find_cmake():
    """Return the CMake that the build will use, or None without a recent enough one.

    Looks on PATH, then in this Python's environment, which may not be activated.
    """
    for path in (None, os.path.dirname(sys.executable)):
        cmake = shutil.which("cmake", path=path)
        if cmake and _version(cmake, r"version (\d+)\.(\d+)") >= CMAKE_MINIMUM:
            return cmake
    return None


def wheel_nvcc():
    """Return the nvcc of NVIDIA's wheels in this Python, or None."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        nvcc = Path(place, "cu13", "bin", "nvcc")
        if nvcc.exists():
            return str(nvcc)
    return None


def find_nvcc():
    """Return the nvcc that the build will use, or None.

    Searches the same directories as cmake/GpukernCuda.cmake, in the same order.
    """
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME")]
    candidates = [os.environ.get("CUDACXX")]
    candidates += [os.path.join(root, "bin", "nvcc") for root in roots if root]
    candidates += [shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", wheel_nvcc()]
    for nvcc in filter(None, candidates):
        if _version(nvcc, r"release (\d+)\.(\d+)") >= NVCC_MINIMUM:
            return nvcc
    return None


def cuda_setting():
    """Return $GPUKERN_CUDA: AUTO (the default), ON or OFF."""
    setting = os.environ.get("GPUKERN_CUDA", "AUTO").upper() or "AUTO"
    if setting not in ("AUTO", "ON", "OFF"):
        raise SystemExit(f"GPUKERN_CUDA is AUTO, ON or OFF, not {setting!r}")
    return setting


def nvcc_requirements():
    """Return the packages with a CUDA compiler; none if one is found or not requested.

    NVIDIA's wheels exist for glibc Linux on two processors; elsewhere the build is CPU only.
    """
    has_wheels = (
        platform.system() == "Linux"
        and platform.machine() in ("x86_64", "aarch64")
        and platform.libc_ver()[0] == "glibc"
    )
    if not has_wheels or cuda_setting() == "OFF" or find_nvcc():
        return []
    return [NVCC_REQUIREMENT]


def tool_requirements():
    """Return the packages for the missing tools."""
    cmake = [] if find_cmake() else ["cmake>=3.24"]
    builder = [] if shutil.which("ninja") or shutil.which("make") else ["ninja"]
    return cmake + builder + nvcc_requirements()


def main():
    """Print all build requirements, one per line, for `make`."""
    tools = tool_requirements()
    if NVCC_REQUIREMENT in tools:
        print(
            "gpukern: no nvcc on this machine, so NVIDIA's CUDA compiler comes from PyPI into the\n"
            f"gpukern: virtual environment: a download of about {NVCC_DOWNLOAD_MB} MB "
            "(CUDA=OFF builds without it)",
            file=sys.stderr,
        )
    print(*BASE_REQUIREMENTS, *tools, sep="\n")


if __name__ == "__main__":
    main()
