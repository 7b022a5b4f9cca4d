# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where the packages of PyPI put NVRTC: site-packages/nvidia/cu13, without importing anything."""

import importlib.util
import os


def directories():
    """The toolkits' roots among the installed packages, those that exist."""
    try:
        found = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    places = found.submodule_search_locations if found is not None else None
    roots = [os.path.join(place, "cu13") for place in places or ()]
    return [root for root in roots if os.path.isdir(root)]
