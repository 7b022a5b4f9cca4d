# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Builds libgpukern.so with CMake into the package, then the Cython modules against it.

Read from the environment: GPUKERN_CUDA (AUTO, ON, OFF), CUDAARCHS, GPUKERN_WERROR and CMAKE_ARGS.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "build_backend"))

from gpukern_sbom import write_bill  # noqa: E402  (uses the path above)

from gpukern_toolchain import cuda_setting, find_cmake  # noqa: E402

SOURCES = Path("cython", "gpukern")
# The headers with which NVRTC compiles element-wise functions, and their directory in the package.
KERNEL_HEADERS = Path("cuda", "elementwise")
PACKAGED_HEADERS = Path("_elementwise", "headers", "elementwise")
# Cython emits helper functions that a module may not use. Python's own flags ask for debugging
# information, which would be most of the package; the environment may ask for it as well.
COMPILE_FLAGS = ["-std=c++17", "-fvisibility=hidden", "-Wall", "-Wno-unused-function"]
ENVIRONMENT_FLAGS = f"{os.environ.get('CFLAGS', '')} {os.environ.get('CXXFLAGS', '')}".split()
if not any(flag.startswith("-g") for flag in ENVIRONMENT_FLAGS):  # -g1 and -ggdb as well
    COMPILE_FLAGS.append("-g0")
# Modules in which no time of a short call is spent, or little: compiled for size, that of a wheel.
FOR_SIZE = {
    "_elementwise.cpu_executor",
    "_elementwise.specialization",
    "_memory.creation",
    "_memory.device_array",
    "_ops.copy",
    "_ops.explain",
    "_ops.selection.compress",
    "_ops.selection.count_nonzero",
    "_ops.selection.nonzero",
    "_program.kernel",
    "_program.program",
    "_runtime.runtime",
    "_streams.index_errors",
    "_streams.progress",
    "_typed.functions",
    "typed",
}
CYTHON_DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    # Cython would copy the raw pointers, so that two objects would own one resource.
    "auto_pickle": False,
    "freethreading_compatible": True,
    "boundscheck": False,
    "wraparound": False,
}


def read_version():
    """Return the version, which the C header states."""
    text = (ROOT / "include" / "gpukern" / "gpukern.h").read_text(encoding="utf-8")
    parts = re.findall(r"#define GPUKERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
    return ".".join(parts)


def werror():
    """Return $GPUKERN_WERROR; off by default, so that newer compilers with more warnings work."""
    return os.environ.get("GPUKERN_WERROR", "").upper() or "OFF"


def jobs():
    """Return the number of compilers to run in parallel."""
    return max(2, len(os.sched_getaffinity(0)))


def library_folder(path):
    """Return the folder of libgpukern.so relative to that of a module."""
    return os.path.relpath(ROOT / SOURCES / "lib", path.parent)


def module_of(path):
    """Return the full name of the module of a .pyx file."""
    return ".".join(path.relative_to(ROOT / "cython").with_suffix("").parts)


def compile_flags(path):
    """Return the flags of the C++ compiler for the module of a .pyx file."""
    flags = [*COMPILE_FLAGS, *(["-Werror"] if werror() == "ON" else [])]
    return flags + (["-Os"] if module_of(path).removeprefix("gpukern.") in FOR_SIZE else [])


def extensions():
    """Return one extension per .pyx file of the package."""
    return [
        Extension(
            module_of(path),
            [str(path.relative_to(ROOT))],
            language="c++",
            include_dirs=["include"],
            libraries=["gpukern"],
            depends=[
                str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("include/gpukern/*.h"))
            ],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=compile_flags(path),
            # Before glibc 2.34, dlopen is in libdl.
            extra_link_args=[
                f"-Wl,-rpath,$ORIGIN/{library_folder(path)}",
                "-Wl,--as-needed",
                "-ldl",
            ],
        )
        for path in sorted((ROOT / SOURCES).rglob("*.pyx"))
    ]


