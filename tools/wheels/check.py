# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheels of dist/ and its sdist as a user does, and tests them: `make check-wheel`.

Each wheel whose Python is present gets a fresh virtual environment, in which the demo, a part of
the tests and the examples run. The source distribution is built by the oldest of these Pythons,
for the CPU.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
# What a broken build or a wrong library would fail; `make test` runs all.
TESTS = (
    "gather", "saxpy", "scatter", "put_along_axis", "bincount", "gather_reduce", "segment_reduce",
    "nonzero", "compress",
    "take", "take_along_axis", "elementwise", "typed", "library", "info", "dlpack", "errors",
)  # fmt: skip
PACKAGES = ("pytest", "hypothesis", "ml_dtypes", "Cython", "setuptools", "pip")


class Installed:
    """A fresh virtual environment with a package installed from a file."""

    def __init__(self, python, name, package, **variables):
        self.path = WORK / f"check-{name}"
        self.python = self.path / "bin" / "python"
        # Nothing of the source tree or of the caller's environment may be imported.
        self.environment = {**os.environ, "PYTHONNOUSERSITE": "1", **variables}
        self.environment.pop("PYTHONPATH", None)
        shutil.rmtree(self.path, ignore_errors=True)
        self.run(python, "-m", "venv", "--without-pip", self.path)
        self.pip("install", "--quiet", package)

    def pip(self, *arguments):
        """Run the pip of the tools for this environment."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python]
        self.run(*pip, *arguments)

    def run(self, *command, folder=WORK, **variables):
        """Run a command, which must succeed."""
        environment = {**self.environment, **variables}
        command = list(map(str, command))
        if subprocess.run(command, cwd=folder, env=environment, check=False).returncode != 0:
            raise SystemExit(f"check-wheel: this failed, see above: {' '.join(command)}")

    def demo(self):
        """Run the entry point, and check that it is this environment's."""
        command = [self.path / "bin" / "gpukern", "info", "--json"]
        output = subprocess.check_output(command, cwd=WORK, env=self.environment, text=True)
        library = json.loads(output)["library"]
        if not Path(library).is_relative_to(self.path):
            raise SystemExit(f"check-wheel: {library} is not that of the wheel")
        self.run(self.path / "bin" / "gpukern", "demo")


def check_wheel(tag, python, wheel):
    """Check a wheel."""
    started = time.monotonic()
    installed = Installed(python, tag, wheel)
    installed.demo()
    installed.pip("install", "--quiet", *PACKAGES)
    tests = [ROOT / "python_tests" / f"test_{name}.py" for name in TESTS]
    pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-m", "not alone", *tests]
    installed.run(installed.python, *pytest, folder=ROOT, GPUKERN_TEST_CASES="100")
    examples = ["bash", ROOT / "examples" / "check.sh"]
    installed.run(*examples, VENV=str(installed.path), WAYS="package")
    print(f"check-wheel: {wheel.name}: passed in {time.monotonic() - started:.0f} s", flush=True)


def check_sdist(python):
    """Install the source distribution in isolation, with what its own metadata asks for."""
    started = time.monotonic()
    [archive] = DIST.glob("*.tar.gz")
    Installed(python, "sdist", archive, GPUKERN_CUDA="OFF").demo()
    print(f"check-wheel: {archive.name}: passed in {time.monotonic() - started:.0f} s", flush=True)


def main():
    """Check everything that can be checked here, which must be something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="*", help="interpreters; by default all that are found")
    parser.add_argument("--all", action="store_true", help="fail if a supported one is missing")
    arguments = parser.parse_args()
    found = pythons.find(arguments.python, arguments.all)
    checked, left = [], []
    for wheel in sorted(DIST.glob("*.whl")):
        tag = wheel.name.split("-")[3]
        if tag in found:
            check_wheel(tag, found[tag], wheel)
            checked.append(tag)
        else:
            left.append(tag)
    if not checked:
        raise SystemExit("check-wheel: dist/ has no wheel of a Python that is present: make wheels")
    lacking = [tag for tag in found if tag not in checked]
    if lacking and (arguments.python or arguments.all):
        raise SystemExit(f"check-wheel: dist/ has no wheel for {', '.join(lacking)}")
    check_sdist(found[checked[0]])
    print(f"check-wheel: checked {', '.join(checked)}; no Python for: {', '.join(left) or 'none'}")


if __name__ == "__main__":
    main()
