# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA streams: order between libraries, and memory that work in flight still needs."""
