# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What a wheel must hold and must not, beyond what auditwheel and twine check."""

import json
import zipfile
from pathlib import Path

MAX_BYTES = 12_000_000
LICENSES = ("LICENSE", "licenses/CUDA-EULA.txt", "licenses/CUB.txt")


def problems(wheel, folders=()):
    """Yield what is wrong with a wheel; `folders` are those in which it was built."""
    size = Path(wheel).stat().st_size
    if size > MAX_BYTES:
        yield f"{size / 1e6:.1f} MB; at most {MAX_BYTES / 1e6:.0f} are allowed"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = metadata.removesuffix("METADATA")
        for text in LICENSES:
            if f"{metadata}licenses/{text}" not in names:
                yield f"the license {text} is missing"
        bill = f"{metadata}sboms/gpukern.cdx.json"
        if bill not in names:
            yield "the bill of materials is missing"
        elif not json.loads(archive.read(bill))["components"]:
            yield "the bill of materials is empty"
        if grafted := [name for name in names if ".libs/" in name]:
            yield f"holds libraries of the machine: {', '.join(grafted)}"
        for name in names:
            data = archive.read(name) if name.endswith(".so") else b""
            yield from (f"{name} names {each}" for each in folders if f"{each}/".encode() in data)
