# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The costs of calls, and comparisons of results; no time is asserted."""

import json
import sys

import numpy as np
import pytest

import gpukern
from benchmarks import compare, summary
from benchmarks.call_cost import __main__ as call_cost
from benchmarks.call_cost import against, groups
from benchmarks.call_cost.calls import Call, measure

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")

MACHINE = {
    "cpu": "a processor",
    "cpus": 2,
    "gpu": None,
    "versions": {"gpukern": "0"},
    "date": "today",
    "commit": "",
    "missing": {},
}


@pytest.fixture
def without_gpu(monkeypatch):
    info = gpukern.info()
    monkeypatch.setattr(call_cost.gpukern, "info", lambda: {**info, "devices": []})


def test_every_call_on_host_arrays_is_accepted(without_gpu, tmp_path, capsys):
    options = ["--repeats", "2", "--batch", "2", "--out", str(tmp_path)]
    assert call_cost.main(options) == 0
    points = json.loads((tmp_path / "call_cost.json").read_text())["points"]
    assert len(points) > 80
    for point in points:
        assert len(point.get("samples", ())) == 2, point
        peer = point.get("peer", {"samples": [0, 0]})
        assert len(peer["samples"]) == 2, point
    assert "| gather, index: range |" in capsys.readouterr().out
    tables = {table for _, table, _ in summary.read(tmp_path)}
    assert "numpy" in tables


def test_every_peer_computes_the_same():
    group = groups.numpy_group()
    for case in groups.cases():
        peer = case.peers.get("numpy", "")
        if not peer or not group.has(case.statement) or "copyto" in peer or "out" in peer:
            continue
        ours, theirs = (
            np.asarray(eval(text, dict(group.names))) for text in (case.statement, peer)
        )
        if ours.dtype.kind in "SUM" or ours.dtype.names:
            assert (ours == theirs).all(), case.name
        else:
            ours, theirs = ours.astype("c16"), theirs.astype("c16")
            np.testing.assert_allclose(ours, theirs, rtol=1e-2, err_msg=case.name)


def test_costs_are_compared_with_the_peer_s():
    def fail(batch):
        raise RuntimeError("out of luck")

    calls = [
        Call("C", "bare launch", lambda batch: 2e-6),
        Call("torch", "fine", lambda batch: 3e-6, "bare launch", lambda batch: 2e-6),
        Call("torch", "broken", fail, "x + y", lambda batch: 2e-6),
        Call("torch", "alone", lambda batch: 1e-6, "x + y", fail),
    ]
    points = measure(calls, 5, 10, int)
    settings = {"repeats": 5, "batch": 10}
    text = "\n".join(
        call_cost.markdown({"machine": MACHINE, "settings": settings, "points": points})
    )
    assert "| bare launch | 2.00 | - | - | - | - |" in text
    assert "| fine | 3.00 | bare launch | 2.00 | 1.50 | 1.50 |" in text
    assert "| broken | RuntimeError: out of luck | x + y | - | - | - |" in text
    assert "| alone | 1.00 | x + y | RuntimeError: out of luck | - | - |" in text
    assert call_cost.entries(points)["torch"]["fine"] == {
        "ours": 3.0, "unit": "µs", "peer": "bare launch", "ratio": 0.6667,
    }  # fmt: skip


def test_two_builds_are_measured_in_turns(tmp_path, capsys):
    options = ["--against", sys.executable, "--only", "numpy | saxpy, a: ", "--repeats", "2"]
    assert call_cost.main([*options, "--batch", "2", "--out", str(tmp_path)]) == 0
    points = json.loads((tmp_path / "call_cost_against.json").read_text())["points"]
    assert {"numpy | saxpy, a: int", "numpy | saxpy, a: np.float32"} <= {p["name"] for p in points}
    assert all(len(point["old"]) == len(point["new"]) >= 2 for point in points)
    assert "| numpy: saxpy, a: int |" in capsys.readouterr().out


def test_a_worker_takes_the_batch_of_the_command_line():
    worker = against.Worker(sys.executable, 3)
    try:
        worker.warm_up(["numpy | saxpy, a: int"])
        assert worker.batches == {"numpy | saxpy, a: int": 3}
    finally:
        worker.close()


def test_what_is_flagged_is_measured_again(monkeypatch):
    made = []

    class Worker:
        def __init__(self, python, batch):
            assert batch == 7
            self.slow = python != "other"
            self.turn = len(made) // 2
            made.append(self)
            self.names = ["equal", "slower", "once", "refused"]
            self.batches, self.errors = {}, {}

        def warm_up(self, names):
            for name in names:
                if name == "refused" and not self.slow:
                    self.errors[name] = "TypeError: no"
                else:
                    self.batches[name] = 1

        def sample(self, name):
            return (
                1.5 if self.slow and (name == "slower" or (name, self.turn) == ("once", 0)) else 1
            )

        def close(self):
            self.closed = True

    monkeypatch.setattr(against, "Worker", Worker)
    points = {point["name"]: point for point in against.compare("other", 2, 7)}
    assert [len(points[name]["old"]) for name in ("equal", "once", "slower")] == [2, 4, 10]
    assert points["refused"] == {"name": "refused", "errors": ["TypeError: no", ""]}
    assert all(worker.closed for worker in made)
    text = "\n".join(
        call_cost.against_markdown({"machine": MACHINE, "points": list(points.values())})
    )
    assert "3 calls; 1 take more than 3% longer" in text
    assert "**slower**" in text
    assert "- refused: TypeError: no / " in text


def test_results_are_compared_point_by_point(tmp_path, capsys):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, ratio, cost in ((old, 1.5, 2.0), (new, 1.4, 2.1)):
        folder.mkdir()
        entries = {
            "saxpy n=1": summary.entry(10, "GB/s", "cub", ratio, 0.9),
            "saxpy n=2": summary.entry(20, "GB/s", "cub", 1.2),
            "only " + folder.name: summary.entry(1, "GB/s"),
        }
        summary.write(folder, "suites", MACHINE, {"saxpy sizes": entries})
        costs = {"explain": summary.entry(cost, "µs")}
        summary.write(folder, "call_cost", MACHINE, {"numpy": costs})
    assert compare.main([str(old), str(new)]) == 0
    text = capsys.readouterr().out
    assert "3 points in both, 2 fell by more than 2%." in text
    assert (
        "| saxpy sizes | saxpy n=1 | 10 | 10 | GB/s | cub | 1.5 | 1.4 | -6.7 % | **fell** |" in text
    )
    assert "| numpy | explain | 2 | 2.1 | µs | - | ours 2 | 2.1 | -4.8 % | **fell** |" in text
    assert "| saxpy sizes | saxpy n=2 |" in text
    assert "Only in the old set: 1 points of suites / saxpy sizes." in text
    assert compare.main([str(old), str(new / "summary.json"), "--fallen", "--fail"]) == 1
    assert "n=2" not in capsys.readouterr().out
    assert compare.main([str(old), str(new), "--threshold", "0.1", "--fail"]) == 0
    with pytest.raises(SystemExit, match="2"):
        compare.main([str(tmp_path), str(new)])
