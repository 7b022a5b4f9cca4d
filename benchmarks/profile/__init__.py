# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute on the main kernels; `python -m benchmarks.profile`."""
