# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmarks of host arrays run, check and report; no time is asserted."""

import dataclasses
import io
import itertools
import json

import numpy as np
import pytest
from fake_cupy import FakeCupy, FakeTorch

import gpukern
from benchmarks import __main__ as program
from benchmarks import layouts, report
from benchmarks.implementations import host as host_implementations
from benchmarks.implementations import offload
from benchmarks.implementations.base import PEER, Implementation
from benchmarks.measure import copier as copying
from benchmarks.measure import host as host_measure
from benchmarks.measure import host_data, loop, timers
from benchmarks.suites.axes import GatherPairs, TakeAlongAxis
from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.cases import HOST, Saxpy, Table
from benchmarks.suites.host import host_tables
from benchmarks.suites.scatter_cases import Bincount, PutAlongAxis, Scatter
from benchmarks.suites.selection import Compress, Nonzero

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")

CLASSES = {"cupy": FakeCupy, "torch": FakeTorch}


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """Short samples; and page-locked memory, and a GPU, that are the host's."""
    monkeypatch.setattr(host_measure, "SAMPLE_SECONDS", 1e-6)
    monkeypatch.setattr(host_measure, "SETTLE_SECONDS", 0)
    monkeypatch.setattr(host_measure, "SHORT_SECONDS", 0)
    monkeypatch.setattr(offload, "DEVICE", "cpu")
    monkeypatch.setattr(host_implementations, "LEAST_CEILING", 0)
    monkeypatch.setattr(gpukern, "pinned_empty", np.empty, raising=False)
    monkeypatch.setattr(gpukern, "to_device", np.array)
    monkeypatch.setattr(gpukern, "empty", np.empty)


def small(case):
    """The case with sizes for a test; everything else is kept."""
    if isinstance(case, Saxpy):
        return dataclasses.replace(case, n=1 + case.n % 777)
    if isinstance(case, Scatter):
        return dataclasses.replace(case, m=1 + case.m % 77, n=50 + case.n % 77)
    if isinstance(case, Bags):
        return dataclasses.replace(case, m=30, n=50 + case.n % 77)
    if isinstance(case, TakeAlongAxis | PutAlongAxis):
        return dataclasses.replace(case, height=2 + case.height % 7, length=9)
    if isinstance(case, GatherPairs):
        return dataclasses.replace(case, height=7, length=9, n=50 + case.n % 77)
    if isinstance(case, Bincount):
        return dataclasses.replace(case, n=50 + case.n % 77, bins=5)
    if isinstance(case, Segments | Compress | Nonzero):
        return dataclasses.replace(case, n=50 + case.n % 77)
    return dataclasses.replace(case, m=200, n=1 + case.n % 77)


def shrunk(tables):
    return [
        dataclasses.replace(table, cases=tuple(dict.fromkeys(map(small, table.cases))))
        for table in tables
    ]


def run(tables, tmp_path, peers=("torch", "cupy")):
    benches = program.open_benches(tables, peers, 3, classes=CLASSES)
    assert set(benches) == {HOST}
    results = program.new_results(benches, tables, {})
    assert program.run(benches, tables, results, tmp_path / "results.json", stream=io.StringIO())
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(results))
    return results


@pytest.mark.parametrize("table", host_tables(gpu=True), ids=lambda table: table.name)
def test_every_case_runs_and_every_result_is_right(table, tmp_path):
    (table,) = shrunk([table])
    results = run([table], tmp_path)
    assert results["dropped"] == []
    assert len(results["points"]) == len(table.cases)
    for point in results["points"]:
        for name, result in point["results"].items():
            assert "error" not in result, (point["label"], name, result)
            assert result.get("right") is not False, (point["label"], name)
            if name.startswith("gpukern"):
                assert result["right"] is True
                assert result["rate"] > 0
                assert len(result["samples"]) == 3
                assert " on cpu: " in result["explanation"]


