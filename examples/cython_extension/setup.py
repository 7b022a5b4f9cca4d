# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Builds gpukern_bags against the installed gpukern; with its kernel if there is an nvcc.

$CUDAARCHS holds the numbers of the GPUs to compile for ("90;100"); the default is all.
"""

import os
import shutil
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

import gpukern


def find_nvcc():
    """Return the path of nvcc; None without one, or if gpukern was built without CUDA."""
    if not gpukern.info()["cuda"]["built"]:
        return None
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(
        "nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), f"{toolkit}/bin"])
    )


def architecture_flags():
    """Return nvcc's flags for the GPUs to compile for."""
    names = os.environ.get("CUDAARCHS", "").replace(";", " ").split()
    return [f"-gencode=arch=compute_{name},code=sm_{name}" for name in names] or ["-arch=all-major"]


class BuildWithKernel(build_ext):
    """build_ext that first compiles the .cu file, and links it and the static CUDA runtime."""

    def build_extension(self, extension):
        """Build the one extension."""
        nvcc = find_nvcc()
        if nvcc is None:
            print("gpukern_bags: no nvcc, or no CUDA in gpukern: for the CPU only")
        else:
            extension.define_macros.append(("GPUKERN_BAGS_CUDA", None))
            extension.extra_objects.append(self.compile_kernel(nvcc))
            root = Path(nvcc).resolve().parent.parent
            extension.extra_link_args += [f"-L{root}/lib64", f"-L{root}/lib"]
            extension.extra_link_args += ["-l:libcudart_static.a", "-ldl", "-lrt", "-lpthread"]
        super().build_extension(extension)

    def compile_kernel(self, nvcc):
        """Compile bag_sum.cu and return the path of the object file."""
        made = Path(self.build_temp, "bag_sum.o")
        made.parent.mkdir(parents=True, exist_ok=True)
        flags = ["-std=c++17", "-O3", "-Xcompiler=-fPIC,-fvisibility=hidden", *architecture_flags()]
        self.spawn(
            [
                nvcc,
                *flags,
                "-DGPUKERN_BAGS_CUDA",
                "-c",
                "src/gpukern_bags/bag_sum.cu",
                "-o",
                str(made),
            ]
        )
        return str(made)


bags = Extension(
    "gpukern_bags._bags",
    ["src/gpukern_bags/_bags.pyx"],
    language="c++",
    include_dirs=[gpukern.get_include(), "src/gpukern_bags"],
    # No runtime_library_dirs: pip may build against a temporary gpukern, which it then deletes.
    # The package imports gpukern first, which loads the library.
    library_dirs=[gpukern.get_library_dir()],
    libraries=["gpukern"],
    depends=["src/gpukern_bags/bag_sum.cu", "src/gpukern_bags/bag_sum.h"],
    # Two CUDA runtimes in one process must not see each other's symbols.
    extra_link_args=["-Wl,--exclude-libs,ALL"],
)

setup(ext_modules=cythonize([bags], build_dir="build"), cmdclass={"build_ext": BuildWithKernel})
