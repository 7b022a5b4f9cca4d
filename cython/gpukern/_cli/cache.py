# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``gpukern cache``: the compiled programs on disk."""

import os
import time

from gpukern._cli.info import usage
from gpukern._program.program import cache_info, clear_cache


def entries(directory):
    """Yields (last use in seconds, bytes, name) of the files; other processes may remove some."""
    try:
        with os.scandir(directory) as files:
            for file in files:
                if file.name.endswith(".gpukern") and file.is_file(follow_symlinks=False):
                    found = file.stat(follow_symlinks=False)
                    yield found.st_mtime, found.st_size, file.name
    except FileNotFoundError:  # before the first program
        return


def list_entries(cache):
    """Prints a line for each compiled program, the last used one first."""
    for used, size, name in sorted(entries(cache["directory"]), reverse=True):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(used))
        print(f"{when} {size:>10} {name}")
    return True


def print_size(cache):
    """Prints how much there is."""
    print(usage(cache))
    return True


def clear(cache):
    """Removes the files, and returns whether all are gone."""
    clear_cache()
    left = cache_info()["entries"]
    print(f"removed {cache['entries'] - left} of {cache['entries']} files")
    return not left


ACTIONS = {"list": list_entries, "size": print_size, "clear": clear}


def run(action):
    """Runs an action and returns whether it succeeded."""
    cache = cache_info()
    if cache["directory"]:
        return ACTIONS[action](cache)
    print(
        "programs are cached in memory only; "
        "set $GPUKERN_CACHE_DIR to a directory that is yours alone"
    )
    return True
