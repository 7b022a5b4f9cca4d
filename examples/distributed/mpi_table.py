# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A table over the processes of MPI: mpirun -n 4 python examples/distributed/mpi_table.py."""

import numpy as np

import gpukern

try:
    from mpi4py import MPI
except ImportError:
    print("skipped: mpi4py is not installed")
    raise SystemExit(0) from None

from gpukern import distributed

ROWS, WIDTH = 1000, 16

group = distributed.from_mpi(MPI.COMM_WORLD)
table = distributed.empty((ROWS * group.size, WIDTH), np.float32, group)
table.local[...] = np.array(table.row_range)[:, np.newaxis]

index = np.random.default_rng(group.rank).integers(0, len(table), 5000)
rows = gpukern.gather(table, index)
assert (rows == index[:, np.newaxis]).all()

gpukern.scatter(table, [0], np.ones((1, WIDTH), np.float32), reduce="add")  # by each rank
assert gpukern.gather(table, [0])[0, 0] == group.size
if group.rank == 0:
    print(f"CPU, {group.size} ranks:")
    print("  every rank has its rows")
