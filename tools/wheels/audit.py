# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What a wheel must hold and must not, beyond what auditwheel and twine check."""

import io
import json
import zipfile
from pathlib import Path

MAX_BYTES = 24_000_000
ROOT = Path(__file__).resolve().parent.parent.parent
LICENSES = ("LICENSE", *(f"licenses/{path.name}" for path in sorted(ROOT.glob("licenses/*.txt"))))
# The undefined symbols that have no version: those of Python and of this library.
UNVERSIONED = ("Py", "_Py", "gpukern_")


def missing_symbols(library):
    """Return the undefined symbols of a library that were found nowhere when it was linked.

    Static libraries that are newer than the sysroot may need them, and the linker does not tell.
    """
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(library))
    symbols = elf.get_section_by_name(".dynsym")
    versions = elf.get_section_by_name(".gnu.version")
    return [
        symbol.name
        for number, symbol in enumerate(symbols.iter_symbols())
        if symbol.name
        and symbol["st_shndx"] == "SHN_UNDEF"
        and symbol["st_info"]["bind"] == "STB_GLOBAL"
        and not symbol.name.startswith(UNVERSIONED)
        and not isinstance(versions.get_symbol(number)["ndx"], int)  # local or global
    ]


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
            if data.startswith(b"\x7fELF") and (unknown := missing_symbols(data)):
                yield f"{name} needs {', '.join(unknown)}"
