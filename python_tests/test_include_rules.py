# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the layers of the source tree, held by a test."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.thread_unsafe(reason="a copy of the sources is changed")

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
CYTHON_EXTERN = re.compile(r"^[ \t]*cdef extern from [\"']([^\"']+)[\"']", re.MULTILINE)

# Rooms and what each may include beside itself and include/. A file belongs to the longest one
# that its path begins with. cuda/ and src/cpu/ never meet.
MAY_USE = {
    "include": set(),
    "src/core": set(),
    "src/threading": {"src/core"},
    "src/cpu": {"src/core", "src/threading"},
    "src/runtime": {"src/core", "src/threading"},
    "src/ops": {"src/core", "src/threading", "src/runtime"},
    "src/program": {"src/core", "src/runtime"},
    "cuda/common": {"src/core", "cuda/runtime"},
    "cuda/runtime": {"src/core", "src/runtime", "cuda/common", "cuda/memory"},
    "cuda/memory": {"src/core", "src/threading", "cuda/common", "cuda/runtime"},
    "cuda/gather": {"src/core", "src/runtime", "cuda/common", "cuda/runtime"},
    "cuda/scatter": {"src/core", "src/runtime", "cuda/common", "cuda/runtime"},
    "cuda/gather_reduce": {"src/core", "src/runtime", "cuda/common", "cuda/runtime"},
    "cuda/select": {"src/core", "src/runtime", "cuda/common", "cuda/runtime"},
    "cuda/saxpy": {"src/core", "cuda/common", "cuda/runtime"},
    "cuda/elementwise": set(),
    "cuda/program": {"src/core", "src/runtime", "src/program", "cuda/common", "cuda/runtime"},
}
ROOMS = sorted(MAY_USE, key=len, reverse=True)
# The files that include a room of computation, and the headers through which they do.
BACKEND_FRONTS = {
    ("src/runtime/cpu_device.cpp", "src/cpu/isa.hpp"),
    ("src/runtime/cpu_device.cpp", "src/cpu/kernels.hpp"),
    ("src/runtime/device.cpp", "cuda/runtime/backend.hpp"),
    ("src/program/backend.cpp", "cuda/program/program.hpp"),
}
C_STANDARD = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits",
    "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio",
    "stdlib", "string", "tgmath", "time", "wchar", "wctype",
}  # fmt: skip
CUDA_HEADER = re.compile(r"^(cuda|cub|thrust|nv|curand|cooperative_groups|sm_\d|vector_types)")


def room_of(path):
    """Return the room of a path relative to the root, None outside all of them."""
    return next((room for room in ROOMS if path.startswith(room + "/")), None)


def quoted_problem(root, file, name):
    """Return the violation of `#include "name"` in a file, or None."""
    here = file.relative_to(root).as_posix()
    target = f"include/{name}" if name.startswith("gpukern/") else name
    if not (root / target).is_file():
        return "is no file of this project (name it from the root; use <> for others)"
    if (here, target) in BACKEND_FRONTS:
        return None
    room, other = room_of(here), room_of(target)
    if other not in {"include", room, *MAY_USE[room]}:
        return f"is in {other or 'no room'}/, which {room}/ may not use"
    return None


def angled_problem(root, file, name):
    """Return the violation of `#include <name>` in a file, or None."""
    top = file.relative_to(root).parts[0]
    if top != "cuda" and CUDA_HEADER.match(name):
        return "is CUDA's, which only cuda/ may use"
    if top == "include":
        standard_c = name.endswith(".h") and name[:-2] in C_STANDARD
        standard_cpp = file.suffix == ".hpp" and re.fullmatch(r"[a-z_]+", name)
        ours = (root / "include" / name).is_file()
        if not (standard_c or standard_cpp or ours):
            return "is not of the standard library"
    return None


