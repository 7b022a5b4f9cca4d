# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The cost of a call on the host; ``python -m benchmarks.call_cost``."""
