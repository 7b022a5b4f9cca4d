# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time; `python -m benchmarks.programs`."""
