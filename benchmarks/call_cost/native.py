# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""gpukern's C functions and a bare launch, called from C."""

import ctypes

import numpy as np

from benchmarks.call_cost.calls import Call

N = 64
MEMORY = 1 << 20
MODES = {"wrap": 1, "clip": 2}
LAUNCH = "bare launch"


def native_calls(native):
    """Return the calls from C; the first is the bare launch."""
    memory = native.allocate(MEMORY)
    native.enqueue("set_bytes", memory, 0, MEMORY)
    x, y, out, index = (memory + 4096 * k for k in range(4))
    native.fill_index(index, 8, N, "uniform", N, 1)

    def cost_of(name, *arguments):
        leading, rest = (arguments[:1], arguments[1:]) if name != "launch" else ((), arguments)

        def cost(batch):
            seconds = ctypes.c_double()
            count = ctypes.c_int(batch)
            native.call(f"cost_{name}", *leading, count, *rest, ctypes.byref(seconds))
            return seconds.value

        return cost

    stream = ctypes.c_void_p(native.stream)
    launch = cost_of("launch", x, y, out, ctypes.c_int(N), stream)
    a = ctypes.create_string_buffer(np.float32(2).tobytes(), 16)
    tensors = [native.tensor(address, (N,), "float32") for address in (x, y, out)]
    pointers = [ctypes.byref(tensor) for tensor in tensors]
    where = ctypes.byref(native.exec)
    function = ctypes.cast(native.gpukern.gpukern_saxpy, ctypes.c_void_p)
    saxpy = cost_of("saxpy", function, a, *pointers, where)
    calls = [Call("C", LAUNCH, launch), Call("C", "gpukern_saxpy", saxpy, LAUNCH, launch)]
    positions = ctypes.byref(native.tensor(index, (N,), "int64"))
    function = ctypes.cast(native.gpukern.gpukern_gather, ctypes.c_void_p)
    for mode, number in MODES.items():
        arguments = (pointers[0], positions, ctypes.c_int(number), pointers[2], where)
        cost = cost_of("gather", function, *arguments)
        calls.append(Call("C", f"gpukern_gather, {mode}", cost, LAUNCH, launch))
    return calls
