# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy from Python, on NumPy arrays and, with a GPU, on device arrays."""

import numpy as np

import gpukern


def expect(values, expected, what):
    """Stop the program unless the arrays are equal, dtype and bits."""
    np.testing.assert_array_equal(values, expected, err_msg=what, strict=True)
    print(f"  {what}: right")


def host_arrays(device):
    """NumPy in, NumPy out; the work runs on `device`."""
    rng = np.random.default_rng()
    source = rng.random((1000, 3), dtype=np.float32)
    index = rng.integers(-1000, 1000, size=(4, 5))
    expect(gpukern.gather(source, index, device=device), source[index], "gather of rows")

    filled = gpukern.gather(source, [0, 1000], mode="fill", fill_value=-1, device=device)
    expect(filled[1], np.full(3, -1, np.float32), "gather with a fill value")
    try:
        gpukern.gather(source, [0, 1000], device=device)
    except IndexError as error:
        print(f"  gather refused: {error}")
    else:
        raise SystemExit("gather: index 1000 was not refused")

    x = rng.integers(-1000, 1000, 10_000).astype(np.float32)  # exact in every step
    y = rng.integers(-1000, 1000, 10_000).astype(np.float32)
    expect(gpukern.saxpy(2.0, x, y, device=device), 2 * x + y, "saxpy")


def device_arrays(device_id):
    """Device arrays are computed on their GPU, without copies between the calls."""
    source = np.arange(1000, dtype=np.float64)
    on_gpu = gpukern.to_device(source, device_id)
    index = gpukern.to_device(np.array([999, -1000]), device_id)
    picked = gpukern.gather(on_gpu, index)
    doubled = gpukern.saxpy(2.0, picked, picked)
    expect(doubled.numpy(), np.array([2997.0, 0.0]), "gather and saxpy of device arrays")


def main():
    """Run everything on the CPU, then on each GPU."""
    print(f"gpukern {gpukern.__version__} from Python")
    print("CPU:")
    host_arrays("cpu")
    info = gpukern.info()
    if not info["devices"]:
        print(f"no GPU: {info['cuda']['reason']}")
    for device_id, device in enumerate(info["devices"]):
        print(f"GPU {device_id}, {device['name']}:")
        host_arrays(f"cuda:{device_id}")
        device_arrays(device_id)


if __name__ == "__main__":
    main()
