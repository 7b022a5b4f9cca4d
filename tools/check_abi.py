# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the ABI of libgpukern.so with its baseline in abi/, by libabigail.

python tools/check_abi.py fails if a program that was linked with the library of the baseline might
not work with this one; --renew writes the baseline. Needs abidw and abidiff (Debian and Ubuntu:
abigail-tools), and g++.
"""

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINES = ROOT / "abi"
SUPPRESSIONS = BASELINES / "growing.abignore"
# The baseline is of this architecture; the others differ from it only in what the C ABI lays down.
ARCHITECTURE = "x86_64"
# Only what the exported functions of the C headers reach, and nothing that depends on the machine.
CORPUS_OPTIONS = (
    "--exported-interfaces-only",
    "--drop-private-types",
    "--drop-undefined-syms",
    "--no-elf-needed",
    "--no-corpus-path",
    "--no-comp-dir-path",
    "--no-show-locs",
    *("--type-id-style", "hash"),  # numbers would change with each type that is added
)
# Bits of abidiff's exit status.
ERROR = 1 | 2
CHANGE = 4 | 8


def run(*command, **options):
    """Run a program, which must succeed."""
    subprocess.run([str(each) for each in command], check=True, **options)


def abi_version(include):
    """Return GPUKERN_ABI_VERSION."""
    text = (include / "gpukern" / "gpukern.h").read_text(encoding="utf-8")
    return int(re.search(r"#define GPUKERN_ABI_VERSION (\d+)", text).group(1))


def api_sources():
    """Return the sources that define functions of the C ABI."""
    paths = sorted(ROOT.glob("src/**/*.cpp"))
    return [path for path in paths if 'extern "C"' in path.read_text(encoding="utf-8")]


def write_corpus(path, include, sources):
    """Write the ABI of these sources, with the headers of a directory, to an XML file.

    Compiling the whole library with debugging information would take several times as long, and add
    nothing: the other sources define no function of the ABI.
    """
    with tempfile.TemporaryDirectory() as name:
        # abidw knows a public type by the name of its file alone, and src/ has a program.hpp too.
        headers = Path(name, "headers")
        shutil.copytree(include / "gpukern", headers, ignore=shutil.ignore_patterns("*.hpp"))
        library = Path(name, "libgpukern.so")
        run(
            *("g++", "-std=c++20", "-g", "-O0", "-fPIC", "-shared", "-fvisibility=hidden"),
            *(f"-I{include}", f"-I{ROOT}", *sources, "-o", library),
            f"-Wl,--version-script={ROOT}/cmake/gpukern.map",
            f"-Wl,-soname,libgpukern.so.{abi_version(include)}",
            cwd=ROOT,
        )
        run("abidw", *CORPUS_OPTIONS, "--headers-dir", headers, "--out-file", path, library)


def is_compatible(baseline, corpus):
    """Print the differences, and tell whether programs of the baseline work with the other."""
    command = ["abidiff", "--no-added-syms", "--suppressions", SUPPRESSIONS, baseline, corpus]
    status = subprocess.run(command, check=False).returncode
    if status & ERROR:
        raise SystemExit(f"ABI: abidiff failed with status {status}")
    return not status & CHANGE


def main():
    """Check or renew, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--renew", action="store_true", help="write the baseline")
    renew = parser.parse_args().renew
    if platform.machine() != ARCHITECTURE:
        print(f"ABI: not compared: the baseline is of {ARCHITECTURE}")
        return 0
    if not shutil.which("abidw"):
        print("ABI: needs abidw and abidiff; on Debian and Ubuntu: apt-get install abigail-tools")
        return 1
    include = ROOT / "include"
    baseline = BASELINES / f"libgpukern.so.{abi_version(include)}.xml"
    if renew:
        sources = [path.relative_to(ROOT) for path in api_sources()]
        write_corpus(baseline, include, sources)
        return 0
    if not baseline.exists():
        print(f"ABI: there is no {baseline}: make abi-renew")
        return 1
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name, "corpus.xml")
        write_corpus(corpus, include, api_sources())
        if is_compatible(baseline, corpus):
            print(f"ABI: compatible with {baseline.relative_to(ROOT)}")
            return 0
    print(
        "ABI: programs that were linked earlier may not work with this library. Increase\n"
        "GPUKERN_ABI_VERSION, or, before a release, make abi-renew."
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