def source_problems(root):
    """Yield the forbidden includes of the C, C++ and CUDA sources."""
    for top in ("include", "src", "cuda"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"):
                continue
            for bracket, name in INCLUDE.findall(file.read_text(encoding="utf-8")):
                check = quoted_problem if bracket == '"' else angled_problem
                if problem := check(root, file, name):
                    yield f"{file.relative_to(root)}: {name} {problem}"


def cython_problems(root):
    """Yield the headers of Cython modules that are neither in include/ nor Python's or NumPy's."""
    for file in sorted((root / "cython").rglob("*.p[yx][xd]")):
        for name in CYTHON_EXTERN.findall(file.read_text(encoding="utf-8")):
            foreign = name.startswith(("<", "numpy/")) or name in ("*", "Python.h")
            if not foreign and not (root / "include" / name).is_file():
                yield f"{file.relative_to(root)}: {name} is not in include/"


def violations(root):
    """Return every breach of the include rules below a root, a line each."""
    root = Path(root).resolve()
    return [*source_problems(root), *cython_problems(root)]


def test_the_tree_keeps_the_rules():
    assert violations(ROOT) == []


def test_there_are_sources_to_check():
    assert (ROOT / "src").is_dir()
    assert list((ROOT / "cython").rglob("*.pyx"))


@pytest.mark.parametrize("folder", ["cython", "cuda"])
def test_no_folder_shadows_an_installed_package(folder):
    assert not (ROOT / folder / "__init__.py").exists()


@pytest.fixture
def tree(tmp_path):
    """A small tree that keeps the rules."""
    files = {
        "include/gpukern/gpukern.h": "#include <stdint.h>\n",
        "include/gpukern/gpukern.hpp": '#include <span>\n#include "gpukern/gpukern.h"\n',
        "src/core/error.hpp": '#include "gpukern/gpukern.h"\n',
        "src/runtime/device.cpp": '#include "cuda/runtime/backend.hpp"\n',
        "src/runtime/cpu_device.cpp": '#include "src/cpu/kernels.hpp"\n',
        "src/cpu/kernels.hpp": '#include "src/core/error.hpp"\n',
        "src/cpu/gather.cpp": "#include <vector>\n",
        "cuda/runtime/backend.hpp": '#include "src/core/error.hpp"\n',
        "cuda/common/check.hpp": "#include <cuda_runtime.h>\n",
        "cython/gpukern/_c.pxd": 'cdef extern from "gpukern/gpukern.h" nogil:\n    pass\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_good_tree_has_no_violations(tree):
    assert violations(tree) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("include/gpukern/gpukern.h", "#include <span>"),
        ("include/gpukern/gpukern.h", "#include <cuda_runtime.h>"),
        ("include/gpukern/gpukern.hpp", "#include <omp.h>"),
        ("include/gpukern/gpukern.hpp", '#include "src/core/error.hpp"'),
        ("include/gpukern/gpukern.hpp", '#include "../../src/core/error.hpp"'),
        ("src/core/error.hpp", '#include "cuda/runtime/backend.hpp"'),
        ("src/core/error.hpp", '#include "src/cpu/kernels.hpp"'),
        ("src/core/error.hpp", "  #  include <cuda_runtime.h>"),
        ("src/core/error.hpp", '#include "nowhere.hpp"'),
        ("src/runtime/device.cpp", '#include "cuda/common/check.hpp"'),
        ("src/cpu/gather.cpp", '#include "cuda/runtime/backend.hpp"'),
        ("src/cpu/gather.cpp", "#include <cub/cub.cuh>"),
        ("cuda/runtime/backend.hpp", '#include "src/cpu/kernels.hpp"'),
        ("cython/gpukern/_c.pxd", 'cdef extern from "error.hpp":'),
    ],
)
def test_a_planted_violation_is_found(tree, name, line):
    with (tree / name).open("a") as file:
        file.write(line + "\n")
    (found,) = violations(tree)
    assert found.startswith(name)
