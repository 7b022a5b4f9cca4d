# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases, the tables that contain them, and the notation of sizes."""

from dataclasses import dataclass, field, replace

from benchmarks.native import ITEMSIZE

KI, MI, GI = 2**10, 2**20, 2**30
DEVICE, HOST = "device", "host"
# Elements of cases on the host, with their priorities.
HOST_COUNTS = {4 * KI: 1, 256 * KI: 2, 16 * MI: 1}
# Matrices for take_along_axis and put_along_axis, and the axes and shapes of the first priority.
ALONG_SHAPES = ((4 * KI, 64 * KI), (MI, 64), (64 * KI, 4 * KI))
ALONG_QUICK = ((1, ALONG_SHAPES[0]), (0, ALONG_SHAPES[2]))


def size_text(number):
    """Write a number with a prefix where that is exact: 128Mi, 320M."""
    for unit, name in ((10**6, "M"), (GI, "Gi"), (MI, "Mi"), (KI, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


def along_axes(make):
    """Return the cases that a class makes of a shape and an axis, for either axis."""
    return tuple(
        make(*shape, axis, priority=1 if (axis, shape) in ALONG_QUICK else 2)
        for axis in (1, 0)
        for shape in ALONG_SHAPES
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """The base of all cases: the memory of the operands, DEVICE or HOST.

    Cases on the host are Python calls on NumPy arrays; with ``new_result`` they have no ``out=``.
    """

    priority: int = 1
    memory: str = DEVICE
    new_result: bool = False

    @property
    def label(self):
        """One line that names the case."""
        if self.memory == DEVICE:
            return self.text()
        return f"host {self.text()}{' new result' if self.new_result else ''}"

    def result_column(self):
        """The column of host cases that distinguishes a new result from out=."""
        return {"result": "new" if self.new_result else "out="} if self.memory == HOST else {}


@dataclass(frozen=True)
class Saxpy(Case):
    """``out = a x + y`` of n elements. ``shift`` offsets x, y and out by that many elements."""

    dtype: str
    n: int
    shift: tuple = (0, 0, 0)
    in_place: bool = False

    @property
    def result_bytes(self):
        """Bytes of the result, and of each operand."""
        return self.n * ITEMSIZE[self.dtype]

    @property
    def traffic(self):
        """Bytes that must be read and written."""
        return 3 * self.result_bytes

    def work(self, unit):
        """Units of work of one call."""
        return {"GB/s": self.traffic * 1e-9, "Gitem/s": self.n * 1e-9}[unit]

    def columns(self):
        """The fields that identify this case in a table."""
        if self.memory == HOST:
            return {"n": size_text(self.n), **self.result_column()}
        return {
            "dtype": self.dtype,
            "n": size_text(self.n),
            "offset x, y, out": ", ".join(map(str, self.shift)),
            "in place": "yes" if self.in_place else "no",
        }

    def text(self):
        """The label without the memory."""
        in_place = " in place" if self.in_place else ""
        shift = f" offsets {self.shift}" if any(self.shift) else ""
        return f"saxpy {self.dtype} n={size_text(self.n)}{in_place}{shift}"


# A dtype for each item width; any would do, since gather moves bytes.
ITEM_DTYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}


@dataclass(frozen=True)
class Gather(Case):
    """``out = source[index]``: n of m items of ``width`` bytes, or of m rows of float32."""

    m: int
    n: int
    width: int = 4
    index: str = "int32"
    distribution: str = "uniform"
    rows: bool = False

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
    def result_bytes(self):
        """Bytes of the result."""
        return self.n * self.width

    @property
    def traffic(self):
        """Bytes that must be read and written if no item is read twice."""
        return self.n * (self.index_itemsize + 2 * self.width)

    def copied_bytes(self):
        """Bytes of the copy that bounds a gather: of the source for rows, else of the index."""
        return self.result_bytes if self.rows else self.n * min(self.width, self.index_itemsize)

    def work(self, unit):
        """Units of work of one call; a rate of rows excludes the index."""
        return {"GB/s": 2e-9 * self.result_bytes, "Gitem/s": self.n * 1e-9}[unit]

    def streamed_work(self, unit, copied):
        """The work of a gather whose whole traffic is streamed like the copied bytes."""
        if unit == "GB/s":
            return 2e-9 * copied
        return 2 * copied / (self.traffic / self.n) * 1e-9

    def columns(self):
        """The fields that identify this case in a table."""
        return {
            "M": size_text(self.m),
            "N": size_text(self.n),
            "item bytes": str(self.width),
            "index": self.index,
            "distribution": self.distribution,
            **self.result_column(),
        }

    def text(self):
        """The label without the memory."""
        return (
            f"gather M={size_text(self.m)} N={size_text(self.n)} of {self.width} B "
            f"{self.index} {self.distribution}"
        )


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
    def memory(self):
        """The memory of the operands of all its cases."""
        return self.cases[0].memory if self.cases else DEVICE

    def header(self):
        """The table without its cases, for JSON."""
        names = ("name", "title", "unit", "note", "memory", "implementations")
        return {name: getattr(self, name) for name in names}

    def quick(self):
        """The table with the cases of the first priority only."""
        return replace(self, cases=tuple(case for case in self.cases if case.priority == 1))
