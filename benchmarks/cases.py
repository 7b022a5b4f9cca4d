# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured: cases, the tables that they make up, and how sizes are written."""

from dataclasses import asdict, dataclass, field

from benchmarks.native import ITEMSIZE

KI, MI, GI = 2**10, 2**20, 2**30


def size_text(number):
    """Write a number with a prefix where that is exact: 128Mi, 320M."""
    for unit, name in ((10**6, "M"), (GI, "Gi"), (MI, "Mi"), (KI, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


@dataclass(frozen=True)
class Saxpy:
    """``out = a x + y`` of n elements. ``shift`` moves x, y and out by so many elements."""

    dtype: str
    n: int
    shift: tuple = (0, 0, 0)
    in_place: bool = False
    priority: int = 1

    @property
    def size(self):
        """Bytes of one operand."""
        return self.n * ITEMSIZE[self.dtype]

    @property
    def traffic(self):
        """Bytes that have to be read and written."""
        return 3 * self.size

    def work(self, unit):
        """Units of work of one call."""
        return {"GB/s": self.traffic * 1e-9, "Gelem/s": self.n * 1e-9}[unit]

    def columns(self):
        """What tells this case from the others, for a table."""
        return {
            "dtype": self.dtype,
            "n": size_text(self.n),
            "offset x, y, out": ", ".join(map(str, self.shift)),
            "in place": "yes" if self.in_place else "no",
        }


# The dtypes that stand for items of a width; any would do, since gather moves bytes.
ITEM_DTYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}


@dataclass(frozen=True)
class Gather:
    """``out = source[index]``, n of m items of ``width`` bytes, or so many rows of float32."""

    m: int
    n: int
    width: int = 4
    index: str = "int32"
    distribution: str = "uniform"
    rows: bool = False
    priority: int = 1

    @property
    def dtype(self):
        """The dtype of the elements."""
        return "float32" if self.rows else ITEM_DTYPES[self.width]

    @property
    def row(self):
        """The shape of an item."""
        return (self.width // 4,) if self.rows else ()

    @property
    def index_itemsize(self):
        """Bytes of an index."""
        return ITEMSIZE[self.index]

    @property
    def traffic(self):
        """Bytes that have to be read and written if no item is read twice."""
        return self.n * (self.index_itemsize + 2 * self.width)

    def work(self, unit):
        """Units of work of one call; a rate of rows leaves the index out."""
        return {"GB/s": 2e-9 * self.n * self.width, "Gelem/s": self.n * 1e-9}[unit]

    def columns(self):
        """What tells this case from the others, for a table."""
        return {
            "M": size_text(self.m),
            "N": size_text(self.n),
            "item bytes": str(self.width),
            "index": self.index,
            "distribution": self.distribution,
        }


@dataclass(frozen=True)
class HostSaxpy(Saxpy):
    """The same on NumPy arrays, by the Python call; ``fresh`` is without ``out=``."""

    fresh: bool = False

    def columns(self):
        """What tells this case from the others, for a table."""
        return {"n": size_text(self.n), "result": "new" if self.fresh else "out="}


@dataclass(frozen=True)
class HostGather(Gather):
    """The same on NumPy arrays, by the Python call; ``fresh`` is without ``out=``."""

    fresh: bool = False

    def columns(self):
        """What tells this case from the others, for a table."""
        return {**super().columns(), "result": "new" if self.fresh else "out="}


@dataclass(frozen=True)
class Table:
    """Cases that are measured by the same implementations, in one unit."""

    name: str
    title: str
    unit: str
    implementations: tuple
    cases: tuple = field(repr=False)
    note: str = ""

    @property
    def suite(self):
        """The suite that the table is of: the first word of its name."""
        return self.name.split()[0]

    @property
    def host(self):
        """Whether it is of host arrays."""
        return self.suite == "host"


def point(table, case, sets, results):
    """Return a measured case as JSON has it."""
    return {
        "table": table.name,
        "label": label(case),
        "case": {key: value for key, value in asdict(case).items() if key != "priority"},
        "columns": case.columns(),
        "sets": len(sets),
        "results": results,
    }


def label(case):
    """One line that names a case."""
    if isinstance(case, HostSaxpy | HostGather):
        return f"host {bare_label(case)}{' new result' if case.fresh else ''}"
    return bare_label(case)


def bare_label(case):
    """The line without the place where it is computed."""
    if isinstance(case, Saxpy):
        place = " in place" if case.in_place else ""
        shift = f" offsets {case.shift}" if any(case.shift) else ""
        return f"saxpy {case.dtype} n={size_text(case.n)}{place}{shift}"
    return (
        f"gather M={size_text(case.m)} N={size_text(case.n)} of {case.width} B "
        f"{case.index} {case.distribution}"
    )
