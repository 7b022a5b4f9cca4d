# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""info(), the command line, and the demo's oracle."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle

import gpukern
from gpukern._cli.demo import fused


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_info_names_versions_and_devices():
    found = gpukern.info()
    assert found["version"] == gpukern.__version__
    assert found["abi_version"] == 1
    assert found["numpy"] == np.__version__
    assert found["cpu_count"] >= 1
    assert os.path.isfile(found["library"])
    cuda = found["cuda"]
    assert len(found["devices"]) == cuda["device_count"]
    assert bool(cuda["reason"]) == (cuda["device_count"] == 0)
    assert bool(found["nvrtc"]["reason"]) == (found["nvrtc"]["version"] is None)
    assert found["cache"]["misses"] >= 0


def test_the_stubs_name_the_keys():
    stub = Path(gpukern.__file__).with_name("_typing.pyi").read_text(encoding="utf-8")
    keys = {
        node.name: [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
        for node in ast.parse(stub).body
        if isinstance(node, ast.ClassDef)
    }
    found = gpukern.info()
    assert keys["Info"] == list(found)
    assert keys["CudaInfo"] == list(found["cuda"])
    assert keys["NvrtcInfo"] == list(found["nvrtc"])
    assert keys["CacheInfo"] == list(found["cache"]) == list(gpukern.cache_info())
    for device in found["devices"]:
        assert keys["DeviceInfo"] == list(device)


def test_the_command_prints_what_is_there():
    result = run("-m", "gpukern", "info")
    assert result.returncode == 0, result.stderr
    assert f"gpukern {gpukern.__version__}" in result.stdout
    assert "CPU backend" in result.stdout
    assert "CUDA" in result.stdout


def test_the_default_device_comes_from_the_environment():
    code = "import gpukern; print(gpukern.gather([1, 2], [1]), gpukern.info()['default_device'])"
    assert run("-c", code, GPUKERN_DEVICE="cpu").stdout.split() == ["[2]", "cpu"]
    place = "cuda" if gpukern.device_count() else "cpu"  # where the call is computed, too
    assert run("-c", code, GPUKERN_DEVICE="cuda").stdout.split() == ["[2]", place]
    reported = run("-m", "gpukern", "info", GPUKERN_DEVICE="cuda").stdout
    assert ("GPUKERN_DEVICE=cuda, but there is no GPU" in reported) == (place == "cpu")
    assert "GPUKERN_DEVICE must be" in run("-c", code, GPUKERN_DEVICE="tpu").stderr
    wrong = run("-m", "gpukern", "info", GPUKERN_DEVICE="tpu").stdout
    assert "GPUKERN_DEVICE must be cpu or cuda, got tpu: calls on host arrays fail" in wrong


def test_the_oracle_of_the_demo_is_exact(rng):
    # Rounding this through float64 gives another number.
    hard = [
        np.float32(float.fromhex(text))
        for text in ("0x1.000002p-24", "0x1.fffffcp-1", "0x1.000002p+0")
    ]
    triples = [hard]
    for scale in (0, -20, -40, 40):
        a, x = rng.standard_normal((2, 300), np.float32)
        # Close to -a x, so that much cancels; and far away, so that ties come near.
        y = (-a * x * (1 + rng.standard_normal(300) * 2.0**scale)).astype(np.float32)
        triples += zip(a, x, y, strict=True)
    for a, x, y in triples:
        exact = oracle.saxpy(oracle.SAXPY_TYPES["float32"], a, x, y)
        assert fused(a, np.array([x]), np.array([y])) == exact, (a, x, y)
