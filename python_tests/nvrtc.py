# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A mark for tests that compile programs; they need NVRTC but no GPU."""

import pytest

import gpukern

WHY_NOT = gpukern.info()["nvrtc"]["reason"]
needs_nvrtc = pytest.mark.skipif(bool(WHY_NOT), reason=f"no NVRTC: {WHY_NOT}")
