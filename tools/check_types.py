# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Runs mypy and pyright on the stubs and the typed programs, and stubtest on the built package.

The package is the one that `make test` has installed in $VENV, by default .venv. Settings are in
pyproject.toml.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ALLOWED = "tools/stubtest_allowlist.txt"
# Of the environment of this script: the versions that .pre-commit-config.yaml pins.
MYPY = [sys.executable, "-m", "mypy"]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
STUBTEST = [sys.executable, "-m", "mypy.stubtest", "gpukern", "--concise"]
STUBTEST += ["--mypy-config-file", "pyproject.toml", "--allowlist", ALLOWED]


def packages():
    """Return the folder with the built package, None without one for this version of Python."""
    base = Path(os.environ.get("VENV", ".venv")).resolve()
    folder = sysconfig.get_path("purelib", "posix_prefix", {"base": base, "platbase": base})
    return folder if Path(folder, "gpukern").is_dir() else None


def main():
    """Run the three, and return the exit status."""
    started = [(subprocess.Popen(command)) for command in (MYPY, PYRIGHT)]
    built = packages()
    if built is None:
        print("stubtest is left out: it needs the package that make test installs", flush=True)
    else:
        # NumPy, too, comes from there: the one that the package is used with.
        started.append(subprocess.Popen(STUBTEST, env={**os.environ, "PYTHONPATH": built}))
    return max([each.wait() != 0 for each in started])


if __name__ == "__main__":
    sys.exit(main())
