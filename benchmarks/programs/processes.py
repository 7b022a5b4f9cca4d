# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that are measured as separate processes."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 120  # seconds
WORDS = 300  # of an error


@dataclass
class Outcome:
    """The outcome of a process."""

    seconds: float  # from its start to its end
    text: str
    error: str = ""


def with_caches(folder):
    """Return the environment, with all caches of compiled code in a folder."""
    caches = {name: str(Path(folder, name)) for name in ("gpukern", "cupy", "numba", "cuda")}
    return {
        **os.environ,
        "GPUKERN_CACHE_DIR": caches["gpukern"],
        "CUPY_CACHE_DIR": caches["cupy"],
        "NUMBA_CACHE_DIR": caches["numba"],
        "CUDA_CACHE_PATH": caches["cuda"],
        "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
        "PYTHONWARNINGS": "ignore",
    }


def run(command, environment=None, folder=None):
    """Run a program to its end."""
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Outcome(
            time.perf_counter() - started, "", f"{type(error).__name__}: {error}"[:WORDS]
        )
    seconds = time.perf_counter() - started
    if done.returncode == 0:
        return Outcome(seconds, done.stdout)
    last = (done.stderr.strip() or done.stdout.strip() or "no words").splitlines()[-1]
    return Outcome(seconds, done.stdout, f"exit {done.returncode}: {last}"[:WORDS])


def run_json(command, environment=None):
    """Run a program and return the JSON of its last line, or {"error": message}."""
    outcome = run(command, environment)
    if outcome.error:
        return {"error": outcome.error}
    try:
        return json.loads(outcome.text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": f"printed no JSON: {outcome.text[-100:]!r}"}
