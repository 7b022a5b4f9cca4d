# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What the functions on typed memoryviews share, and these functions for Python."""
