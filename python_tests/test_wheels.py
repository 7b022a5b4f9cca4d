# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The machinery of `make wheels`, without a build of a wheel."""

import hashlib
import http.client
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import files, version
from pathlib import Path

import pytest
from commands import compiler

import gpukern

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools" / "wheels"
LIBRARY = Path(gpukern.get_library_dir(), "libgpukern.so")


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(TOOLS), str(ROOT / "build_backend"), *sys.path])


@pytest.fixture
def toolkit(tmp_path):
    """A CUDA toolkit that consists of two headers."""
    include = tmp_path / "cuda" / "include"
    cccl = include / "cccl" / "cuda" / "std" / "__cccl"
    cccl.mkdir(parents=True)
    (cccl / "version.h").write_text("#define CCCL_VERSION 3001002\n")
    (include / "cuda_runtime_api.h").write_text("#define CUDART_VERSION  13010\n")
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.touch()
    return nvcc


def test_bill_lists_what_is_compiled_in(toolkit, tmp_path):
    import gpukern_sbom

    library = tmp_path / "libgpukern.so"
    library.write_bytes(b"linked statically")
    cache = {"CMAKE_CUDA_COMPILER": str(toolkit), "CMAKE_CXX_COMPILER": "/nowhere/g++"}
    gpukern_sbom.write_bill(tmp_path / "sboms", "1.2.3", library, cache)
    text = (tmp_path / "sboms" / "gpukern.cdx.json").read_text()
    bill = json.loads(text)
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/gpukern@1.2.3"
    versions = {each["name"]: each.get("version") for each in bill["components"]}
    assert versions["CUDA Runtime"] == "13.1"
    assert versions["CCCL"] == "3.1.2"
    assert {"Cython", "NVTX", "NumPy", "libstdc++"} <= set(versions)
    assert bill["dependencies"][0]["dependsOn"] == [each["name"] for each in bill["components"]]
    assert str(tmp_path) not in text
    for each in bill["components"]:
        assert each["licenses"][0]["expression"]
        for named in each.get("properties", []):
            assert (ROOT / named["value"]).is_file()
    gpukern_sbom.write_bill(tmp_path / "sboms", "1.2.3", library, cache)
    assert (tmp_path / "sboms" / "gpukern.cdx.json").read_text() == text


def test_bill_of_a_library_for_the_cpu():
    import gpukern_sbom

    bill = gpukern_sbom.bill("1", LIBRARY, {"CMAKE_CXX_COMPILER": "c++"})
    names = {each["name"] for each in bill["components"]}
    assert not names & {"CUDA Runtime", "CCCL", "NVTX"}


def test_installed_package_has_the_bill_and_the_licenses():
    installed = {str(path).partition(".dist-info/")[2] for path in files("gpukern")}
    if not any(name.endswith("libgpukern.so") for name in map(str, files("gpukern"))):
        pytest.skip("an editable install is no wheel")
    texts = {f"licenses/licenses/{path.name}" for path in (ROOT / "licenses").iterdir()}
    assert texts | {"licenses/LICENSE", "sboms/gpukern.cdx.json"} <= installed
    [path] = [path for path in files("gpukern") if path.name == "gpukern.cdx.json"]
    bill = json.loads(path.locate().read_text())
    assert bill["metadata"]["component"]["version"] == version("gpukern")
    names = {each["name"] for each in bill["components"]}
    assert ("CUDA Runtime" in names) == gpukern.info()["cuda"]["built"]


def make_wheel(folder, **files_by_name):
    """Return a wheel with all that is needed, but for the files that are replaced or None."""
    info = "gpukern-1.dist-info"
    contents = {
        f"{info}/METADATA": "",
        f"{info}/licenses/LICENSE": "",
        **{f"{info}/licenses/licenses/{path.name}": "" for path in (ROOT / "licenses").iterdir()},
        f"{info}/sboms/gpukern.cdx.json": '{"components": [{}]}',
        "gpukern/lib/libgpukern.so": "",
    }
    for name, content in files_by_name.items():
        contents[next((key for key in contents if key.endswith(name)), name)] = content
    wheel = folder / "gpukern-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)
    return wheel


@pytest.mark.parametrize(
    ("replaced", "problem"),
    [
        ({}, None),
        ({"CUDA-EULA.txt": None}, "the license licenses/CUDA-EULA.txt is missing"),
        ({"exception-3.1.txt": None}, "the license licenses/GCC-exception-3.1.txt is missing"),
        ({"gpukern.cdx.json": None}, "the bill of materials is missing"),
        ({"gpukern.cdx.json": '{"components": []}'}, "the bill of materials is empty"),
        ({"gpukern.libs/libz.so": ""}, "holds libraries of the machine: gpukern.libs/libz.so"),
        ({"libgpukern.so": "\0/source/file.cpp"}, "gpukern/lib/libgpukern.so names /source"),
    ],
)
def test_audit_of_a_wheel(replaced, problem, tmp_path):
    import audit

    found = list(audit.problems(make_wheel(tmp_path, **replaced), ["/source"]))
    assert found == ([] if problem is None else [problem])


def test_symbols_that_no_library_has(tmp_path):
    import audit

    pytest.importorskip("elftools")
    source = tmp_path / "source.c"
    source.write_text("int puts(const char *), nowhere(); int f() { return puts(0) + nowhere(); }")
    built = tmp_path / "built.so"
    subprocess.run([*compiler("CC"), "-shared", "-fPIC", source, "-o", built], check=True)
    assert audit.missing_symbols(built.read_bytes()) == ["nowhere"]


