# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Programs of the machine that tests run, and that may be missing there."""

import os
import shlex
import shutil
import subprocess

import pytest

COMPILERS = {"CC": "cc", "CXX": "c++"}


def installed(name):
    """The name of a program; skips the test where it is not installed."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def compiler(variable):
    """The command of the compiler that CC or CXX names, as words."""
    first, *options = shlex.split(os.environ.get(variable) or COMPILERS[variable])
    return [installed(first), *options]


def output_of(name, *arguments):
    """What a program prints; it must succeed."""
    command = [installed(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library, option):
    """The names that `nm -D` lists."""
    lines = output_of("nm", "--dynamic", "--format=posix", option, str(library)).splitlines()
    return {line.split()[0].partition("@")[0] for line in lines}
