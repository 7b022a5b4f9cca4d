# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A table over the GPUs of a host: by one process, or torchrun --nproc-per-node N for one each."""

import os

import numpy as np

import gpukern

if gpukern.info()["cuda"]["device_count"] == 0:
    print("skipped: there is no GPU")
    raise SystemExit(0)

from gpukern import distributed

ROWS, WIDTH = 100_000, 64

gpus = gpukern.info()["cuda"]["device_count"]
if "LOCAL_RANK" in os.environ:
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    group = distributed.from_torch()
    devices = [int(os.environ["LOCAL_RANK"]) % gpus]
else:
    group = None
    devices = list(range(gpus))

table = distributed.empty((ROWS, WIDTH), np.float32, group, devices=devices)
rows = table.row_range
gpukern.copyto(table.local, np.array(rows, np.float32)[:, np.newaxis] + np.zeros(WIDTH, "f4"))
table.synchronize()  # the rows of the other processes are there, too

# Each GPU gathers from all rows, by one kernel.
for device in table.devices:
    index = np.random.default_rng(device).integers(-ROWS, ROWS, 5000)
    found = gpukern.gather(table, gpukern.to_device(index, device))
    assert (found.numpy() == (index % ROWS)[:, np.newaxis]).all()

message = ""
try:
    gpukern.gather(table, [ROWS])
except IndexError as error:
    message = str(error)
assert message.startswith(f"index {ROWS} is out of bounds")
print(f"GPU {', '.join(map(str, table.devices))}:")
print("  has its rows")
if group is not None:
    torch.distributed.destroy_process_group()
