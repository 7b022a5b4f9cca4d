# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The command line: reports, the cache, mistakes of users, Ctrl-C and closed pipes."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import gpukern
from gpukern.__main__ import main
from gpukern._cli import bar_chart, bench, info
from gpukern._cli import cache as cache_command

MODULE = [sys.executable, "-m", "gpukern"]
ENTRY = "0" * 64 + ".gpukern"


def run(*arguments, command=MODULE, **environment):
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture
def cache(tmp_path):
    """A cache with two programs, the smaller one used last, and another file."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for name, size, used in ((ENTRY, 300, 1e9), ("1" + ENTRY[1:], 20, 1.5e9)):
        (folder / name).write_bytes(bytes(size))
        os.utime(folder / name, (used, used))
    (folder / "notes.txt").write_text("not a program")
    return folder


def test_version_and_help():
    assert run("--version").stdout == f"gpukern {gpukern.__version__}\n"
    text = run("--help").stdout
    for word in ("info", "demo", "bench", "cache", "--version", "exit codes"):
        assert word in text
    for command, option in (("info", "--json"), ("bench", "--plot"), ("cache", "clear")):
        assert option in run(command, "--help").stdout


def test_the_entry_point_is_the_command():
    script = os.path.join(sysconfig.get_path("scripts"), "gpukern")
    if not os.path.exists(script):
        pytest.skip("gpukern is not installed by pip")
    assert run("--version", command=[script]).stdout == run("--version").stdout
    assert run("cache", command=[script]).returncode == 2


def test_info_as_json_is_info():
    found = json.loads(run("info", "--json").stdout)
    assert found.pop("missing") == info.missing(gpukern.info())
    assert found.keys() == gpukern.info().keys()
    assert found["version"] == gpukern.__version__


COMPLETE = {
    "cuda": {"built": True, "driver_version": "13.0", "reason": ""},
    "devices": [{}],
    "nvrtc": {"version": "13.0", "reason": ""},
    "cache": {"directory": "/cache"},
}


@pytest.mark.parametrize(
    ("change", "what", "how"),
    [
        ({"cuda": {"built": False, "reason": "because"}}, "CUDA", "GPUKERN_CUDA=ON"),
        (
            {"cuda": {"built": True, "driver_version": None, "reason": "because"}, "devices": []},
            "GPU",
            "driver",
        ),
        (
            {"cuda": {**COMPLETE["cuda"], "reason": "because"}, "devices": []},
            "GPU",
            "CUDA_VISIBLE_DEVICES",
        ),
        ({"nvrtc": {"version": None, "reason": "because"}}, "NVRTC", "gpukern[nvrtc]"),
    ],
)
def test_what_is_missing_and_how_to_get_it(change, what, how):
    assert info.missing(COMPLETE) == []
    (found,) = info.missing({**COMPLETE, **change})
    assert found["what"] == what
    assert found["why"] == "because"
    assert how in found["how"]


def test_a_cache_on_disk_is_missing_or_has_a_wrong_limit():
    (found,) = info.missing({**COMPLETE, "cache": {"directory": None}})
    assert (found["what"], found["why"]) == ("cache on disk", "programs are cached in memory only")
    assert "GPUKERN_CACHE_DIR" in found["how"]
    printed = run("info", GPUKERN_CACHE_LIMIT="much")
    wrong = "Compiled programs: GPUKERN_CACHE_LIMIT must be a number of bytes, got much\n"
    assert printed.returncode == 0
    assert wrong in printed.stdout
    assert "No cache on disk" not in printed.stdout


def test_info_prints_names_that_the_output_cannot_encode(tmp_path):
    folder = tmp_path / "\u00e9"
    folder.mkdir(mode=0o700)
    for encoding, name in (("ascii", "/\\xe9, at most"), ("utf-8", "/\u00e9, at most")):
        printed = subprocess.run(
            [*MODULE, "info"],
            capture_output=True,
            check=False,
            env={**os.environ, "GPUKERN_CACHE_DIR": str(folder), "PYTHONIOENCODING": encoding},
        )
        assert (printed.returncode, printed.stderr) == (0, b"")
        assert name.encode() in printed.stdout


def test_info_names_what_is_missing():
    printed = run("info", GPUKERN_CACHE_DIR="off").stdout
    for each in info.missing(gpukern.info()):
        assert f"No {each['what']}: {each['why']}\n    {each['how']}\n" in printed


@pytest.mark.thread_unsafe(reason="a cache is cleared")
def test_the_cache_is_listed_measured_and_cleared(cache):
    folder = {"GPUKERN_CACHE_DIR": str(cache)}
    lines = run("cache", "list", **folder).stdout.splitlines()
    assert [line.split()[-2:] for line in lines] == [["20", "1" + ENTRY[1:]], ["300", ENTRY]]
    assert re.match(r"2017-07-1\d \d\d:\d\d ", lines[0])
    size = run("cache", "size", **folder).stdout
    assert size.startswith(f"2 files of 320 bytes in {cache}, at most ")
    cleared = run("cache", "clear", **folder)
    assert (cleared.returncode, cleared.stdout) == (0, "removed 2 of 2 files\n")
    assert [path.name for path in cache.iterdir()] == ["notes.txt"]
    assert run("cache", "list", **folder).stdout == ""


def test_a_cache_that_is_not_there(tmp_path):
    for action in ("list", "size", "clear"):
        found = run("cache", action, GPUKERN_CACHE_DIR=str(tmp_path / "none"))
        assert (found.returncode, found.stderr) == (0, "")
        found = run("cache", action, GPUKERN_CACHE_DIR="off")
        assert found.returncode == 0
        assert "in memory only" in found.stdout


def test_files_that_cannot_be_removed(monkeypatch, capsys):
    monkeypatch.setattr(cache_command, "cache_info", lambda: {"directory": "/cache", "entries": 2})
    monkeypatch.setattr(cache_command, "clear_cache", lambda: None)
    assert main(["cache", "clear"]) == 1
    assert capsys.readouterr().out == "removed 0 of 2 files\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("info", "--yaml"),
        ("cache",),
        ("cache", "empty"),
        ("bench", "--shrink", "0"),
        ("bench", "--plot", "rates.png"),
        ("bench", "--plot", "/no/such/folder/rates.svg"),
    ],
)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    assert capsys.readouterr().err.startswith("usage: gpukern")


@pytest.mark.parametrize("closed", ["info >&-", "--version >&-", "bench --shrink 100000 2>&-"])
def test_a_closed_output(closed):
    found = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m gpukern {closed}', sys.executable],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")


def test_a_picture_that_cannot_be_written_is_wrong_usage(tmp_path, capsys):
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "file").touch()
    for path in ("folder.svg", "file/rates.svg"):
        with pytest.raises(SystemExit, match=r"^2$"):
            main(["bench", "--plot", str(tmp_path / path)])
        assert capsys.readouterr().err.endswith(f"{path}' is no file that can be written to\n")


def test_an_error_is_one_line():
    found = run("cache", "size", GPUKERN_CACHE_LIMIT="much")
    assert found.returncode == 1
    assert re.fullmatch(r"gpukern: GPUKERN_CACHE_LIMIT must be .*\n", found.stderr)
    found = run("cache", "size", GPUKERN_CACHE_DIR="/no/such/\u00e9", PYTHONIOENCODING="ascii")
    assert found.returncode == 1
    assert re.fullmatch(r"gpukern: 'ascii' codec can't encode .*\n", found.stderr)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            PermissionError(13, "Permission denied", "x.svg"),
            "[Errno 13] Permission denied: 'x.svg'",
        ),
        (MemoryError(), "out of memory"),
    ],
)
def test_errors_of_the_machine(error, line, capsys, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(bench, "bench", fail)
    assert main(["bench"]) == 1
    assert capsys.readouterr().err == f"gpukern: {line}\n"


def test_a_defect_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(bench, "bench", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["bench"])


@pytest.mark.alone
def test_ctrl_c():
    with subprocess.Popen(
        [*MODULE, "bench"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell lets its background jobs ignore Ctrl-C, and the tests may be one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            process.stdout.readline()  # it has begun
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors == "\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["info", "--help", "bench --shrink 100000"])
def test_a_closed_pipe(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        found = subprocess.run(
            [*MODULE, *arguments.split()],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert found.stderr == b""
    assert found.returncode == 141


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--version", "info --help", "info", "cache size"])
def test_an_output_that_cannot_be_written(arguments, unbuffered):
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [*MODULE, *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (found.returncode, found.stderr) == (1, "gpukern: [Errno 28] No space left on device\n")


def test_bench_draws_its_rates(tmp_path, capsys):
    path = tmp_path / "rates.svg"
    assert main(["bench", "--shrink", "100000", "--plot", str(path)]) == 0
    texts = [each.text for each in ElementTree.parse(path).findall(".//{*}text")]
    printed = capsys.readouterr().out
    assert texts[0] == printed.splitlines()[0]
    for title in re.findall(r"^(?:saxpy|gather) of .*$", printed, re.MULTILINE):
        assert title in texts
    for rate in re.findall(r" (\d+\.\d\d)$", printed, re.MULTILINE):
        assert rate in texts


def test_bars_are_as_long_as_rates():
    drawing = bar_chart.svg("<&>", [("one", "GB/s", {"a": 10.0, "b": 5.0}), ("two", "s", {"a": 2})])
    root = ElementTree.fromstring(drawing)
    bars = root.findall("{*}rect")[1:]  # after the background
    lengths = [float(bar.get("width")) for bar in bars]
    assert np.allclose(np.array(lengths) / bar_chart.LONGEST, [1, 0.5, 1])
    assert root.find("{*}text").text == "<&>"
    bottom = max(float(bar.get("y")) + float(bar.get("height")) for bar in bars)
    assert bottom <= float(root.get("height"))
