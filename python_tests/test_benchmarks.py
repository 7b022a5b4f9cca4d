# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmark suite runs, checks and reports; no time is asserted."""

import ctypes
import dataclasses
import io
import json
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from fake_gpu import CLASSES, FakeNative, Tensor, host

import gpukern
from benchmarks import __main__ as program
from benchmarks import c_api, native, report, suites, summary
from benchmarks.implementations import bags, implementations_of, scatter
from benchmarks.implementations.base import OURS, PEER
from benchmarks.libraries import LIBRARIES, open_libraries
from benchmarks.measure.device import DeviceBench
from benchmarks.measure.device_data import gather_operands, saxpy_operands
from benchmarks.measure.device_layout import aligned
from benchmarks.measure.timers import LEAST_NODES, GraphTimer
from benchmarks.profile import __main__ as profile_ncu
from benchmarks.profile import driver as profile_driver
from benchmarks.suites.axes import AddPairs, GatherPairs, TakeAlongAxis
from benchmarks.suites.bag_cases import Bags, Segments
from benchmarks.suites.cases import DEVICE, Gather, Saxpy, Table
from benchmarks.suites.device import SAXPY
from benchmarks.suites.host import host_tables
from benchmarks.suites.scatter_cases import Bincount, PutAlongAxis, Scatter
from benchmarks.suites.selection import Compress, CountNonzero, Nonzero

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")

SUITES = [name for name in suites.SUITES if name != "host"]  # test_host_benchmarks.py has that


@pytest.fixture
def bench():
    tables = suites.tables_of(SUITES, quick=False)
    return program.open_benches(tables, LIBRARIES, 3, FakeNative(), CLASSES)[DEVICE]


