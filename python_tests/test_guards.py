# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""No exception crosses the C ABI, and no call touches what belongs to the rest of the process."""

import re
from pathlib import Path

import pytest
from commands import symbols

import gpukern
from gpukern._streams import stream, stream_tracker

ROOT = Path(__file__).parent.parent
SOURCES = [
    path
    for folder in ("src", "cuda")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".cpp", ".hpp", ".cu", ".cuh")
]
ENTRY = re.compile(
    r'^extern "C" (?P<type>[\w ]+[ *]+)(?P<name>gpukern_\w+)\([^{;]*\{', re.MULTILINE
)
# The functions that return no status: none can throw, or their exception has its answer.
WITHOUT_STATUS = {
    "gpukern_abi_version": "return GPUKERN_ABI_VERSION;",
    "gpukern_version": "return GPUKERN_VERSION;",
    "gpukern_last_error": "return gpukern::last_message.data();",
    "gpukern_table_data": "return table == nullptr ? nullptr : table->data();",
    "gpukern_status_name": "static constexpr std::array names",
    "gpukern_device_count": None,
    "gpukern_num_threads": None,
}


def entries():
    """The name of each exported function, its type and the beginning of its body."""
    found = {}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for match in ENTRY.finditer(text):
            body = text[match.end() :].partition("\n}")[0].strip()
            assert match["name"] not in found
            found[match["name"]] = match["type"].strip(), body
    return found


def test_every_exported_function_is_found():
    library = Path(gpukern.get_library_dir(), "libgpukern.so")
    assert entries().keys() == symbols(library, "--defined-only")


@pytest.mark.parametrize("name", sorted(entries()))
def test_an_exception_becomes_a_status(name):
    kind, body = entries()[name]
    if name in WITHOUT_STATUS:
        assert kind != "gpukern_status"
        known = WITHOUT_STATUS[name]
        assert body.startswith(known) if known else "guard(" in body, body
        return
    assert kind == "gpukern_status"
    # The whole body is within the guard.
    assert re.match(r"return (gpukern::)?guard\(\s*\[&?\] \{", body), body
    assert re.search(r"\}\);$", body), body


# What would break other users of the GPU, and getenv() and signal handlers, which break
# programs with several threads. CMake's test no_static_guards looks at static variables.
REFUSED = {
    r"\bcudaDevice(Reset|Synchronize)\b": set(),
    r"\bcuCtx(Synchronize|Destroy\w*|Reset\w*)\b": set(),
    r"\bcudaSetDevice\b": set(),
    r"\bcudaStreamCaptureModeGlobal\b": set(),
    r"\b(secure_)?getenv\(": {"src/core/environment.cpp"},
    r"\b(sigaction|signal)\(": {"cuda/program/nvrtc_signals.cpp"},
    r"\babort\(|\bexit\(": set(),
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_no_call_of_it(pattern):
    users = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(pattern, re.sub(r"//.*", "", path.read_text(encoding="utf-8")))
    }
    assert users == REFUSED[pattern]


@pytest.mark.parametrize("kind", [stream.Stream, stream_tracker.StreamTracker])
def test_the_collector_leaves_streams_to_the_arrays_that_use_them(kind):
    """The uses of an array and the owners of their streams are not in cycles, where an owner's
    finalizer destroys the stream before the memory is freed on it. On a GPU, test_keep.py."""
    have_gc = 1 << 14  # Py_TPFLAGS_HAVE_GC
    assert not kind.__flags__ & have_gc