def test_a_wrong_result_is_seen(tmp_path, monkeypatch):
    def wrong(self, y, x, alpha, out=None):
        return np.zeros_like(y)

    monkeypatch.setattr(FakeTorch, "add", wrong)
    case = Saxpy("float32", 100, memory=HOST, new_result=True)
    table = Table("host saxpy", "saxpy", "GB/s", ("gpukern", "numpy", "torch"), (case,))
    results = run([table], tmp_path)
    found = results["points"][0]["results"]
    assert found["torch"]["right"] is False
    assert found["gpukern"]["right"] is found["numpy"]["right"] is True
    assert "torch: the result is WRONG" in report.markdown(results)


def test_without_a_gpu_and_without_peers(tmp_path):
    tables = shrunk(host_tables(gpu=False))
    assert not any("cuda" in table.name or "pinned" in table.name for table in tables)
    results = run(tables[:1], tmp_path, peers=())
    assert set(results["machine"]["missing"]) == {"torch", "numba", "cupy"}
    text = report.markdown(results)
    assert "Host arrays: the Python calls" in text
    assert "Medians of" not in text
    assert "| n | gpukern | numpy | numpy out |" in text


@pytest.mark.parametrize("name", ["host compress", "host nonzero"])
def test_the_loops_of_numba_select_what_the_mask_selects(name, tmp_path):
    pytest.importorskip("numba")
    (table,) = (table for table in shrunk(host_tables(gpu=False)) if table.name == name)
    for point in run([table], tmp_path, peers=("numba",))["points"]:
        assert point["results"]["numba"]["right"] is True


def test_the_command_measures_host_arrays_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "tables_of", lambda suites, quick: shrunk(
        host_tables(gpu=False))[:1])  # fmt: skip
    arguments = ["--suite", "host", "--quick", "--peers", "", "--no-plots", "--out", str(tmp_path)]
    assert program.main(arguments) == 0
    assert "host saxpy" in capsys.readouterr().err
    assert "## host arrays: saxpy" in (tmp_path / "tables.md").read_text()


@pytest.mark.parametrize(("name", "status"), [("gpukern", 1), ("numpy", 0)])
def test_a_wrong_result_of_gpukern_fails_the_command(tmp_path, monkeypatch, name, status):
    def is_right(bench, implementation, *arguments):
        return implementation.name != name

    case = Saxpy("float32", 100, memory=HOST)
    table = Table("host saxpy", "saxpy", "GB/s", ("gpukern", "numpy"), (case,))
    monkeypatch.setattr(program, "tables_of", lambda suites, quick: [table])
    monkeypatch.setattr(host_measure.HostBench, "is_right", is_right)
    assert program.main(["--peers", "", "--no-plots", "--out", str(tmp_path)]) == status
    assert f"{name}: the result is WRONG" in (tmp_path / "tables.md").read_text()


def test_plots_are_drawn_where_matplotlib_is(tmp_path):
    pytest.importorskip("matplotlib")
    tables = shrunk(host_tables(gpu=True)[:1])
    results = run(tables, tmp_path)
    written = {path.name for path in report.write(results, tmp_path)}
    assert written == {"tables.md", "summary.json", "host_saxpy.svg"}


@pytest.mark.parametrize("distribution", list(host_data.DISTRIBUTIONS))
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 100), (1000, 1), (1000, 5000)])
def test_indices_are_in_bounds(distribution, m, n, rng):
    index = host_data.DISTRIBUTIONS[distribution](rng, m, n, np.dtype("int64"))
    assert index.shape == (n,)
    assert index.dtype == np.int64
    assert index.min() >= 0
    assert index.max() < m


def test_indices_follow_their_distribution(rng):
    dtype = np.dtype("int32")
    assert (np.diff(host_data.ascending(rng, 10**6, 1000, dtype)) >= 0).all()
    assert (np.diff(host_data.blocked(rng, 10**6, 64, dtype)) == 1).all()
    assert np.unique(host_data.equal(rng, 10**6, 100, dtype)).size == 1
    drawn = host_data.zipf(rng, 10**6, 10**5, dtype)
    assert np.count_nonzero(drawn == 0) > 1000 > np.count_nonzero(drawn == 1000)


