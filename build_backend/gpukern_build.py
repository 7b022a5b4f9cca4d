# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The PEP 517 backend: setuptools, which requires only the build tools that are missing.

With $SOURCE_DATE_EPOCH, two source distributions of the same files have the same bytes.
"""

import gzip
import io
import os
import tarfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (unchanged hooks)
    build_editable,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from gpukern_toolchain import BASE_REQUIREMENTS, tool_requirements


def build_sdist(sdist_directory, config_settings=None):
    """Build a source distribution, as setuptools does; with one time for all of it if it is set."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        set_times(Path(sdist_directory, name), int(epoch))
    return name


def set_times(archive, epoch):
    """Write an archive anew, with one time, the usual modes, and without owners."""
    made = io.BytesIO()
    with (
        tarfile.open(archive) as old,
        gzip.GzipFile("", "wb", mtime=epoch, fileobj=made) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old, key=lambda member: member.name):
            member.mtime, member.uid, member.gid = epoch, 0, 0
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.uname = member.gname = ""
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(made.getvalue())


def get_requires_for_build_sdist(config_settings=None):
    """Return nothing: a source distribution compiles nothing."""
    return []


def get_requires_for_build_wheel(config_settings=None):
    """Return the build requirements, including a CUDA compiler if none is found."""
    requirements = build_meta.get_requires_for_build_wheel(config_settings)
    return [*requirements, *BASE_REQUIREMENTS, *tool_requirements()]


get_requires_for_build_editable = get_requires_for_build_wheel
