# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""CONTRIBUTING's recipe "Add an operation" names the files of every operation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OPERATION = re.compile(r"^GPUKERN_API gpukern_status gpukern_(\w+)\(", re.MULTILINE)
# The part that every operation follows: it ends where the recipe names this test.
RECIPE = re.compile(r"^## Add an operation$(.*?)`python_tests/test_recipe\.py`", re.M | re.S)
FILE = re.compile(r"`([\w/<>.]+\.(?:cpp|h|hpp|pxd|pyx|pyi|py|md))`")
# What the recipe points to as an example, or names for reading.
EXAMPLES = {
    "src/ops/take_along_axis.cpp",
    "src/ops/indexing.hpp",
    "src/ops/put_along_axis.cpp",
    "src/ops/indexed_write.hpp",
    "src/ops/segment_reduce.cpp",
    "src/ops/indexed_reduction.hpp",
    "src/ops/nonzero.cpp",
    "src/ops/selection.hpp",
    "indexing/indexed_read.pxd",
    "indexing/indexed_write.pxd",
    "reduction/gather_reduce.pxd",
}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def operations():
    return [
        operation
        for header in ("operations", "arithmetic")
        for operation in OPERATION.findall(read(f"include/gpukern/{header}.h"))
    ]


def recipe():
    """The new files and the edited files."""
    files = [
        f for f in FILE.findall(RECIPE.search(read("CONTRIBUTING.md"))[1]) if f not in EXAMPLES
    ]
    return [f for f in files if "<op>" in f], [f for f in files if "<op>" not in f]


def test_the_recipe_is_short():
    new, edited = recipe()
    assert len(new) == 5
    assert len(edited) == len(set(edited)) == 9


def test_the_header_has_operations():
    assert {
        "gather",
        "take_along_axis",
        "scatter",
        "put_along_axis",
        "gather_reduce",
        "segment_reduce",
        "count_nonzero",
        "nonzero",
        "compress",
        "saxpy",
        "saxpy_many",
        "axpby",
        "fma",
    } <= set(operations())


@pytest.mark.parametrize("operation", operations())
def test_each_operation_follows_the_recipe(operation):
    new, edited = recipe()
    for template in new + edited:
        path = template.replace("<op>", operation)
        if operation in ("saxpy", "saxpy_many", "axpby", "fma"):
            path = path.replace("gpukern/operations.", "gpukern/arithmetic.")
        if "/" not in template and template.startswith("<op>"):  # in a folder of the operations
            (path,) = (ROOT / "cython" / "gpukern" / "_ops").rglob(path)
        assert (ROOT / path).is_file(), path
        # Not as a part of the name of another: gather is in gather_reduce.
        if template in edited:
            assert re.search(rf"\b(?:gpukern_)?{operation}\b", read(path)), path
