# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The programs in README.md compile, run, and print what their comments say."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpukern

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^.*print.*(?:#|//) (.+)$", re.MULTILINE)


def blocks(language):
    """Return the code blocks of a language; there is at least one."""
    text = README.read_text(encoding="utf-8")
    found = [block for name, block in BLOCK.findall(text) if name == language]
    assert found, f"README.md has no {language} block"
    return found


def run(command, folder, **environment):
    """Run a command that must succeed, outside the source tree; return what it prints."""
    env = {**os.environ, **environment}
    result = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def compiler(variable, default):
    """Return the command of a compiler, as words."""
    command = shlex.split(os.environ.get(variable, default))
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return command


def run_compiled(command, text, source):
    """Compile a program against the installed package, run it, return what it prints."""
    source.write_text(text, encoding="utf-8")
    program = source.with_suffix("")
    library = gpukern.get_library_dir()
    compiling = ["-Wall", "-Wextra", "-Werror", f"-I{gpukern.get_include()}", str(source)]
    linking = [f"-L{library}", "-lgpukern", f"-Wl,-rpath,{library}", "-o", str(program)]
    run([*command, *compiling, *linking], source.parent)
    return run([str(program)], source.parent)


@pytest.mark.parametrize("text", blocks("python"))
def test_python(text, tmp_path):
    for library in re.findall(r"^ *import (\w+)", text, re.MULTILINE):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    program = tmp_path / "program.py"  # a file: decorators read the source of functions
    program.write_text(text, encoding="utf-8")
    assert run([sys.executable, program], tmp_path).splitlines() == PRINTED.findall(text)


@pytest.mark.parametrize("text", blocks("c"))
def test_c(text, tmp_path):
    command = [*compiler("CC", "cc"), "-std=c99"]
    assert run_compiled(command, text, tmp_path / "demo.c").splitlines() == PRINTED.findall(text)


@pytest.mark.parametrize("text", blocks("cpp"))
def test_cpp(text, tmp_path):
    command = [*compiler("CXX", "c++"), "-std=c++20"]
    assert run_compiled(command, text, tmp_path / "demo.cpp").splitlines() == PRINTED.findall(text)


def test_cython(tmp_path):
    pytest.importorskip("Cython")
    compiler("CC", "cc")
    (text,) = blocks("cython")
    (tmp_path / "readme.pyx").write_text(text, encoding="utf-8")
    cythonize = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "readme.pyx"]
    run(cythonize, tmp_path, CFLAGS=f"-I{gpukern.get_include()}")
    check = (
        "import numpy as np, readme\n"
        "out = np.zeros(2, np.float32)\n"
        "readme.lookup(np.array([10, 20, 30], np.float32), np.array([2, 0]), out)\n"
        "assert out.tolist() == [90, 30]\n"
    )
    run([sys.executable, "-c", check], tmp_path)
