# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What the shared library shows to the process that loads it, and what importing does."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import compiler, installed, output_of, symbols

import gpukern

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = Path(gpukern.get_library_dir(), "libgpukern.so")
HEADERS = sorted(Path(gpukern.get_include(), "gpukern").glob("*.h"))
CUDA_LIBRARIES = re.compile(r"lib(cuda|cudart|nvrtc|nccl|nvJitLink|nvidia-ml)\b")


def python(code):
    """Run code in a fresh interpreter outside the source tree; return its JSON output."""
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return json.loads(run.stdout)


def declarations(header):
    """Return a header without its comments."""
    return re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_exactly_the_functions_of_the_headers_are_exported():
    text = "".join(map(declarations, HEADERS))
    declared = set(re.findall(r"\b(gpukern_\w+)\(", text))
    assert symbols(LIBRARY, "--defined-only") == declared


def test_cython_declares_all_names_of_the_headers():
    # But initializers, with which Cython cannot initialize, and what the preprocessor needs.
    names = re.compile(r"\b(?:gpukern_\w+|GPUKERN_(?!API\b)\w+(?<!_H)(?<!_INIT))\b")
    declared = set().union(*(names.findall(declarations(header)) for header in HEADERS))
    text = Path(gpukern.__file__).with_name("_capi.pxd").read_text(encoding="utf-8")
    assert declared - set(names.findall(text)) == set()


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.stem)
def test_headers_are_declarations_without_the_attribute(header):
    # As cffi and similar tools read them.
    options = ["-E", "-P", "-DGPUKERN_API=", f"-I{gpukern.get_include()}", str(header)]
    text = output_of(*compiler("CC"), *options)
    own = re.sub(r".*?typedef enum gpukern_", "", text, count=1, flags=re.DOTALL)
    assert "gpukern_" in own
    assert "__attribute__" not in own


def test_cpp_headers_name_the_standard_that_they_need():
    options = ["-std=c++17", "-fsyntax-only", "-xc++", f"-I{gpukern.get_include()}", "-"]
    command = [*compiler("CXX"), *options]
    source = "#include <gpukern/gpukern.hpp>\n"
    run = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    first = re.search(r"error: (.*)", run.stderr).group(1)
    assert "need C++20: compile with -std=c++20" in first


def test_cmake_names_the_component_that_is_missing(tmp_path):
    cmake = installed("cmake")
    project = """
        cmake_minimum_required(VERSION 3.22)
        project(program LANGUAGES NONE)
        find_package(gpukern CONFIG REQUIRED COMPONENTS other)
    """
    (tmp_path / "CMakeLists.txt").write_text(project, encoding="utf-8")
    command = [cmake, "-S", ".", "-B", "build", f"-Dgpukern_DIR={gpukern.get_cmake_dir()}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode != 0
    assert "This gpukern has no component other." in run.stderr


@pytest.mark.parametrize("libraries", ["lib", "{}/elsewhere/lib"])
@pytest.mark.parametrize("headers", ["include", "{}/elsewhere/include"])
def test_pkg_config_finds_an_installation(libraries, headers, tmp_path):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    libraries, headers = libraries.format(tmp_path), headers.format(tmp_path)
    output_of(
        *("cmake", "-S", str(ROOT), "-B", str(build), "-DGPUKERN_CUDA=OFF"),
        f"-DCMAKE_INSTALL_PREFIX={prefix}",
        f"-DCMAKE_INSTALL_LIBDIR={libraries}",
        f"-DCMAKE_INSTALL_INCLUDEDIR={headers}",
    )
    folder = prefix / libraries / "pkgconfig"  # an absolute path stays what it is
    folder.mkdir(parents=True)
    installed = shutil.copy(build / "gpukern.pc", folder)
    flags = output_of("pkg-config", "--cflags", "--libs", installed).split()
    paths = [os.path.normpath(flag.removeprefix("-I").removeprefix("-L")) for flag in flags[:2]]
    assert paths == [str(prefix / headers), str(prefix / libraries)]
    assert flags[2:] == ["-lgpukern"]


def test_no_cuda_library_is_needed():
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", str(LIBRARY)))
    assert needed
    assert not [name for name in needed if CUDA_LIBRARIES.match(name)]


def test_no_cuda_symbol_is_left_to_the_loader():
    undefined = symbols(LIBRARY, "--undefined-only")
    assert not [name for name in undefined if re.match(r"_*(cu[A-Z]|cuda[A-Z]|nvrtc)", name)]


def test_soname_has_no_version():
    dynamic = output_of("readelf", "--dynamic", str(LIBRARY))
    assert re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == ["libgpukern.so"]


def test_library_names_no_folder_of_the_build():
    dynamic = output_of("readelf", "--dynamic", str(LIBRARY))
    assert "RPATH" not in dynamic
    assert "RUNPATH" not in dynamic


def test_import_loads_no_cuda():
    maps = python(
        "import json, gpukern;"
        "print(json.dumps([line.split()[-1] for line in open('/proc/self/maps')]))"
    )
    names = {Path(name).name for name in maps}
    assert "libgpukern.so" in names
    assert not [name for name in names if CUDA_LIBRARIES.match(name)]


def test_import_opens_no_device():
    descriptors = python(
        "import json, os, gpukern;"
        "folder = '/proc/self/fd/';"
        "print(json.dumps([os.readlink(folder + n) for n in os.listdir(folder)"
        " if os.path.islink(folder + n)]))"
    )
    assert not [target for target in descriptors if target.startswith("/dev/nvidia")]


def test_package_holds_what_c_programs_need():
    assert {"gpukern.h", "program.h"} <= {header.name for header in HEADERS}
    assert Path(gpukern.get_cmake_dir(), "gpukernConfig.cmake").is_file()
    assert Path(gpukern.get_library_dir(), "pkgconfig", "gpukern.pc").is_file()
