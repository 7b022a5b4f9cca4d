# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of gpukern; see README.md. ``python -m benchmarks --help``."""
