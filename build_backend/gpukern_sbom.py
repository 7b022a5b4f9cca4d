# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the software bill of materials of a wheel: what of other projects is in its binaries.

CycloneDX 1.6, in the directory that PEP 770 names. Holds no time and no path, so that two builds
give the same file.
"""

import json
import re
import subprocess
import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Component: supplier, license, type of package URL, and its file in licenses/, if its license
# asks for a copy of the text.
CUDA_RUNTIME = ("CUDA Runtime", "NVIDIA", "LicenseRef-NVIDIA-CUDA-EULA", "CUDA-EULA.txt")
CCCL = ("CCCL", "NVIDIA", "Apache-2.0 WITH LLVM-exception AND BSD-3-Clause", "CUB.txt")
NVTX = ("NVTX", "NVIDIA", "Apache-2.0 WITH LLVM-exception", "Apache-2.0-with-LLVM-exception.txt")
LIBSTDCXX = (
    "libstdc++",
    "Free Software Foundation",
    "GPL-3.0-or-later WITH GCC-exception-3.1",
    "GCC-exception-3.1.txt",
)
CYTHON = ("Cython", "Cython developers", "Apache-2.0", None)
NUMPY = ("NumPy", "NumPy developers", "BSD-3-Clause", None)


def header_number(folder, header, name):
    """Return the number that a header defines as a macro; None without the header."""
    path = Path(folder, header)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    match = re.search(rf"^#\s*define\s+{name}\s+(\d+)", text, re.MULTILINE)
    return int(match.group(1)) if match else None


def dotted(number):
    """Return the version that CCCL's headers give as a number; None for None."""
    if number is None:
        return None
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"


def package_version(name):
    """Return the version of an installed Python package; None without it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cuda_versions(nvcc):
    """Yield the parts of the toolkit that are compiled in, with their versions."""
    include = Path(nvcc).resolve().parents[1] / "include"
    runtime = header_number(include, "cuda_runtime_api.h", "CUDART_VERSION")
    # 13000 is 13.0: this number has no patch level.
    yield CUDA_RUNTIME, None if runtime is None else f"{runtime // 1000}.{runtime % 1000 // 10}"
    cccl = [
        header_number(folder, "cuda/std/__cccl/version.h", "CCCL_VERSION")
        for folder in (include / "cccl", include)
    ]
    yield CCCL, dotted(next(filter(None, cccl), None))
    yield NVTX, "3"


def component(facts, number):
    """Return a component of the bill."""
    name, supplier, license_expression, text = facts
    described = {
        "type": "library",
        "bom-ref": name,
        "supplier": {"name": supplier},
        "name": name,
        **({"version": number} if number else {}),
        "licenses": [{"expression": license_expression}],
    }
    if text:
        described["properties"] = [{"name": "gpukern:license-file", "value": f"licenses/{text}"}]
    return described


def compiler_version(compiler):
    """Return the version of g++, which is that of its libstdc++; None of another compiler."""
    try:
        command = [compiler, "-dumpfullversion"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def bill(own_version, library, cmake_cache):
    """Return the bill of a wheel as a dict.

    `library` is the path of libgpukern.so, `cmake_cache` the cache of its build as a dict.
    """
    parts = [(CYTHON, package_version("Cython")), (NUMPY, package_version("numpy"))]
    if nvcc := cmake_cache.get("CMAKE_CUDA_COMPILER"):
        parts += cuda_versions(nvcc)
    if b"libstdc++.so" not in Path(library).read_bytes():  # linked statically
        parts.append((LIBSTDCXX, compiler_version(cmake_cache["CMAKE_CXX_COMPILER"])))
    components = [component(*part) for part in sorted(parts, key=str)]
    own = {
        "type": "library",
        "bom-ref": "gpukern",
        "name": "gpukern",
        "version": own_version,
        "purl": f"pkg:pypi/gpukern@{own_version}",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [
            {"ref": "gpukern", "dependsOn": [each["bom-ref"] for each in components]},
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"serialNumber": f"urn:uuid:{serial}", **content}


def write_bill(folder, *args):
    """Write gpukern.cdx.json into a folder, which is made; see bill()."""
    Path(folder).mkdir(exist_ok=True)
    text = json.dumps(bill(*args), indent=2) + "\n"
    Path(folder, "gpukern.cdx.json").write_text(text, encoding="utf-8")
