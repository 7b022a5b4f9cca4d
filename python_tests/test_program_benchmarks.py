# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmarks of programs run, check and report; no time is asserted."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from fake_gpu import FakeNative, host
from nvrtc import needs_nvrtc

import gpukern
from benchmarks.c_api import BenchError
from benchmarks.call_cost.calls import Call, measure
from benchmarks.peers import compile_once
from benchmarks.programs import __main__ as programs
from benchmarks.programs import compile as program_compile
from benchmarks.programs import forms as program_forms
from benchmarks.programs import launch as program_launch
from benchmarks.programs import processes
from benchmarks.programs import seeds as program_seeds

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")

CACHES = ("GPUKERN_CACHE_DIR", "CUPY_CACHE_DIR", "NUMBA_CACHE_DIR", "CUDA_CACHE_PATH")
KERNEL = re.compile(r"(?:extern \"C\" )?(__global__.*?\n})", re.DOTALL)


class HostBench(program_forms.FormBench):
    """Hands out the fake GPU's memory as ndarrays."""

    def vector(self, address, n, typestr="<f4"):
        return host(address, n, typestr)


class Numba:
    """Computes by NumPy; its polynomial is wrong, so that the check fails."""

    stream = None

    def array(self, vector):
        return vector

    def ufunc(self, function):
        if function is program_forms.polynomial:
            return lambda a, b, out, stream: np.add(a, b, out=out)
        return lambda a, b, out, stream: np.copyto(out, function(a, b))


@pytest.fixture
def bench():
    native = FakeNative()
    native.open()
    size = 1 << 22
    return HostBench(
        native, native.allocate(size), size, 1 << 16, {"numba": Numba()}, {"cupy": "not here"}, 3
    )


def test_the_element_wise_functions_are_right(bench):
    points = program_forms.run(bench, sizes=(1000, 70_001, 2**40))
    assert [point["label"] for point in points] == [
        f"{form} n={n}" for form in ("add", "polynomial") for n in (1000, 70_001)
    ]
    for point in points:
        found = point["results"]
        for name in ("gpukern, C form", "gpukern, Python form"):
            assert found[name]["right"] is True
            assert found[name]["rate"] > 0
            assert len(found[name]["samples"]) == 3
        assert found["gpukern.saxpy"]["rate"] > 0
        assert found["cupy"]["absent"] == "no cupy: not here"
        assert found["numba"]["right"] is (point["case"]["form"] == "add")
    text = "\n".join(
        programs.form_lines(
            {"forms": points, "tables": [each.header() for each in program_forms.TABLES.values()]}
        )
    )
    assert "## polynomial as an element-wise function, float32, GB/s" in text
    assert "- polynomial n=1000: numba: the result is WRONG" in text


def ndarrays(texts=compile_once.TEXTS):
    x, y, out = (np.full(compile_once.N, number, "f4") for number in (*compile_once.NUMBERS, 0))
    makers = [lambda text=text: gpukern.elementwise(text) for text in texts]
    return makers, lambda f: f(x, y, out=out), lambda: out, 3


def test_the_four_times_of_a_function():
    assert set(compile_once.measure(*ndarrays())) == set(program_compile.TIMES)
    with pytest.raises(SystemExit, match="the result is wrong"):
        compile_once.measure(*ndarrays(("x + y", "x")))


@needs_nvrtc
def test_nvrtc_alone_compiles_what_gpukern_does():
    (point,) = program_compile.run(1, (program_compile.NVRTC,))
    assert "error" not in point, point
    assert set(point) >= {"first", "second"}


