# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m gpukern bench``; no time is asserted."""

import re

import pytest

import gpukern
from gpukern.__main__ import main
from gpukern._cli import bench

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")

SHRINK = "100000"
WITHOUT_GPU = not gpukern.info()["devices"]


def test_the_command_measures_every_case(capsys):
    assert main(["bench", "--shrink", SHRINK]) == 0
    printed = capsys.readouterr().out
    assert len(re.findall(r"^(saxpy|gather) of ", printed, re.MULTILINE)) == 6
    assert len(re.findall(r"^  gpukern +\d+\.\d\d$", printed, re.MULTILINE)) == 6
    assert "WRONG" not in printed


@pytest.mark.parametrize("number", ["0", "-1", "much"])
def test_sizes_are_divided_by_positive_numbers(number, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "--shrink", number])
    assert "--shrink" in capsys.readouterr().err


def test_a_wrong_result_of_gpukern_is_seen(capsys, monkeypatch):
    name = "gpukern" if WITHOUT_GPU else "gpukern_on_gpu"
    right = getattr(bench, name)()
    wrong = right._replace(saxpy=lambda x, y, out: None)
    monkeypatch.setattr(bench, name, lambda: wrong)
    assert main(["bench", "--shrink", SHRINK]) == 1
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.skipif(not WITHOUT_GPU, reason="the peers of the host are measured without a GPU")
def test_a_failing_peer_does_not_stop_the_others(capsys, monkeypatch):
    def fail(x, y, out):
        raise RuntimeError("out of luck")

    failing = bench.numpy()._replace(saxpy=fail)
    monkeypatch.setattr(bench, "numpy", lambda: failing)
    assert main(["bench", "--shrink", SHRINK]) == 0
    assert "RuntimeError: out of luck" in capsys.readouterr().out


def test_a_library_that_is_not_there_is_named():
    def absent():
        import gpukern_has_no_such_module  # noqa: F401

    found, (line,) = bench.open_all([bench.gpukern, absent])
    assert [each.name for each in found] == ["gpukern"]
    assert line.startswith("without absent: ModuleNotFoundError")
