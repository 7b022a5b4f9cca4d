# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Sums of bags of rows, an operation on top of gpukern."""

# Loads libgpukern.so, which the extension module links by name.
import gpukern  # noqa: F401
from gpukern_bags._bags import add_bags

__all__ = ["add_bags"]