def test_a_way_that_fails_is_reported_once(monkeypatch):
    broken, asked = "Numba vectorize", []

    def answer(command, environment):
        asked.append(command[2])
        return {"error": "exit 1: no GPU"} if command[2] == broken else {"first": len(asked)}

    monkeypatch.setattr(program_compile, "request", lambda folder: "")
    monkeypatch.setattr(program_compile, "run_json", answer)
    points = program_compile.run(2, (program_compile.OWN, broken))
    # The first way goes first once unmeasured; each time cold and from disk.
    assert asked == [*[program_compile.OWN] * 4, broken, *[program_compile.OWN] * 2]
    assert [(point["cache"], point.get("first")) for point in points] == [
        ("cold", 4.5),
        ("disk", 5.5),
        ("cold", None),
    ]
    assert points[2]["error"] == "exit 1: no GPU"


def test_the_table_of_compile_times():
    times = {"first": 0.25, "second": 0.125, "again": 3e-6, "lookup": 2e-6}
    points = [
        {"way": program_compile.NVRTC, "cache": "cold", "first": 0.2, "second": 0.1},
        {"way": program_compile.OWN, "cache": "cold", **times},
        {"way": "Numba cuda.jit", "cache": "cold", "error": "ImportError: none"},
    ]
    text = "\n".join(program_compile.markdown(points))
    assert "| NVRTC alone | cold | 200.000 | 100.000 | - | - |" in text
    assert "| Numba cuda.jit | cold | ImportError: none |" in text
    assert "+50.00 and +25.00 ms beyond NVRTC alone" in text
    assert "+1.00 µs beyond a lookup" in text


def test_the_table_of_launches():
    calls = [
        Call("C", program_launch.BARE, lambda batch: 2e-6),
        Call("cupy", "RawKernel", lambda batch: 5e-6),
        Call("numba", "broken", lambda batch: 1 / 0),
    ]
    text = "\n".join(program_launch.markdown(measure(calls, 3, 10, int)))
    assert "| cupy | RawKernel | 5.00 | +3.00 |" in text
    assert "| numba | broken | ZeroDivisionError: division by zero | - |" in text


def test_a_launch_by_c_names_what_it_cannot_compile(monkeypatch):
    monkeypatch.setattr(program_launch, "SOURCE", "no program")
    with pytest.raises(BenchError, match=r"program|no CUDA device"):
        program_launch.loaded_by_c(FakeNative())


class FakeKernel:
    """Takes each way of a launch, and notes the arguments."""

    def __init__(self):
        self.launched = []

    def __getitem__(self, configuration):
        return lambda *args: self.launched.append((configuration[:2], args))

    def launch(self, grid, block, *args, stream):
        self[grid, block](*args)

    def __call__(self, grid, block, args):
        self.launched.append(((*grid, *block), args))


def test_each_call_of_a_launch_runs(monkeypatch):
    own, raw = FakeKernel(), FakeKernel()
    fakes = {
        "Program": lambda source: SimpleNamespace(kernel=lambda name: own),
        "RawKernel": lambda source, name: raw,
    }
    monkeypatch.setattr(program_launch, "gpukern", SimpleNamespace(**fakes))
    x, y = object(), object()
    calls = list(program_launch.gpukern_calls("group", x, y, 7))
    calls += program_launch.cupy_calls(SimpleNamespace(**fakes), x, y)
    points = measure(calls, 2, 4, int)
    assert [point.get("error") for point in points] == [None] * 7
    assert all(point["seconds"] > 0 for point in points)
    # Two batches of at most four and the warm-up of each way, with equal arguments.
    for kernel, ways in ((own, 5), (raw, 2)):
        assert ways * 4 <= len(kernel.launched) <= ways * 10
        assert set(kernel.launched) == {((1, program_launch.N), (2.0, x, y, program_launch.N))}


