# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""tools/check_types.py finds the package that it compares with the stubs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / "tools"
SPEC = importlib.util.spec_from_file_location("check_types", TOOLS / "check_types.py")
check_types = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_types)


def test_the_package_is_that_of_the_environment(tmp_path, monkeypatch):
    python = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path)]
    subprocess.run(python, check=True)
    monkeypatch.setenv("VENV", str(tmp_path))
    assert check_types.packages() is None
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    command = [tmp_path / "bin" / "python", "-c", ask]
    folder = subprocess.check_output(command, text=True).strip()
    Path(folder, "gpukern").mkdir()
    assert check_types.packages() == folder
