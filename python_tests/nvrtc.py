# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A mark for tests that compile programs; they need NVRTC but no GPU."""

import pytest

import gpukern
from gpukern._program import program


def why_no_nvrtc():
    """The reason why programs cannot be compiled, or None."""
    if not gpukern.info()["cuda"]["built"]:
        return "built without CUDA"
    return program.nvrtc_status()["reason"] or None


needs_nvrtc = pytest.mark.skipif(why_no_nvrtc() is not None, reason=f"no NVRTC: {why_no_nvrtc()}")
