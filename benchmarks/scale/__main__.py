# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.scale``. New processes import the functions from their module."""

try:
    from benchmarks.scale.command import main
except ModuleNotFoundError as error:
    raise SystemExit(f"benchmarks.scale needs {error.name}: pip install {error.name}") from None

main()