def test_what_compare_prints_is_found(capsys):
    sys.path.insert(0, str(program_seeds.EXAMPLES / "saxpy_by_hand"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["compare.py"])
            import compare
    finally:
        sys.path.pop(0)
    times = {"application": "175.50", "compile": "60.25", "kernel (us)": "64.80"}
    compare.report({"Python": [times], "C++": [{**times, "application": "175.00"}]})
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert program_seeds.compared(lines) == [
        "application 175.50, 175.00, ratio 1.003",
        "kernel (us) 64.80, 64.80, ratio 1.000",
    ]
    assert program_seeds.compared(["skipped: a kernel that runs needs a GPU"]) == []


def test_a_program_of_many_sizes_is_shown_by_the_last():
    figures = [f"{size} Mi elements: right; NumPy 107 ms" for size in (10, 90)]
    point = {"program": "polynomial", "library": "gpukern", "seconds": 9.8}
    text = "\n".join(program_seeds.markdown([{**point, "right": True, "figures": figures}]))
    assert "| polynomial | gpukern | 9.80 | 90 Mi elements: right; NumPy 107 ms |" in text


@pytest.mark.parametrize("program", program_seeds.PROGRAMS)
def test_the_programs_of_the_peers_are_there(program):
    own = program_seeds.EXAMPLES / program_seeds.PROGRAMS[program]
    cupy = (program_seeds.PEERS / "seed_cupy.py").read_text("utf-8")
    for library in program_seeds.LIBRARIES[1:]:
        text = (program_seeds.PEERS / f"seed_{library}.py").read_text("utf-8")
        assert f"\ndef {program}():" in text
    # Where the example has CUDA C++, CuPy's program has the same.
    for kernel in KERNEL.findall(own.read_text("utf-8")):
        assert kernel in cupy


def test_processes_report_how_they_end(monkeypatch):
    assert processes.run_json([sys.executable, "-c", "print('[1]')"]) == [1]
    assert "printed no JSON" in processes.run_json([sys.executable, "-c", "pass"])["error"]
    assert processes.run([sys.executable, "-c", "raise SystemExit('no')"]).error == "exit 1: no"
    assert "FileNotFoundError" in processes.run(["/nonexistent"]).error
    monkeypatch.setattr(processes, "TIMEOUT", 0.1)
    slow = processes.run([sys.executable, "-c", "import time; time.sleep(60)"])
    assert slow.error.startswith("TimeoutExpired")


def test_programs_start_from_empty_caches(monkeypatch):
    seen = []

    def run(command, environment):
        folders = {environment[name] for name in CACHES}
        assert len(folders) == len(CACHES)
        seen.append(folders)
        return processes.Outcome(1.0, "right")

    monkeypatch.setattr(program_seeds, "run_process", run)
    program_seeds.run(("hello", "saxpy"), ("gpukern", "numba"), compare=0)
    assert len(set.union(*seen)) == 4 * len(CACHES)


def test_the_whole_without_a_gpu(tmp_path, capsys, monkeypatch):
    devices = SimpleNamespace(info=lambda: {**gpukern.info(), "devices": []})
    monkeypatch.setattr(programs, "gpukern", devices)
    monkeypatch.setattr(
        program_seeds, "command_of", lambda *_: ["echo", "x + y takes 1.25 ms: right"]
    )
    assert programs.main(["--part", "seeds", "--part", "forms", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "programs.json").read_text())
    assert {point["program"] for point in results["seeds"]} >= set(program_seeds.PROGRAMS)
    assert results["forms"] == []
    text = (tmp_path / "programs.md").read_text()
    assert text in capsys.readouterr().out
    assert "x + y takes 1.25 ms: right |" in text
    assert results["machine"]["commit"] or "commit unknown" in text


def test_a_part_that_fails_is_an_error_and_stops_no_other(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(program_compile, "run", lambda turns, ways: 1 / 0)
    info = {**gpukern.info(), "devices": [], "nvrtc": {"version": (13, 0)}}
    monkeypatch.setattr(programs, "gpukern", SimpleNamespace(info=lambda: info))
    monkeypatch.setattr(program_seeds, "command_of", lambda *_: ["echo", "right"])
    assert programs.main(["--part", "compile", "--part", "seeds", "--out", str(tmp_path)]) == 1
    assert "compile failed: ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert "- without compile: ZeroDivisionError" in (tmp_path / "programs.md").read_text()
    assert json.loads((tmp_path / "programs.json").read_text())["seeds"]
