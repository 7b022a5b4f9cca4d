# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gpukern imports no array library but NumPy, and no type of theirs is looked for without need."""

import re
import subprocess
import sys

import pytest

import gpukern

OTHERS = {"cuda", "cupy", "dask", "distributed", "jax", "jaxlib", "ml_dtypes", "mpi4py", "numba",
          "torch"}  # fmt: skip
IMPORT = "import gpukern"
NUMPY_CALLS = """
import gpukern, numpy
x = numpy.arange(5.0)
gpukern.gather(x, [4, 0])
gpukern.gather(x, numpy.array([4, 0]), mode="wrap", out=numpy.zeros(2))
gpukern.saxpy(2.0, x, x)
gpukern.saxpy(2.0, memoryview(x), list(x))
gpukern.gather(numpy.arange(5), numpy.array(3))
gpukern.to_device(x, "cpu").numpy()
"""


def imported_by(code):
    code += "\nimport sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("code", [IMPORT, NUMPY_CALLS], ids=["import", "NumPy calls"])
def test_nothing_of_others_is_imported(code):
    imported = imported_by(code) - imported_by("import numpy")
    assert not imported & {*OTHERS, "argparse"}  # which only the command needs


@pytest.mark.parametrize(
    ("library", "make"),
    [("torch", "torch.arange(5.0)"), ("jax", "jax.numpy.arange(5.0)")],
)
def test_a_librarys_arrays_import_no_other_library(library, make):
    pytest.importorskip(library)
    before = imported_by(f"import {library}; x = {make}")
    after = imported_by(
        f"import {library}, gpukern; x = {make}; gpukern.gather(x, [1]); gpukern.saxpy(2.0, x, x)"
    )
    assert not (after - before) & OTHERS


def test_docstrings_have_the_shared_parameters():
    for function in (gpukern.gather, gpukern.saxpy):
        for name in ("device", "stream", "progress", "device_memory"):
            assert len(re.findall(rf"^ *{name} : ", function.__doc__, re.MULTILINE)) == 1
