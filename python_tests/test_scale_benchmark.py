# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The report of the benchmark of tables over several GPUs; no time is asserted."""

import json
from types import SimpleNamespace

import pytest

from benchmarks.scale import report

MACHINE = {
    "date": "2026-01-02T03:04:05",
    "commit": "abc",
    "gpu": {"name": "A GPU"},
    "versions": {"gpukern": "0", "numpy": "2"},
}


def test_report(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "describe_machine", lambda libraries: MACHINE | libraries)
    rates = {4: {"gpukern": 1.25}, "16": {"gpukern": 10, "bulk copies": 8, "pushes": 100.0}}
    runs = [{"gpus": 2, "processes": "one", "distribution": "uniform", "rates": rates}]
    faults = {2: {"index errors": [0.0012, "index 9"], "death": [[0.25, "PeerLostError: gone"]]}}
    copies = {2: {"one at a time": 390.4, "all at once": 386.6}}
    report.write(tmp_path, {"torch": "2"}, runs, faults, copies)
    lines = (tmp_path / "scale.md").read_text().splitlines()
    assert lines[2] == "gpukern 0, numpy 2"
    begin = lines.index("## 2 GPUs, one process, uniform")
    assert lines[begin + 2 : begin + 7] == [
        "| | 4 | 16 |",
        "|---|---:|---:|",
        "| gpukern | 1.2 | 10.0 |",
        "| bulk copies |  | 8.0 |",
        "| pushes |  | 100.0 |",
    ]
    assert "| 2 | 390 | 387 |" in lines
    assert "2 processes, a bad index on one: on all after 1.2 ms," in lines
    assert "- after 0.25 s `PeerLostError: gone`" in lines
    found = json.loads((tmp_path / "scale.json").read_text())
    assert found["machine"] == MACHINE | {"torch": "2"}
    assert found["GB/s"][0]["rates"]["16"] == rates["16"]


@pytest.mark.parametrize(("only", "last"), [("gpukern", 1), ("", 0)])
def test_a_rank_that_fails_is_an_error(monkeypatch, only, last):
    pytest.importorskip("torch")
    from benchmarks.scale import command

    ranks = [SimpleNamespace(join=lambda: None, exitcode=code) for code in (0, last)]
    started = SimpleNamespace(processes=ranks)
    monkeypatch.setattr(command.mp, "spawn", lambda *arguments, join: started)
    with pytest.raises(SystemExit, match=f"the ranks ended with .0, {last}."):
        command.on_processes(2, SimpleNamespace(only=only))
    ranks[1].exitcode = 0
    if only:
        assert command.on_processes(2, SimpleNamespace(only=only)) is None
