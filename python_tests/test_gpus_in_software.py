# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Runs tests of GPUs on GPUs in software, where this machine has none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import WITHOUT_GPU

HERE = Path(__file__).parent
FAKE = os.environ.get("GPUKERN_TEST_FAKE_GPU", "")


@pytest.mark.skipif(not WITHOUT_GPU, reason="there is a GPU")
@pytest.mark.skipif(not FAKE, reason="GPUKERN_TEST_FAKE_GPU names no library")
@pytest.mark.thread_unsafe(reason="starts processes")
@pytest.mark.parametrize(
    "name",
    [
        "test_device_array",
        "test_device_table",
        "test_gpu_ranks",
        "test_index_errors",
        "test_malformed_interfaces",
        "test_multi_index",
        "test_nccl",
        "test_saxpy_many",
        "test_use_order",
    ],
)
def test_on_gpus_in_software(name):
    environment = {
        **os.environ,
        "LD_PRELOAD": FAKE,
        "GPUKERN_FAKE_GPUS": "3",
        "GPUKERN_NCCL": "",
        "GPUKERN_TEST_CASES": "300",
    }
    file = str(HERE / f"{name}.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", file],
        env=environment,
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
