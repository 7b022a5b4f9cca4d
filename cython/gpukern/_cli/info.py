# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``gpukern info``: what was found, what is missing, and how to get it."""

import json
import os
import sys

from gpukern._runtime.info import info


def missing(found):
    """Returns what :func:`gpukern.info` did not find: dicts of ``what``, ``why`` and ``how``."""
    cuda, nvrtc, cache = found["cuda"], found["nvrtc"], found["cache"]
    listed = []

    def add(what, why, how):
        listed.append({"what": what, "why": why, "how": how})

    if not cuda["built"]:
        add("CUDA", cuda["reason"], "GPUKERN_CUDA=ON pip install . (downloads nvcc if needed)")
        return listed
    if not cuda["driver_version"]:
        add("GPU", cuda["reason"], "install NVIDIA's driver: https://www.nvidia.com/drivers")
    elif not found["devices"]:
        add("GPU", cuda["reason"], "see what nvidia-smi prints, and $CUDA_VISIBLE_DEVICES")
    if not nvrtc["version"]:
        add("NVRTC", nvrtc["reason"], "pip install 'gpukern[nvrtc]'")
    if not cache["directory"] and "reason" not in cache:
        how = "set $GPUKERN_CACHE_DIR to a directory that is yours alone"
        add("cache on disk", "programs are cached in memory only", how)
    return listed


def device_setting(default):
    """Returns why host arrays are computed on a device."""
    setting = os.environ.get("GPUKERN_DEVICE")
    if not setting:
        return "the default; GPUKERN_DEVICE sets it"
    if setting == default:
        return f"GPUKERN_DEVICE={setting}"
    return f"GPUKERN_DEVICE={setting}, but there is no GPU"


def lines(found):
    """Yields the lines of the report."""
    cuda, nvrtc, cache = found["cuda"], found["nvrtc"], found["cache"]
    yield f"gpukern {found['version']} (ABI {found['abi_version']}), {found['library']}"
    yield f"Python {found['python']}, NumPy {found['numpy']}"
    yield f"CPU backend: {found['num_threads']} threads on {found['cpu_count']} processors"
    if cuda["built"]:
        driver = f"for CUDA {cuda['driver_version']}" if cuda["driver_version"] else "not found"
        yield f"CUDA backend: runtime {cuda['runtime_version']}, driver {driver}"
    for device in found["devices"]:
        yield (
            f"{device['device']}: {device['name']}, compute capability "
            f"{device['compute_capability']}, {device['memory_bytes'] / 2**30:.1f} GiB, "
            f"{device['multiprocessors']} multiprocessors"
        )
    if nvrtc["version"]:
        yield f"NVRTC: {nvrtc['version']}, {nvrtc['path']}"
    if cache["directory"] or "reason" in cache:
        yield f"Compiled programs: {cache.get('reason') or usage(cache)}"
    default = found["default_device"]
    if default in ("cpu", "cuda"):
        yield f"Host arrays are computed on: {default} ({device_setting(default)})"
    else:
        yield f"GPUKERN_DEVICE must be cpu or cuda, got {default}: calls on host arrays fail"
    for each in missing(found):
        yield f"No {each['what']}: {each['why']}"
        yield f"    {each['how']}"


def usage(cache):
    """The size of the cache on disk, in words."""
    limit = cache["limit_bytes"] / 2**20
    return (
        f"{cache['entries']} files of {cache['bytes']} bytes in {cache['directory']}, "
        f"at most {limit:.0f} MiB"
    )


def print_info(as_json):
    """Prints the report."""
    found = info()
    if as_json:
        print(json.dumps({**found, "missing": missing(found)}, indent=2))
    else:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print("\n".join(lines(found)).encode(encoding, "backslashreplace").decode(encoding))
