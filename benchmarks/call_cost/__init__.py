# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What a call costs on the host; ``python -m benchmarks.call_cost``."""
