# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on groups of threads."""

import threading

from gpukern import distributed


def on_ranks(function, size, wrap=lambda group: group):
    """Call a function with the group of each rank; return the results or exceptions, by rank."""
    results = [None] * size

    def run(group):
        try:
            results[group.rank] = function(wrap(group))
        except Exception as error:
            results[group.rank] = error

    threads = [threading.Thread(target=run, args=(group,)) for group in distributed.threads(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


def without_errors(results):
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results
