# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""One loop that checks and times the implementations of a case, on device and host arrays."""