def test_audit_of_the_size(tmp_path, monkeypatch):
    import audit

    monkeypatch.setattr(audit, "MAX_BYTES", 10)
    [problem] = audit.problems(make_wheel(tmp_path))
    assert "MB; at most" in problem


def test_interpreters_are_found_by_tag(tmp_path):
    import pythons

    tag = pythons.tag_of(sys.executable)
    assert tag.startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}")
    assert pythons.find([sys.executable]) == {tag: sys.executable}
    # Commands run in other folders.
    assert pythons.find([os.path.relpath(sys.executable)]) == {tag: sys.executable}
    with pytest.raises(SystemExit, match="is not a CPython of"):
        pythons.find([str(tmp_path / "python3")])


def test_check_refuses_an_empty_folder(tmp_path, monkeypatch):
    import check

    monkeypatch.setattr(check, "DIST", tmp_path)
    monkeypatch.setattr(sys, "argv", ["check.py"])
    with pytest.raises(SystemExit, match="no wheel of a Python that is present"):
        check.main()


@pytest.mark.parametrize(("named", "refused"), [([], False), (["3.11", "3.12"], True)])
def test_check_refuses_a_named_python_without_a_wheel(named, refused, tmp_path, monkeypatch):
    import check

    make_wheel(tmp_path)  # of cp311
    monkeypatch.setattr(check, "DIST", tmp_path)
    monkeypatch.setattr(check.pythons, "find", lambda *_: {"cp311": "3.11", "cp312": "3.12"})
    monkeypatch.setattr(check, "check_wheel", lambda *_: None)
    monkeypatch.setattr(check, "check_sdist", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["check.py", *named])
    if not refused:
        check.main()
        return
    with pytest.raises(SystemExit, match="no wheel for cp312"):
        check.main()


def test_sysroot_refuses_another_package(tmp_path, monkeypatch):
    import sysroot

    (tmp_path / "libc6.deb").write_bytes(b"not the pinned one")
    with pytest.raises(SystemExit, match="not the package that is pinned"):
        sysroot.download("pool/libc6.deb", "0" * 64, tmp_path)
    assert not (tmp_path / "libc6.deb").exists()


def test_sysroot_asks_the_next_server_after_a_broken_download(tmp_path, monkeypatch):
    import sysroot

    class Answer(io.BytesIO):
        def read(self):
            data = super().read()
            if data == b"part":
                raise http.client.IncompleteRead(data)
            return data

    answers = [Answer(b"part"), Answer(b"whole")]
    monkeypatch.setattr(sysroot.urllib.request, "urlopen", lambda *_, **__: answers.pop(0))
    digest = hashlib.sha256(b"whole").hexdigest()
    assert sysroot.download("pool/libc6.deb", digest, tmp_path).read_bytes() == b"whole"


def test_sysroot_names_no_file_of_the_machine(tmp_path):
    import sysroot

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libm.so.6").write_text("of the sysroot")
    (tmp_path / "libm.so").symlink_to("/lib/libm.so.6")
    sysroot.make_links_relative(tmp_path)
    assert os.readlink(tmp_path / "libm.so") == "lib/libm.so.6"
    assert (tmp_path / "libm.so").read_text() == "of the sysroot"


def test_requirements_are_pinned_by_hashes():
    for path in sorted(TOOLS.glob("*requirements.txt")):
        text = re.sub(r"\\\n", "", path.read_text(encoding="utf-8"))
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert lines
        assert all(
            re.match(r"[\w.-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", line) for line in lines
        )


def build_sdist(folder):
    folder.mkdir()
    command = [
        sys.executable,
        "-c",
        "import gpukern_build, sys; gpukern_build.build_sdist(sys.argv[1])",
        str(folder),
    ]
    path = os.pathsep.join([str(ROOT / "build_backend"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    [archive] = folder.glob("*.tar.gz")
    return archive


def test_sdist_holds_what_a_build_needs(tmp_path):
    pytest.importorskip("setuptools")
    archive = build_sdist(tmp_path / "first")
    assert archive.read_bytes() == build_sdist(tmp_path / "second").read_bytes()
    with tarfile.open(archive) as contents:
        inside = {name.partition("/")[2] for name in contents.getnames()}
    needed = ["setup.py", "pyproject.toml", "LICENSE", "licenses/CUDA-EULA.txt", "CMakeLists.txt"]
    needed += ["src", "cuda", "include", "cmake", "build_backend"]
    needed += ["cython/gpukern/__init__.py", "tools/wheels/build.py", "python_tests/conftest.py"]
    assert set(needed) <= inside
    assert not [name for name in inside if name.endswith((".so", ".o", ".pyc")) or "/lib/" in name]


@pytest.mark.parametrize(
    ("flags", "described"), [("", False), ("-O2", False), ("-g", True), ("-O1 -g1", True)]
)
def test_modules_have_debugging_information_if_the_environment_asks(flags, described):
    pytest.importorskip("setuptools")
    program = (
        "import runpy, setuptools\n"
        "setuptools.setup = lambda **given: print(*given['ext_modules'][0].extra_compile_args)\n"
        "runpy.run_path('setup.py')\n"
    )
    environment = {**os.environ, "CFLAGS": "", "CXXFLAGS": flags}
    command = [sys.executable, "-c", program]
    used = subprocess.check_output(command, cwd=ROOT, env=environment, text=True).split()
    assert ("-g0" not in used) == described
