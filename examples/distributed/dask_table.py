# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A gather of Dask arrays on two worker processes."""

import numpy as np

try:
    import dask.array as da
    from distributed import Client, LocalCluster
except ImportError:
    print("skipped: dask and distributed are not installed")
    raise SystemExit(0) from None

import gpukern.dask

ITEMS = 1_000_000


def main():
    """Gather from a table on the workers and compare."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        table = (2 * da.arange(ITEMS, chunks=ITEMS // 2)).persist()
        index = np.random.default_rng(0).integers(0, ITEMS, ITEMS)
        lazy = gpukern.dask.gather(table, index)
        assert (lazy.compute() == 2 * index).all()
    print("CPU, two workers:")
    print("  the items are those of NumPy")


if __name__ == "__main__":  # the workers import this file
    main()
