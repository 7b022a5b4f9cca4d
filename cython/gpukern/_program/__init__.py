# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ compiled at run time, and its kernels."""