def test_all_bytes_are_copied(rng):
    copier = copying.Copier()
    copier.threads = 3
    origin = rng.integers(0, 256, 3 * copying.LEAST_COPY + 77, np.uint8)
    to = np.zeros_like(origin)
    copier.copy(to, origin)
    assert copying.same_bytes(to, origin)
    to[-1] ^= 1
    assert not copying.same_bytes(to, origin)
    assert not copying.same_bytes(to, origin[:-1])


def test_sets_hold_more_than_the_cache_where_the_pools_allow():
    data = host_data.HostData(10_000)
    data.cache_bytes = 1000
    assert data.set_count(100, 10) == 30
    assert data.set_count(1, 10) == host_data.MOST_SETS
    assert data.set_count(1, 9000) == 1
    parts = data.cut(data.x, 5, 3)
    assert [part.ctypes.data - data.x.ctypes.data for part in parts] == [0, 64, 128]


def test_a_table_that_leaves_no_room_is_left_out(monkeypatch):
    assert host_data.available_memory() > 0
    data = host_data.HostData(1000)
    monkeypatch.setattr(host_data, "available_memory", lambda: 40_000)
    table = data.pinned_table(5000)
    assert (table[1000:2000] == data.x).all()
    assert data.pinned_table(5000).ctypes.data == table.ctypes.data
    with pytest.raises(
        loop.TooLargeError, match="a page-locked table of 44000 bytes is more than half of"
    ):
        data.pinned_table(11_000)


def test_a_batch_is_long_also_where_the_first_calls_are_slow(monkeypatch):
    clock = [0.0]

    def call():
        clock[0] += next(seconds)

    def rest(_):
        clock[0] += 1

    seconds = itertools.chain([2e-3] * 8, itertools.repeat(1e-5))
    monkeypatch.setattr(timers.time, "sleep", rest)
    monkeypatch.setattr(timers.time, "perf_counter", lambda: clock[0])
    timer = timers.WallTimer([call], "host", 4e-3)
    for _ in range(6):
        timer.sample()
    assert timer.sample() == pytest.approx(1e-5)
    assert 399 <= timer.count <= 400


def test_each_round_begins_with_another():
    class Sampled:
        def __init__(self, name):
            self.name = name

        def sample(self):
            order.append(self.name)
            return 0.0

    order = []
    timers = [(Implementation(name, PEER, None), Sampled(name), []) for name in "abc"]
    loop.take_turns(timers, loop.Bench({}, {}, 3), dict.fromkeys("abc"))
    assert "".join(order) == "bca" + "cab" + "abc"


def test_names_of_cases_are_told_apart():
    names = [case.label for table in host_tables(gpu=False) for case in table.cases]
    assert "host saxpy float32 n=1 new result" in names
    grid = [name for name in names if "uniform" in name and "int64" in name and "of 4 B" in name]
    assert len(grid) == len(set(grid))


def test_a_copy_that_does_nothing_is_seen(monkeypatch, capsys):
    layouts.main(["--cpu", "--copies", "--side", "8"])
    assert "| 8 | contiguous |" in capsys.readouterr().out
    monkeypatch.setattr(gpukern, "copyto", lambda out, x: None)
    every = layouts.copies
    for name in every(np.empty, 8):
        monkeypatch.setattr(
            layouts, "copies", lambda make, n, name=name: {name: every(make, n)[name]}
        )
        with pytest.raises(AssertionError):
            layouts.main(["--cpu", "--copies", "--side", "8"])


def test_layouts(capsys):
    threads = gpukern.get_num_threads()
    layouts.main(["--cpu", "--side", "64"])
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("|")[1].strip() for line in lines[3:]} >= {"row broadcast", "reversed"}
    assert gpukern.get_num_threads() == threads
