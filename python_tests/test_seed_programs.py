# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The examples that compile kernels at run time, at full size on a GPU; vector_add anywhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from nvrtc import needs_nvrtc

import gpukern

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = ["hello", "gather", "saxpy_by_hand/main", "vector_add", "polynomial"]


def run(name):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def sources(name):
    """The CUDA C++ in an example."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    return re.findall(r'r?"""\n((?:(?!""").)*__global__(?:(?!""").)*)"""', text, re.DOTALL)


@needs_nvrtc
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compile(name):
    found = sources(name)
    assert len(found) == (0 if name == "vector_add" else 1)
    for source in found:
        assert ".entry" in gpukern.Program(source, architecture="sm_90").ptx


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "vector_add" else pytest.mark.gpu)
        for name in PROGRAMS
    ],
)
def test_programs_run(name):
    result = run(name)
    assert result.returncode == 0, result.stderr
    assert "right" in result.stdout
    if name == "hello":
        assert result.stdout.count("hello from thread") == 8
