# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.scale``. New processes import the functions from their module."""

from benchmarks.scale.command import main

main()
