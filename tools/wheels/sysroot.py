# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Compilers whose binaries run with glibc 2.28, on a machine with a newer one.

Headers and link libraries are those of Debian 11 (glibc 2.31), pinned by their hashes; this
project's binaries need none of its symbols that are newer than 2.28, which auditwheel checks. The
compiler is the machine's own. Its libstdc++ is linked statically and not exported: no exception
leaves the C library or a Python module.
"""

import hashlib
import http.client
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path

MANYLINUX_GLIBC = (2, 28)
SERVERS = ("https://deb.debian.org/debian/", "https://archive.debian.org/debian/")
PACKAGES = {
    "pool/main/g/glibc/libc6_2.31-13+deb11u11_amd64.deb": (
        "05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282"
    ),
    "pool/main/g/glibc/libc6-dev_2.31-13+deb11u11_amd64.deb": (
        "e7f7b45d9c5cfcf37609f0b6efd3c645272c812144703af89dfd32218fcb0fd3"
    ),
    "pool/main/l/linux/linux-libc-dev_5.10.223-1_amd64.deb": (
        "e3be603bd12377bb90fcfb0f2048ca3a81c886e49d6f09945b82159d1c54f7b2"
    ),
}
LIBRARIES = Path("usr", "lib", "x86_64-linux-gnu")


def machine_glibc():
    """Return the version of glibc of this machine."""
    name, number = os.confstr("CS_GNU_LIBC_VERSION").split()
    if name != "glibc":
        raise SystemExit("wheels: manylinux wheels are built with glibc")
    return tuple(map(int, number.split(".")))


def download(path, digest, folder):
    """Return a package in a folder, from the first server that has it."""
    target = folder / Path(path).name
    for server in SERVERS:
        if not target.exists():
            try:
                with urllib.request.urlopen(server + path, timeout=60) as answer:
                    target.write_bytes(answer.read())
            except (OSError, http.client.HTTPException) as error:
                print(f"wheels: {server + path}: {error}", flush=True)
    if not target.exists():
        raise SystemExit(f"wheels: cannot download {target.name}")
    if hashlib.sha256(target.read_bytes()).hexdigest() != digest:
        target.unlink()
        raise SystemExit(f"wheels: {target.name} is not the package that is pinned; deleted it")
    return target


def make_links_relative(root):
    """Point absolute links at files of the sysroot, not of the machine."""
    for link in root.rglob("*"):
        if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(f"{root}{target}", link.parent))


def unpack(folder):
    """Make the sysroot in a folder and return its root."""
    pins = hashlib.sha256(repr(PACKAGES).encode()).hexdigest()[:16]
    root = folder / f"root-{pins}"
    if not root.exists():
        shutil.rmtree(folder / "new", ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        for path, digest in PACKAGES.items():
            package = download(path, digest, folder)
            subprocess.run(["dpkg", "--extract", package, folder / "new"], check=True)
        make_links_relative(folder / "new")
        (folder / "new").rename(root)
    return root


def compiler(name, root, folder):
    """Write a script that runs a compiler with the sysroot and return its path."""
    program = shutil.which(name)
    if program is None:
        raise SystemExit(f"wheels: there is no {name}")
    libraries = root / LIBRARIES
    script = folder / name
    # -B: before the start files of the machine. -L: before the libraries of the machine, which
    # Debian's Python names. The machine's own libgcc_s may need a newer glibc.
    script.write_text(
        f'#!/bin/sh\nexec {program} --sysroot="{root}" -B"{libraries}" -L"{libraries}" '
        '-Wl,--allow-shlib-undefined "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


def prepare(folder, compat_source):
    """Return the environment and the linker flags for manylinux_2_28.

    Both are empty where the machine's glibc is old enough, as in the manylinux image.
    """
    if machine_glibc() <= MANYLINUX_GLIBC:
        return {}, []
    root = unpack(folder)
    c, cxx = (compiler(name, root, folder) for name in ("gcc", "g++"))
    compat = folder / "glibc_compat.o"
    subprocess.run([c, "-c", "-O2", "-fPIC", compat_source, "-o", compat], check=True)
    environment = {"CC": str(c), "CXX": str(cxx), "CUDAHOSTCXX": str(cxx)}
    flags = ["-static-libstdc++", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", str(compat)]
    return environment, flags
