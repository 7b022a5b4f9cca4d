# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the CPython interpreters that wheels are built for."""

import os
import re
import shutil
import subprocess
from pathlib import Path

SUPPORTED = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t")
QUESTION = """
import sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(sys.implementation.name, f"cp{sys.version_info[0]}{sys.version_info[1]}{free}")
"""


def tag_of(python):
    """Return the tag of a CPython, such as cp314t; None of anything else."""
    try:
        run = subprocess.run(
            [python, "-I", "-c", QUESTION], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    name, tag = run.stdout.split()
    return tag if name == "cpython" else None


def candidates():
    """Yield paths where interpreters of the supported versions usually are."""
    for tag in SUPPORTED:
        major, minor, free = re.fullmatch(r"cp(\d)(\d+)(t?)", tag).groups()
        version = f"{major}.{minor}"
        yield f"/opt/python/{tag.removesuffix('t')}-{tag}/bin/python"  # the manylinux image
        yield shutil.which(f"python{version}{free}")
        pyenv = Path.home().joinpath(".pyenv", "versions")
        yield from sorted(map(str, pyenv.glob(f"{version}.*{free}/bin/python{version}")))


def find(named=(), need_all=False):
    """Return the interpreters by tag: those named, by path or command, else all that are found."""
    found = {}
    for python in named or filter(None, candidates()):
        tag = tag_of(python)
        if tag in SUPPORTED:
            found.setdefault(tag, os.path.abspath(shutil.which(python)))
        elif named:
            raise SystemExit(f"wheels: {python} is not a CPython of {', '.join(SUPPORTED)}")
    if need_all and (missing := [tag for tag in SUPPORTED if tag not in found]):
        raise SystemExit(f"wheels: there is no CPython of {', '.join(missing)}")
    return dict(sorted(found.items(), key=lambda item: SUPPORTED.index(item[0])))
