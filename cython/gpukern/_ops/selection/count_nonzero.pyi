# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._typing import Array, Bytes, OptionalDevice, Stream

# fmt: off
def count_nonzero(
    mask: Array, *, device: OptionalDevice = None, stream: Stream = None,
    device_memory: Bytes = None,
) -> int: ...