class CMakeBuild:
    """The CMake build of the C library: build/cmake-auto, -on or -off, reused between runs."""

    def __init__(self):
        self.directory = ROOT / "build" / f"cmake-{cuda_setting().lower()}"
        # Includes the tools of this Python's environment, even if it is not activated. They come
        # last: Python may be in /usr/bin, and other compilers before that on PATH.
        path = os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)])
        self.environment = {**os.environ, "PATH": path}

    def run(self, *arguments):
        """Run cmake; its output is not captured."""
        cmake = find_cmake()
        if cmake is None:
            raise SystemExit("gpukern: building needs cmake >= 3.24 on PATH")
        command = [cmake, *map(str, arguments)]
        if subprocess.run(command, env=self.environment, check=False).returncode != 0:
            raise SystemExit(f"gpukern: this command failed, see above: {shlex.join(command)}")

    def cached(self):
        """Return CMake's cache as a dict; empty without a cache."""
        cache = self.directory / "CMakeCache.txt"
        text = cache.read_text(encoding="utf-8") if cache.exists() else ""
        return dict(re.findall(r"^([\w-]+):\w+=(.*)$", text, re.MULTILINE))

    def is_usable(self):
        """Return whether the build can be reused: its tools may be in a deleted environment."""
        cached = self.cached()
        tools = ("CMAKE_MAKE_PROGRAM", "CMAKE_CXX_COMPILER", "CMAKE_CUDA_COMPILER")
        return cached.get("CMAKE_HOME_DIRECTORY") == str(ROOT) and all(
            os.path.exists(cached[tool]) for tool in tools if tool in cached
        )

    def configure(self):
        """Configure, from scratch if no build can be reused."""
        arguments = ["-S", ROOT, "-B", self.directory]
        if not self.is_usable():
            shutil.rmtree(self.directory, ignore_errors=True)
            if shutil.which("ninja", path=self.environment["PATH"]):
                arguments += ["-G", "Ninja"]
        architectures = os.environ.get("CUDAARCHS")
        arguments += [
            "-DCMAKE_INSTALL_LIBDIR=lib",
            f"-DGPUKERN_CUDA={cuda_setting()}",
            f"-DGPUKERN_WERROR={werror()}",
            "-DBUILD_SHARED_LIBS=ON",
            # Wheels hold no symbolic links, and the package has a separate library.
            "-DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON",
            f"-DPython3_EXECUTABLE={sys.executable}",
            f"-DCMAKE_CUDA_ARCHITECTURES={architectures}"
            if architectures
            else "-UCMAKE_CUDA_ARCHITECTURES",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        self.run(*arguments)

    def build(self):
        """Build the library only."""
        parallel = [] if "CMAKE_BUILD_PARALLEL_LEVEL" in os.environ else ["--parallel", jobs()]
        self.run("--build", self.directory, "--target", "gpukern", *parallel)

    def install(self, prefix):
        """Install library, headers and CMake package to a prefix, and remove older ones there."""
        for part in ("include", "lib"):
            shutil.rmtree(prefix / part, ignore_errors=True)
        self.run("--install", self.directory, "--prefix", prefix)


class NativeBuild(build_ext):
    """build_ext that builds the C library first and then runs Cython."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or jobs()

    def run(self):
        package = Path(self.build_lib, "gpukern").absolute()
        self._remove_stale(package)
        cmake = CMakeBuild()
        cmake.configure()
        cmake.build()
        for folder in [package] + [ROOT / SOURCES] * self.inplace:
            cmake.install(folder)
            shutil.rmtree(folder / PACKAGED_HEADERS, ignore_errors=True)
            shutil.copytree(ROOT / KERNEL_HEADERS, folder / PACKAGED_HEADERS)
        self.library_dirs.append(str(package / "lib"))
        super().run()

    def build_extensions(self):
        import numpy
        from Cython.Build import cythonize

        self.compiler.add_include_dir(numpy.get_include())
        translated = cythonize(
            self.extensions,
            build_dir="build/cython",
            compiler_directives=CYTHON_DIRECTIVES,
            nthreads=jobs(),
        )
        # setuptools has already modified its own objects, so only their sources are replaced.
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        # The longest first, so that no core is left without work while it compiles.
        self.extensions.sort(key=lambda each: -os.path.getsize(each.sources[0]))
        super().build_extensions()

    def _remove_stale(self, package):
        """Remove modules of deleted sources, which would be packaged."""
        modules = {
            Path(self.build_lib, self.get_ext_filename(each.name)).absolute()
            for each in self.extensions
        }
        for path in filter(Path.is_file, package.rglob("*")):
            source = ROOT / SOURCES / path.relative_to(package)
            if path not in modules and not source.exists():
                path.unlink()


class WheelWithBill(bdist_wheel):
    """bdist_wheel that adds the bill of materials, once there is something to describe."""

    def write_wheelfile(self, wheelfile_base, *args, **kwargs):
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        library = Path(self.bdist_dir, "gpukern", "lib", "libgpukern.so")
        if library.exists():  # not in an editable wheel
            folder = Path(wheelfile_base, "sboms")
            write_bill(folder, read_version(), library, CMakeBuild().cached())


setup(
    version=read_version(),
    ext_modules=extensions(),
    cmdclass={"build_ext": NativeBuild, "bdist_wheel": WheelWithBill},
)