def small(case):
    """The case with sizes for a test; everything else is kept."""
    if isinstance(case, Saxpy):
        return dataclasses.replace(case, n=1000 + case.n % 7)
    if isinstance(case, PutAlongAxis):
        return dataclasses.replace(case, height=9, length=11)
    if isinstance(case, Bags):
        return dataclasses.replace(case, m=64, n=50)
    if isinstance(case, Segments):
        return dataclasses.replace(case, n=50)
    if isinstance(case, TakeAlongAxis):
        return dataclasses.replace(case, height=9, length=11, taken=min(case.taken, 5))
    if isinstance(case, GatherPairs | AddPairs):
        return dataclasses.replace(case, height=9, length=11, n=50 + case.n % 7)
    if isinstance(case, Bincount):
        return dataclasses.replace(case, n=50, bins=7 + case.bins % 3)
    if isinstance(case, Compress | Nonzero | CountNonzero):
        return dataclasses.replace(case, n=200 + case.n % 7)
    return dataclasses.replace(
        case, m=64 if case.row else 512, n=max(5, min(50, 2**15 // case.width))
    )


def run(bench, tables, tmp_path, **options):
    results = program.new_results({DEVICE: bench}, tables, {})
    path = tmp_path / "results.json"
    stream = io.StringIO()
    alive = program.run({DEVICE: bench}, tables, results, path, stream=stream, **options)
    assert json.loads(path.read_text()) == json.loads(json.dumps(results))
    return results, alive, stream.getvalue()


def shrunk(tables):
    return [
        dataclasses.replace(table, cases=tuple(dict.fromkeys(map(small, table.cases))))
        for table in tables
    ]


@pytest.mark.parametrize("suite", SUITES)
def test_every_case_of_a_suite_runs_and_gpukern_is_right(bench, tmp_path, suite):
    tables = shrunk(suites.tables_of([suite], quick=False))
    results, alive, progress = run(bench, tables, tmp_path)
    assert alive
    assert results["dropped"] == []
    assert len(results["points"]) == sum(len(table.cases) for table in tables)
    assert "done" in progress
    for point in results["points"]:
        for name, result in point["results"].items():
            if name.startswith("gpukern"):
                assert result.get("right") is True, (point["label"], name, result)
                assert result["rate"] > 0
                assert len(result["samples"]) == 3
            elif suite in ("axes", "scatter", "bags", "selection"):
                assert "error" not in result, (point["label"], name, result)
                assert result.get("right") is not False, (point["label"], name)


def test_a_wrong_peer_and_a_failing_one_are_reported(bench, tmp_path):
    table = Table("saxpy sizes", "saxpy, float32", "GB/s", SAXPY, (Saxpy("float32", 777),))
    results, alive, _ = run(bench, [table], tmp_path)
    assert alive
    (point,) = results["points"]
    found = point["results"]
    assert found["cupy"]["right"] is False
    assert "no libcublas.so" in found["cublas"]["error"]
    assert "No module named 'jax'" in found["jax"]["absent"]
    text = report.markdown(results)
    assert "cupy: the result is WRONG" in text
    assert "cublas: BenchError: no libcublas.so" in text
    assert "without jax: No module named 'jax'" in text
    # The wrong one is not the best peer, however fast.
    assert summary.best(found, PEER)[0] in ("cub", "plain", "torch")


@pytest.mark.parametrize("error", [MemoryError("out of memory"), c_api.BenchError("out of luck")])
def test_a_peer_that_fails_while_it_is_timed_is_reported(bench, tmp_path, monkeypatch, error):
    def fail():
        raise error

    def timer(implementation, calls, case):
        made = DeviceBench.timer(bench, implementation, calls, case)
        if implementation.name == "torch":
            made.sample = fail
        return made

    monkeypatch.setattr(bench, "timer", timer)
    names = ("gpukern", "torch", "plain")
    table = Table("saxpy sizes", "saxpy, float32", "GB/s", names, (Saxpy("float32", 777),))
    results, alive, _ = run(bench, [table], tmp_path)
    assert alive
    found = results["points"][0]["results"]
    assert str(error) in found["torch"]["error"]
    assert len(found["gpukern"]["samples"]) == len(found["plain"]["samples"]) == 3


def test_jax_needs_a_library_that_exports_arrays():
    classes = {"jax": lambda memory, stream: SimpleNamespace(version="0")}
    found, missing = open_libraries(("jax",), classes=classes)
    assert found == {}
    assert missing == {
        "jax": "RuntimeError: it takes arrays from torch or CuPy, which are not there"
    }


def test_a_time_limit_drops_the_least_important_points(bench, tmp_path):
    cases = (Saxpy("float32", 100, priority=2), Saxpy("float32", 200, priority=1))
    table = Table("saxpy sizes", "saxpy, float32", "GB/s", ("gpukern",), cases)
    results, _, _ = run(bench, [table], tmp_path, time_limit=-1)
    assert [each["case"] for each in results["dropped"]] == [
        "saxpy float32 n=200",
        "saxpy float32 n=100",
    ]
    assert "not measured (time limit): saxpy float32 n=200" in report.markdown(results)


def test_what_does_not_fit_is_dropped_and_named(bench, tmp_path):
    cases = (Gather(2**40, 10), Gather(100, 10))
    table = Table("gather grid", "gather", "Gitem/s", ("gpukern",), cases)
    results, alive, _ = run(bench, [table], tmp_path)
    assert alive
    assert len(results["points"]) == 1
    assert "too small" in results["dropped"][0]["reason"]


def test_a_lost_gpu_ends_the_run_and_keeps_what_was_measured(bench, tmp_path):
    cases = (Saxpy("float32", 100), Saxpy("float32", 200))
    table = Table("saxpy sizes", "saxpy, float32", "GB/s", ("gpukern", "cublas"), cases)

    def lose(*arguments):
        if arguments[-1] == 200:
            bench.native.lost = True
        raise c_api.BenchError("illegal address")

    bench.native.do_saxpy_cublas = lose
    results, alive, _ = run(bench, [table], tmp_path)
    assert not alive
    assert [point["case"]["n"] for point in results["points"]] == [100]
    assert "the run ended early" in report.markdown(results)


def test_the_source_of_gather_is_filled_again_where_it_was_overwritten(bench):
    gather = Gather(100_000, 10)
    gather_operands(bench, gather)
    assert bench.filled == aligned(400_000)
    bench.native.poison(bench.address, 4096)  # elsewhere
    # The reference and three operands take nearly all memory.
    saxpy_operands(bench, Saxpy("float32", (bench.size - 100_000) // 16))
    assert bench.filled < 200_000
    gather_operands(bench, gather)
    assert bench.filled == aligned(400_000)


@pytest.mark.parametrize("sets", [1, 3, 7, 15, 16, 23])
def test_all_sets_are_used_before_one_is_used_again(bench, sets):
    used = []
    timer = GraphTimer(bench.native, [lambda k=k: used.append(k) for k in range(sets)])
    timer.sample()
    timer.sample()
    assert timer.nodes >= LEAST_NODES
    assert used == list(range(sets)) * (len(used) // sets)


@pytest.mark.parametrize("kind", [Compress, Nonzero, CountNonzero])
def test_the_operands_of_a_selection_rotate(bench, kind):
    case = kind(10_000, 50)
    _, sets = bench.operands(None, case)
    assert len(sets) * case.traffic > bench.l2_bytes
    for name in vars(sets[0]):
        assert len({getattr(at, name) for at in sets}) == len(sets)
    assert all((host(at.mask, case.n, "?") == case.mask).all() for at in sets)


def test_a_wrong_sum_of_a_peer_is_seen(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(Tensor, "index_add_", lambda target, axis, index, values: None)
    names = ("gpukern", "torch index", "torch deterministic", "cupy")
    table = Table("scatter add", "scatter", "Gupdate/s", names, (Scatter(500, 700),))
    results, _, _ = run(bench, [table], tmp_path)
    found = results["points"][0]["results"]
    assert [found[name]["right"] for name in names] == [True, False, False, True]


def test_a_wrong_minimum_of_a_peer_is_seen(bench, tmp_path):
    bench.libraries["cupy"].module.minimum = np.maximum
    names = ("gpukern", "gpukern any", "plain", "torch scatter", "cupy")
    table = Table("scatter max", "scatter", "Gupdate/s", names, (Scatter(500, 700, "min"),))
    results, _, _ = run(bench, [table], tmp_path)
    found = results["points"][0]["results"]
    assert [found[name]["right"] for name in names] == [True, True, True, True, False]


def test_numbers_are_counted_from_zero(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(Tensor, "zero_", lambda target: None)
    names = ("gpukern", "torch", "torch scatter", "cupy")
    table = Table("bincount", "bincount", "Gitem/s", names, (Bincount(50, 7),))
    results, _, _ = run(bench, [table], tmp_path)
    found = results["points"][0]["results"]
    assert [found[name]["right"] for name in names] == [True, True, False, True]


def test_a_row_gather_writes_the_rows_of_all_bags(bench):
    case = Bags(50, "8", 16, 64)
    _, (at,) = bench.operands(None, case)
    bench.native.poison(at.rows, 50 * 64)
    bags.row_gather(bench, case, at)()
    source, index = host(at.source, 64 * 16, "f4").reshape(64, 16), host(at.index, 50, "i8")
    assert (host(at.rows, 50 * 16, "f4").reshape(50, 16) == source[index]).all()
    assert bags.row_gather_work(case, "GB/s") == pytest.approx(2 * 50 * 64e-9)


def test_a_row_gather_is_no_ceiling_of_rows_in_a_cache(bench, tmp_path):
    table = next(t for t in suites.tables_of(["bags"], False) if t.name == "bag sum")
    results, _, _ = run(bench, shrunk([table]), tmp_path)
    for point in results["points"]:
        found = point["results"]["row gather"]
        assert ("rate" in found) == (point["case"]["distribution"] == "uniform")
        assert summary.best(point["results"], OURS)[0] == "gpukern"


def test_many_values_for_one_index_are_not_added_by_torch_in_turn(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(scatter, "MOST_DETERMINISTIC", 300)
    name = "torch deterministic"
    for distribution, found in (("half", "absent"), ("skewed", "absent"), ("uniform", "rate")):
        case = Scatter(2**12, 1000, distribution=distribution)
        table = Table("scatter add", "scatter", "Gupdate/s", ("gpukern", name), (case,))
        results, _, _ = run(bench, [table], tmp_path)
        assert found in results["points"][0]["results"][name]


def test_a_wrong_sum_of_bags_is_seen(bench, tmp_path):
    bag = bench.libraries["torch"].module.nn.functional
    bag.embedding_bag = lambda index, source, starts, **options: source[: starts.size]
    names = ("gpukern", "plain", "torch", "cupy")
    table = Table("bag sum", "bags", "GB/s", names, (Bags(50, "10", 8, 64),))
    results, _, _ = run(bench, [table], tmp_path)
    found = results["points"][0]["results"]
    assert [found[name]["right"] for name in names] == [True, True, False, True]


def test_a_wrong_count_is_seen(bench, tmp_path):
    bench.libraries["torch"].module.count_nonzero = lambda mask: np.count_nonzero(mask) + 1
    names = ("gpukern", "torch", "cupy")
    table = Table("count nonzero", "count", "GB/s", names, (CountNonzero(100, 50),))
    results, _, _ = run(bench, [table], tmp_path)
    found = results["points"][0]["results"]
    assert [found[name]["right"] for name in names] == [True, False, True]


def test_scatter_in_mode_raise_is_named(bench, tmp_path):
    (table,) = (t for t in suites.tables_of(["scatter"], False) if t.name == "scatter raise")
    results, _, _ = run(bench, shrunk([table]), tmp_path)
    for point in results["points"]:
        assert summary.best(point["results"], OURS)[0] == "gpukern raise"
    # An index that only this mode refuses: the first one past the target.
    bench.native.fill_index = lambda at, itemsize, count, name, n, seed: host(at, count, "i8").fill(
        n
    )
    found = run(bench, shrunk([table]), tmp_path)[0]["points"][0]["results"]
    assert "out of bounds" in found["gpukern raise"]["error"]
    assert "rate" in found["gpukern clip"]


def test_quick_is_a_part_of_the_whole():
    whole = {c.label for t in suites.tables_of(list(suites.SUITES), False) for c in t.cases}
    quick = {c.label for t in suites.tables_of(list(suites.SUITES), True) for c in t.cases}
    assert quick < whole


def test_every_implementation_of_a_table_is_known():
    for table in suites.tables_of(SUITES, quick=False):
        for case in table.cases:
            names = [each.name for each in implementations_of(table, case)]
            assert tuple(names) == table.implementations


def test_one_implementation_of_a_table_is_compared_with_the_others():
    for table in suites.tables_of(list(suites.SUITES), quick=False) + list(host_tables(gpu=True)):
        for case in table.cases:
            ours = [each for each in implementations_of(table, case) if each.role == OURS]
            assert len(ours) == (table.name != "host link"), table.name


def test_rates_are_written_with_the_digits_that_matter():
    assert [report.rate_text(rate) for rate in (4400.4, 70.64, 1.234)] == ["4400", "70.6", "1.23"]


def test_the_mirrored_structs_have_the_layout_of_the_header():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    nested = {"device_type": "device.device_type", "device_id": "device.device_id"}
    nested |= {each: f"dtype.{each}" for each in ("code", "bits", "lanes")}
    lines = ["#include <gpukern/program.h>", "#include <stddef.h>"]
    for name, struct in {
        "gpukern_tensor": c_api.Tensor,
        "gpukern_exec": c_api.Exec,
        "gpukern_gather_options": c_api.GatherOptions,
        "gpukern_scatter_options": c_api.ScatterOptions,
        "gpukern_gather_reduce_options": c_api.GatherReduceOptions,
    }.items():
        # A struct that begins with its size may have grown at the end.
        fits = "==" if struct is c_api.Tensor else ">="
        lines.append(f'_Static_assert(sizeof({name}) {fits} {ctypes.sizeof(struct)}, "{name}");')
        lines += [
            f"_Static_assert(offsetof({name}, {nested.get(field, field)}) == "
            f'{getattr(struct, field).offset}, "{name}.{field}");'
            for field, _ in struct._fields_
        ]
    command = [compiler, "-std=c11", "-fsyntax-only", f"-I{gpukern.get_include()}", "-xc", "-"]
    subprocess.run(command, input="\n".join(lines), text=True, check=True)


def test_two_of_each_dtype():
    for name in native.DTYPES:
        raw = c_api.scalar_two(name).raw[: native.ITEMSIZE[name]]
        if name == "bfloat16":
            assert raw == b"\x00\x40"
        else:
            assert np.frombuffer(raw, name)[0] == 2


def test_a_report_needs_results(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        report.main([str(tmp_path)])
    assert "results.json" in capsys.readouterr().err


def test_plots_are_drawn_where_matplotlib_is(bench, tmp_path):
    pytest.importorskip("matplotlib")
    tables = shrunk(suites.tables_of(["saxpy"], quick=False))[:1]
    sizes = [dataclasses.replace(tables[0].cases[0], n=n) for n in (64, 1024, 4096)]
    tables = [dataclasses.replace(tables[0], cases=tuple(sizes))]
    results, _, _ = run(bench, tables, tmp_path)
    written = {path.name for path in report.write(results, tmp_path)}
    assert written == {"tables.md", "summary.json", "saxpy.svg"}
    assert report.main([str(tmp_path)]) == 0


def test_labels_of_an_axis_keep_apart():
    plots = pytest.importorskip("benchmarks.plots")
    assert plots.labels_apart([1, 1024, 2048, 2**20], 20) == ["1", "1Ki", "2Ki", "1Mi"]
    assert plots.labels_apart([1, 1024, 2048, 2**20], 10) == ["1", "1Ki", "", "1Mi"]
    assert plots.labels_apart([7], 10) == ["7"]


def test_the_command_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GPUKERN_BENCH_LIBRARY", str(tmp_path / "nothing.so"))
    with pytest.raises(OSError, match=r"nothing\.so"):
        program.main(["--out", str(tmp_path)])
    monkeypatch.delenv("GPUKERN_BENCH_LIBRARY")
    monkeypatch.setattr(native, "ROOT", tmp_path)
    assert program.main(["--out", str(tmp_path)]) == 2
    assert "make bench" in capsys.readouterr().err


def test_a_plot_may_be_over_names(tmp_path):
    plots = pytest.importorskip("benchmarks.plots")
    for field, unit in (("distribution", "Gupdate/s"), ("lengths", "GB/s")):
        (plot,) = (each for each in plots.PLOTS if each.x == field)
        lines = {"gpukern": (OURS, ["uniform", "half"], [40.0, 30.0])}
        plots.draw(plot, unit, lines, tmp_path / plot.file)
        drawn = (tmp_path / plot.file).read_text()
        assert "uniform" in drawn
        assert "half" in drawn


NCU = """\
==PROF== Connected to process 1
"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum",\
"launch__registers_per_thread"
"","","ns","byte","byte","register/thread"
"0","void bench::<unnamed>::empty_kernel()","1,000","0","0","16"
"1","void gpukern::gpu::<unnamed>::gather_kernel<unsigned int, int>(gpukern::gpu::Args<int>)",\
"2,000","6,000,000","2,000,000","32"
"2","void bench::<unnamed>::empty_kernel()","1,000","0","0","16"
"3","void gpukern::gpu::<unnamed>::saxpy_kernel<float>(int)","4,000","n/a","0","40"
"""


def test_the_profile_is_summarised_by_case():
    lines = profile_ncu.markdown(NCU, ["first", "second"]).splitlines()
    assert lines[-2].startswith("| first | `gather_kernel<unsigned int, int>` | 2.0 | 4000 | - |")
    assert lines[-2].endswith("| 32 |")
    assert lines[-1].startswith("| second | `saxpy_kernel<float>` | 4.0 | - |")


def test_the_driver_of_the_profile_names_its_cases(capsys):
    assert profile_driver.main(["--list"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert len(names) == len(set(names)) == len(list(profile_driver.cases()))
