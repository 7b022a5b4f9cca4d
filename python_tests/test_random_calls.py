# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The random calls of the benchmarks: their choice, their files and the reports; no GPU."""

import dataclasses
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import random_calls
from benchmarks.random_arguments import Array, Index, Offsets
from benchmarks.random_calls import OPERATIONS, Call, choose, compare, main, read, report

pytestmark = pytest.mark.thread_unsafe(reason="replaces functions of a module, and torch")

CALLS = [choose(3, number) for number in range(1000)]


@pytest.fixture
def without_a_gpu(monkeypatch):
    """A call takes as many microseconds as its number + 1, torch's twice as long."""
    seconds = iter(range(10**6))
    numbers = {str(arguments): number for number, (_, arguments, _) in enumerate(CALLS)}

    def measure_call(operation, arguments, values_seed):
        number = numbers[str(arguments)]
        if number == 0:
            raise ValueError("no such layout")
        return [number + 1, 2 * number + 2]

    cuda = SimpleNamespace(
        get_device_name=lambda: "A GPU", is_available=lambda: True, synchronize=lambda: None
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __version__="2"))
    monkeypatch.setattr(random_calls, "what_is_missing", lambda: None)
    monkeypatch.setattr(random_calls, "measure_call", measure_call)
    monkeypatch.setattr(random_calls.time, "perf_counter", lambda: next(seconds))


def written(path, calls):
    path.write_text("# seed 3\n" + "".join(f"{call}\n" for call in calls), encoding="utf-8")
    return path


def test_the_calls_of_a_seed_are_the_same():
    assert [choose(3, number) for number in range(1000)] == CALLS
    assert choose(3, 5) != choose(4, 5)
    assert {name for name, _, _ in CALLS} == set(OPERATIONS)
    assert len({(name, str(arguments)) for name, arguments, _ in CALLS}) == len(CALLS)


def test_arguments_are_in_bounds():
    arrays = [value for _, arguments, _ in CALLS for value in arguments.values()]
    for value in arrays:
        if isinstance(value, Array):
            assert math.prod(value.shape) <= 2**28
            assert min(value.shape) > 0
            if value.layout == "permuted":
                assert sorted(value.axes) == list(range(len(value.shape)))
        elif isinstance(value, Index):
            assert min(*value.shape, value.end, value.step) > 0
        elif isinstance(value, Offsets):
            assert 0 < value.parts <= value.n
    for name, arguments, _ in CALLS:
        if name in ("saxpy", "fma", "copyto"):
            assert len({value.shape for value in arguments.values()}) == 1
            assert 2**15 <= math.prod(arguments["x"].shape) <= 2**25
            assert arguments["out"].layout != "repeated"
        elif name == "compress":
            assert arguments["mask"].shape == arguments["x"].shape
    assert {len(value.shape) for value in arrays if isinstance(value, Array)} == {1, 2, 3, 4}


def test_a_file_has_a_line_for_each_call(without_a_gpu, tmp_path, capsys):
    main(["--seed", "3", "--seconds", "40", "--out", str(tmp_path)])
    calls = read(tmp_path / "random_calls.txt")
    assert [call.number for call in calls] == list(range(1, len(calls) + 1))
    assert [call.operation for call in calls] == [name for name, _, _ in CALLS[1 : len(calls) + 1]]
    assert all(call.ours == call.number + 1 and call.of_torch == 2 for call in calls)
    assert f"1 not measured: {CALLS[0][0]}: ValueError: no such layout" in capsys.readouterr().out
    assert read(written(tmp_path / "again.txt", calls)) == calls


def test_selected_operations_keep_their_numbers(without_a_gpu, tmp_path, capsys):
    main(["--seed", "3", "--seconds", "90", "--out", str(tmp_path), "--operation", "saxpy", "fma"])
    calls = read(tmp_path / "random_calls.txt")
    assert {call.operation for call in calls} == {"saxpy", "fma"}
    assert all(call.operation == CALLS[call.number][0] for call in calls)


def test_the_report_has_quantiles_and_the_worst_calls():
    times = np.random.default_rng(1).permutation(101)
    calls = [Call(k, "gather", f"x: {k}", 50.0, float(50 + time)) for k, time in enumerate(times)]
    slow = [Call(200 + k, "fma", f"y: {k}", 10.0 + k, 10.0) for k in range(1, 7)]
    lines = list(report([*calls, *slow]))
    assert "| gather | 101 | 1.00 | 1.10 | 1.50 | 2.00 | 2.90 |" in lines
    worst = [line for line in lines if line.startswith("| fma") and "y:" in line]
    assert worst[0] == "| fma | 206 | 16.0 | 0.62 | y: 6 |"
    assert len(worst) == random_calls.WORST
    assert not any(line.startswith("| gather") and "x:" in line for line in lines)


def test_two_files_are_compared_call_by_call(tmp_path, capsys):
    old = [Call(k, "saxpy", f"x: {k}; out: 1", 8.0, 9.0) for k in range(50)]
    new = [dataclasses.replace(call, ours=call.ours * 1.1) for call in old[:-2]]
    new[7] = dataclasses.replace(new[7], ours=1.0)
    new.append(Call(48, "saxpy", "something else", 8.0, 9.0))
    new.append(Call(60, "fma", "x: 1", 8.0, 9.0))
    written(tmp_path / "random_calls.txt", new)
    earlier = written(tmp_path / "old.txt", old)
    main(["--seconds", "0", "--out", str(tmp_path), "--against", str(earlier)])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("48 calls in both, of 50 old and 50 new ones.")
    mean = (1.1**47 / 8) ** (1 / 48)
    assert f"| saxpy | 48 | {mean:.3f} |" in lines[at:]
    changed = [line for line in lines[at:] if "x:" in line]
    assert changed[0] == "| saxpy | 7 | 1.0 | 0.12 | x: 7; out: 1 |"
    assert len(changed) == random_calls.CHANGED
    assert not any("fma" in line for line in lines[at:])


def test_files_without_a_common_call_have_no_mean():
    one, other = (Call(1, "fma", text, 8.0, 9.0) for text in ("x: 1", "x: 2"))
    assert next(compare([one], [other])) == "0 calls in both, of 1 old and 1 new ones."


def test_errors_are_messages(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "bad.txt").write_text("1 2 3\n")
    for arguments, message in (
        ([], "needs torch: pip install torch"),
        (["--seed", "-1"], "--seed must be 0 or more, got -1"),
        (["--against", str(tmp_path / "none.txt")], "none.txt"),
        (["--against", str(tmp_path / "bad.txt")], "bad.txt has a line that is no call: 1 2 3"),
        (["--operation", "take"], "invalid choice: 'take'"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["--out", str(tmp_path), *arguments])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
