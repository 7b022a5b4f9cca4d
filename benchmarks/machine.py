# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The machine and the versions that results are recorded with."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

import numpy as np

import gpukern

ROOT = Path(__file__).resolve().parent.parent
QUERY = {
    "driver": "driver_version",
    "sm_clock": "clocks.sm",
    "memory_clock": "clocks.mem",
    "sm_clock_max": "clocks.max.sm",
    "memory_clock_max": "clocks.max.mem",
    "power_limit": "power.limit",
    "temperature": "temperature.gpu",
    "throttling": "clocks_event_reasons.active",
}


def output_of(*command):
    """Return the output of a command, "" if it does not exist or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=20, cwd=ROOT
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def gpu_state():
    """Return the driver's version and the clocks of the first GPU; empty without nvidia-smi."""
    values = output_of(
        "nvidia-smi", "--id=0", f"--query-gpu={','.join(QUERY.values())}", "--format=csv,noheader"
    )
    if not values:
        return {}
    return dict(zip(QUERY, (value.strip() for value in values.split(",")), strict=False))


def commit():
    """Return the commit of the sources, $GPUKERN_COMMIT where there is no repository."""
    if named := os.environ.get("GPUKERN_COMMIT"):
        return named
    found = output_of("git", "rev-parse", "HEAD")
    return f"{found}, with changes" if found and output_of("git", "status", "-s", "-uno") else found


def cpu_name():
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def describe_machine(libraries=None, missing=None):
    """Return machine, GPU, versions, commit and date for JSON."""
    found = gpukern.info()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "cpu": cpu_name(),
        "cpus": found["cpu_count"],
        "load": os.getloadavg()[0],
        "gpu": found["devices"][0] if found["devices"] else None,
        "gpu_state": gpu_state(),
        "versions": {
            "gpukern": found["version"],
            "cuda runtime": found["cuda"]["runtime_version"],
            "cuda driver": found["cuda"]["driver_version"],
            "python": found["python"],
            "numpy": np.__version__,
            **{name: library.version for name, library in (libraries or {}).items()},
        },
        "missing": missing or {},
    }
