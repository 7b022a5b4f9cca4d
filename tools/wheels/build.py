# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the source distribution and manylinux_2_28 wheels into dist/: `make wheels`.

Every wheel is what pip builds from the source distribution, with pinned tools, old glibc symbols
and GPU code for all architectures. The C library is compiled once.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import audit
import pythons
import sysroot

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
# The same on every machine: nvcc makes names of kernels from the paths of their sources.
SOURCE = Path("/tmp/gpukern-wheels")
POLICY = "manylinux_2_28_x86_64"


def run(*command, **options):
    """Run a command, which must succeed."""
    print("+", shlex.join(map(str, command)), flush=True)
    if subprocess.run(list(map(str, command)), check=False, **options).returncode != 0:
        raise SystemExit("wheels: this command failed, see above")


class Environment:
    """A virtual environment with exactly the packages of a file with hashes."""

    def __init__(self, python, name, requirements):
        self.path = WORK / name
        self.python = self.path / "bin" / "python"
        pinned = self.path / "made-of.txt"
        text = f"# {Path(python).resolve()}\n{requirements.read_text(encoding='utf-8')}"
        if not pinned.exists() or pinned.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.path, ignore_errors=True)
            # A Python may come without ensurepip; the pip that runs may be that of the tools.
            run(python, "-m", "venv", "--without-pip", self.path)
            self.pip("install", "--quiet", "--require-hashes", "--requirement", requirements)
            pinned.write_text(text, encoding="utf-8")

    def pip(self, *arguments, **options):
        """Run pip for this environment."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python]
        run(*pip, *arguments, **options)


def source_date():
    """Return $SOURCE_DATE_EPOCH, or the time of the last commit."""
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(git, text=True).strip()


def make_source(environment):
    """Build the source distribution of the last commit; return where it is unpacked."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    # What is committed, and nothing else.
    run("git", "-C", ROOT, "archive", "--output", WORK / "tree.tar", "HEAD")
    with tarfile.open(WORK / "tree.tar") as tar:
        tar.extractall(tree, filter="data")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", DIST]
    run(*build, tree, env=environment)
    [archive] = DIST.glob("*.tar.gz")
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(mode=0o700)  # fails if it is someone else's
    with tarfile.open(archive) as tar:
        tar.extractall(SOURCE, filter="data")
    [source] = SOURCE.iterdir()
    return source


def nvcc():
    """Return the pinned nvcc."""
    [found] = Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu*/bin/nvcc")
    return found


def build_environment(source):
    """Return the environment variables of the builds."""
    compilers, linker_flags = sysroot.prepare(WORK / "sysroot", HERE / "glibc_compat.c")
    maps = f"-ffile-prefix-map={source}=gpukern -ffile-prefix-map={WORK}=wheels"
    library = [f"-DCMAKE_{language}_FLAGS={maps}" for language in ("C", "CXX")]
    library.append(f"-DCMAKE_CUDA_FLAGS=-Xcompiler={maps.replace(' ', ',')}")
    # Those of the modules, in place of what Python was built with: its library paths, for example.
    flags = f"-O2 -DNDEBUG -fwrapv {maps}"
    link = f"{compilers.get('CXX', 'g++')} -shared"
    return {
        **os.environ,
        **compilers,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CMAKE_ARGS": shlex.join([*shlex.split(os.environ.get("CMAKE_ARGS", "")), *library]),
        "CFLAGS": flags,
        "CXXFLAGS": flags,
        "LDSHARED": link,
        "LDCXXSHARED": link,
        "LDFLAGS": " ".join(["-Wl,--strip-all", *linker_flags]),
        "CUDACXX": str(nvcc()),
        "CUDAARCHS": "release",
        "GPUKERN_CUDA": "ON",
        "SOURCE_DATE_EPOCH": source_date(),
    }


def build_wheel(tag, python, source, environment):
    """Build a wheel, put it into dist/ and return its path."""
    started = time.monotonic()
    tools = Environment(python, tag, HERE / "build-requirements.txt")
    raw = WORK / "raw" / tag
    shutil.rmtree(raw, ignore_errors=True)
    build = ["wheel", "--verbose", "--no-build-isolation", "--no-deps", "--wheel-dir", raw, source]
    tools.pip(*build, env=environment)
    [wheel] = raw.glob("*.whl")
    audit_tool = [sys.executable, "-m", "auditwheel"]
    repaired = WORK / "repaired" / tag
    shutil.rmtree(repaired, ignore_errors=True)
    run(*audit_tool, "repair", "--plat", POLICY, "--wheel-dir", repaired, wheel, env=environment)
    [wheel] = repaired.glob("*.whl")
    run(*audit_tool, "show", wheel, env=environment)
    if found := list(audit.problems(wheel, [ROOT, SOURCE, Path.home()])):
        raise SystemExit("\n".join([f"wheels: {wheel.name}:", *found]))
    print(f"wheels: {wheel.name}: built in {time.monotonic() - started:.0f} s", flush=True)
    return Path(shutil.move(wheel, DIST / wheel.name))


def main():
    """Build all and print names, sizes and hashes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="*", help="interpreters; by default all that are found")
    parser.add_argument("--all", action="store_true", help="fail if a supported one is missing")
    arguments = parser.parse_args()
    found = pythons.find(arguments.python, arguments.all)
    if not found:
        raise SystemExit(f"wheels: there is no CPython of {', '.join(pythons.SUPPORTED)}")
    print("wheels: for", *(f"{tag} ({python})" for tag, python in found.items()), flush=True)
    os.umask(0o022)  # wheels record the modes of files
    shutil.rmtree(DIST, ignore_errors=True)
    epoch = {**os.environ, "SOURCE_DATE_EPOCH": source_date()}
    source = make_source(epoch)
    environment = build_environment(source)
    built = [build_wheel(tag, python, source, environment) for tag, python in found.items()]
    files = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    for path in files:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{digest}  {path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.2f} MB")
    print(f"wheels: {len(built)} wheels")


if __name__ == "__main__":
    main()
