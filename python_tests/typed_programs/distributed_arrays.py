# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on distributed arrays; see host_arrays.py."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import gpukern
from gpukern import distributed
from gpukern.distributed import DistributedArray

Floats = npt.NDArray[np.float32]


def results(
    rows: Floats, index: npt.NDArray[np.int64], out: Floats, group: distributed.Group
) -> None:
    table = distributed.from_local(rows, group)
    assert_type(gpukern.gather(table, index), npt.NDArray[Any])
    assert_type(gpukern.gather(table, [0, 1], mode="clip"), npt.NDArray[Any])
    assert_type(gpukern.gather(table, index, out=out), Floats)
    assert_type(gpukern.gather(table, 3), Any)
    assert_type(gpukern.take(table, index, 0), npt.NDArray[Any])
    assert_type(gpukern.take(table, index, 0, out), Floats)
    assert_type(gpukern.scatter(table, index, rows, reduce="add"), DistributedArray)
    assert_type(gpukern.saxpy(2.0, table, table), DistributedArray)
    assert_type(gpukern.saxpy(2.0, table, table, out=table), DistributedArray)
