# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where the packages of PyPI put NVRTC: site-packages/nvidia/cu13, without importing anything."""

import os
import sys


def directories():
    """The toolkits' roots among the installed packages, those that exist."""
    # importlib.util.find_spec() lists all these folders, which takes ten times as long.
    roots = [os.path.abspath(os.path.join(place, "nvidia", "cu13")) for place in sys.path]
    return [root for root in dict.fromkeys(roots) if os.path.isdir(root)]
