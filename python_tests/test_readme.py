# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The code of README.md and of docs/ compiles, runs, and prints what its comments say."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from commands import compiler, installed

import gpukern

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LANGUAGES = {"python", "cython", "c", "cpp", "cmake", "sh"}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^.*print.*(?:#|//) (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`(?!\])", re.MULTILINE | re.DOTALL)
# Peers that need a GPU. A block that imports one below a condition checks for a GPU itself.
GPU_LIBRARY = re.compile(r"^(?:import|from) (?:cupy|numba|pycuda)\b", re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks_of(page):
    """Return the pairs of language and code of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def programs(language):
    """Return the blocks of a language in all pages, but for Python that imports a Cython block."""
    return [
        pytest.param(text, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, (name, text) in enumerate(blocks_of(page))
        if name == language and not (i and blocks_of(page)[i - 1][0] == "cython")
    ]


def cython_programs():
    """Return the Cython blocks, each with the Python block after it."""
    for page in PAGES:
        blocks = blocks_of(page)
        for i, (name, text) in enumerate(blocks):
            if name == "cython":
                assert blocks[i + 1][0] == "python", f"{page.name}: no Python uses the Cython block"
                yield pytest.param(text, blocks[i + 1][1], id=f"{page.stem}-{i}")


def run(command, folder, **environment):
    """Run a command that must succeed, outside the source tree; return what it prints."""
    env = {**os.environ, **environment}
    result = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def run_python(text, folder):
    """Run a Python program and compare what it prints with its comments."""
    program = folder / "program.py"  # a file: decorators read the source of functions
    program.write_text(text, encoding="utf-8")
    assert run([sys.executable, program], folder).splitlines() == PRINTED.findall(text)


def run_compiled(command, text, source):
    """Compile a program against the installed package, run it, return what it prints."""
    source.write_text(text, encoding="utf-8")
    program = source.with_suffix("")
    library = gpukern.get_library_dir()
    compiling = ["-Wall", "-Wextra", "-Werror", f"-I{gpukern.get_include()}", str(source)]
    linking = [f"-L{library}", "-lgpukern", f"-Wl,-rpath,{library}", "-o", str(program)]
    run([*command, *compiling, *linking], source.parent)
    return run([str(program)], source.parent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_languages_are_known(page):
    assert {name for name, _ in blocks_of(page)} <= LANGUAGES


@pytest.mark.parametrize("text", programs("python"))
def test_python(text, tmp_path):
    for library in re.findall(r"^ *(?:import|from) (\w+)", text, re.MULTILINE):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    if GPU_LIBRARY.search(text) and not gpukern.device_count():
        pytest.skip("no CUDA device")
    run_python(text, tmp_path)


@pytest.mark.parametrize("text", programs("c"))
def test_c(text, tmp_path):
    command = [*compiler("CC"), "-std=c99"]
    assert run_compiled(command, text, tmp_path / "demo.c").splitlines() == PRINTED.findall(text)


@pytest.mark.parametrize("text", programs("cpp"))
def test_cpp(text, tmp_path):
    command = [*compiler("CXX"), "-std=c++20"]
    assert run_compiled(command, text, tmp_path / "demo.cpp").splitlines() == PRINTED.findall(text)


@pytest.mark.parametrize(("text", "user"), list(cython_programs()))
def test_cython(text, user, tmp_path):
    pytest.importorskip("Cython")
    compiler("CC")
    name = re.search(r"^# (\w+\.pyx)$", text, re.MULTILINE).group(1)
    (tmp_path / name).write_text(text, encoding="utf-8")
    cythonize = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", name]
    run(cythonize, tmp_path, CFLAGS=f"-I{gpukern.get_include()}")
    run_python(user, tmp_path)


@pytest.mark.parametrize("text", programs("cmake"))
def test_cmake(text, tmp_path):
    cmake = installed("cmake")
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    program = next(code for name, code in blocks_of(ROOT / "docs" / "cpp.md") if name == "cpp")
    (tmp_path / "program.cpp").write_text(program, encoding="utf-8")
    run([cmake, "-B", "build", f"-Dgpukern_DIR={gpukern.get_cmake_dir()}"], tmp_path)
    run([cmake, "--build", "build"], tmp_path)
    assert run(["build/program"], tmp_path).splitlines() == PRINTED.findall(program)


@pytest.mark.parametrize("text", programs("sh"))
def test_shell(text, tmp_path):
    run(["bash", "-n", "-c", text], tmp_path)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target} is no target"


def anchors(page):
    """Return the anchors that GitHub gives the headings of a page; equal ones are numbered."""
    seen = Counter()
    found = set()
    for heading in HEADING.findall(page.read_text(encoding="utf-8")):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    prose = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(prose):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_contributing_names_what_exists():
    names = re.findall(r"`([\w./-]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    tops = {path.name for path in ROOT.iterdir()} - {"build"}  # which a build makes
    missing = [n for n in names if n.split("/")[0] in tops and not (ROOT / n).exists()]
    assert not missing


def test_readme_names_every_page():
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages - {"docs/index.md"} <= set(links)  # the start page of the site contains README.md


def test_readme_fits_on_a_few_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


# The tables of benchmarks/results/h200 with the cases of an operation.
TABLES = {
    "saxpy": r"saxpy",
    "gather": r"gather (grid|widths|forced)",
    "gather of rows": r"(few )?rows",
    "scatter, add": r"scatter add",
    "scatter, put": r"scatter put",
    "put_along_axis": r"put along axis",
    "gather_reduce": r"bag",
    "segment_reduce": r"segment",
    "compress": r"compress",
    "gather, scatter by tuples": r"tuple",
    "take_along_axis": r"take along axis",
    "scatter, add in mode `raise`": r"scatter raise",
    "bincount": r"bincount",
    "nonzero, count_nonzero": r"(count )?nonzero",
}


def test_readme_has_the_best_and_the_worst_ratio():
    published = ROOT / "benchmarks" / "results" / "h200" / "summary.json"
    suites = json.loads(published.read_text(encoding="utf-8"))["suites"]["tables"]
    ratios = {operation: [] for operation in TABLES}
    for operation, tables in TABLES.items():
        for table, cases in suites.items():
            if re.match(tables, table):
                ratios[operation] += [c["ratio"] for c in cases.values() if "ratio" in c]
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| Operation | Best | Worst |") + 2
    rows = [re.match(r"\| (.+) \| ([\d.]+): .* \| ([\d.]+): ", line) for line in lines[start:]]
    found = {m[1]: (float(m[2]), float(m[3])) for m in rows if m}
    assert found == {
        operation: (float(f"{max(r):.3g}"), round(min(r), 2)) for operation, r in ratios.items()
    }
