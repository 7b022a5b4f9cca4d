# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The PEP 517 backend: setuptools, which requires only the build tools that are missing."""

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (unchanged hooks)
    build_editable,
    build_sdist,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from gpukern_toolchain import BASE_REQUIREMENTS, tool_requirements


def get_requires_for_build_sdist(config_settings=None):
    """Return nothing: a source distribution compiles nothing."""
    return []


def get_requires_for_build_wheel(config_settings=None):
    """Return the build requirements, including a CUDA compiler if none is found."""
    requirements = build_meta.get_requires_for_build_wheel(config_settings)
    return [*requirements, *BASE_REQUIREMENTS, *tool_requirements()]


get_requires_for_build_editable = get_requires_for_build_wheel
