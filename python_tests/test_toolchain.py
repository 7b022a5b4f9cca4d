# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""build_backend/gpukern_toolchain.py finds the tools of a build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thread_unsafe(reason="sets PATH")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def make_cmake(tmp_path):
    """Return a function that makes a CMake of a version and returns its path."""

    def make(folder, version):
        program = tmp_path / folder / "cmake"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho cmake version {version}\n")
        program.chmod(0o755)
        return program

    return make


@pytest.mark.parametrize(
    ("on_path", "beside_python", "chosen"),
    [
        ("3.31.0", "3.30.1", "path"),
        ("3.22.1", "3.31.0", "python"),
        ("3.31.0", "3.22.1", "path"),
        (None, "3.24.0", "python"),
        ("3.23.9", "3.22.1", None),
        (None, None, None),
    ],
)
def test_the_first_cmake_that_is_recent_enough(
    on_path, beside_python, chosen, make_cmake, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "path", [str(ROOT / "build_backend"), *sys.path])
    import gpukern_toolchain

    for folder, version in (("python", beside_python), ("path", on_path)):
        if version:
            make_cmake(folder, version)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    found = gpukern_toolchain.find_cmake()
    assert found == (chosen and str(tmp_path / chosen / "cmake"))
    monkeypatch.setenv("GPUKERN_CUDA", "OFF")
    assert ("cmake>=3.24" in gpukern_toolchain.tool_requirements()) == (chosen is None)


def test_the_tools_of_path_come_before_those_beside_python(tmp_path):
    pytest.importorskip("setuptools")
    program = (
        "import runpy, sys, setuptools\n"
        "setuptools.setup = lambda **_: None\n"
        "sys.executable = '/usr/bin/python3'\n"
        "print(runpy.run_path('setup.py')['CMakeBuild']().environment['PATH'])\n"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin"}
    command = [sys.executable, "-c", program]
    path = subprocess.check_output(command, cwd=ROOT, env=environment, text=True).strip()
    compiler = tmp_path / "c++"
    compiler.touch(0o755)
    assert shutil.which("c++", path=path) == str(compiler)
