# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""tools/check_abi.py finds the changes of the headers that break programs, and only those."""

import platform
import re
import shutil
from pathlib import Path

import pytest

from tools import check_abi

ROOT = Path(__file__).resolve().parent.parent

# Each replaces a text of the header by another: a declaration that the library might get.
COMPATIBLE = {
    "exec grows": ("} gpukern_exec;", "  int64_t more;\n} gpukern_exec;"),
    "new status": ("GPUKERN_CANCELLED = 11", "GPUKERN_CANCELLED = 11,\n  GPUKERN_MORE = 12"),
}
INCOMPATIBLE = {
    "member of exec before the last": ("size_t struct_size;", "size_t struct_size; int64_t more;"),
    "tensor grows": ("} gpukern_tensor;", "  int64_t more;\n} gpukern_tensor;"),
    "status has another value": ("GPUKERN_CANCELLED = 11", "GPUKERN_CANCELLED = 12"),
    "another ABI": ("#define GPUKERN_ABI_VERSION 1", "#define GPUKERN_ABI_VERSION 2"),
}
SOURCE = ROOT / "src" / "core" / "error.cpp"
FUNCTION = """
#include "gpukern/gpukern.h"
extern "C" GPUKERN_API gpukern_status gpukern_probe({}) {{ return GPUKERN_SUCCESS; }}
"""
TENSOR = "const gpukern_tensor* x, const gpukern_exec* exec"


@pytest.fixture(scope="module")
def make_corpus(tmp_path_factory):
    """Return a function that writes a corpus of few functions, which is quick."""
    if not shutil.which("abidw"):
        pytest.skip("abidw is not installed")
    if platform.machine() != check_abi.ARCHITECTURE:
        pytest.skip("the baseline is of another machine")

    def make(old="", new="", parameters=TENSOR):
        folder = tmp_path_factory.mktemp("abi")
        shutil.copytree(ROOT / "include", folder / "include")
        headers = [folder / "include" / "gpukern" / name for name in ("types.h", "gpukern.h")]
        texts = {header: header.read_text(encoding="utf-8") for header in headers}
        changed = next(header for header, text in texts.items() if old in text)
        changed.write_text(texts[changed].replace(old, new, 1), encoding="utf-8")
        probe = folder / "probe.cpp"
        probe.write_text(FUNCTION.format(parameters) if parameters else "", encoding="utf-8")
        corpus = folder / "corpus.xml"
        check_abi.write_corpus(corpus, folder / "include", [SOURCE, probe])
        return corpus

    return make


@pytest.fixture(scope="module")
def baseline(make_corpus):
    return make_corpus()


@pytest.mark.parametrize("change", COMPATIBLE)
def test_compatible_changes_pass(change, make_corpus, baseline):
    assert check_abi.is_compatible(baseline, make_corpus(*COMPATIBLE[change]))


@pytest.mark.parametrize("change", INCOMPATIBLE)
def test_incompatible_changes_fail(change, make_corpus, baseline):
    assert not check_abi.is_compatible(baseline, make_corpus(*INCOMPATIBLE[change]))


def test_functions_may_be_added_but_neither_removed_nor_changed(make_corpus, baseline):
    without = make_corpus(parameters="")
    assert check_abi.is_compatible(without, baseline)
    assert not check_abi.is_compatible(baseline, without)
    assert not check_abi.is_compatible(baseline, make_corpus(parameters=TENSOR + ", int32_t axis"))


def test_structs_that_may_grow_begin_with_their_size():
    headers = (ROOT / "include" / "gpukern").glob("*.h")
    text = "".join(path.read_text(encoding="utf-8") for path in headers)
    structs = set(re.findall(r"struct (gpukern_\w+) \{", text))
    sized = set(re.findall(r"struct (gpukern_\w+) \{\s*size_t struct_size;", text))
    suppressions = check_abi.SUPPRESSIONS.read_text(encoding="utf-8")
    may_grow = re.compile(re.search(r"name_regexp = (.*)", suppressions).group(1))
    assert {name for name in structs if may_grow.match(name)} == sized
