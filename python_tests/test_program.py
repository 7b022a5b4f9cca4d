# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Programs: compiling, what they hold, and errors. NVRTC is needed, a GPU is not."""

import os
import subprocess
import sys

import pytest
from nvrtc import needs_nvrtc

import gpukern
from gpukern._program import signature
from gpukern._program.program import nvrtc_status

SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
"""


pytestmark = needs_nvrtc


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache for each test."""
    monkeypatch.setenv("GPUKERN_CACHE_DIR", str(tmp_path / "cache"))
    gpukern.clear_cache()
    return tmp_path / "cache"


def compiled(source=SAXPY, *, architecture="sm_90", **options):
    return gpukern.Program(source, architecture=architecture, **options)


def test_parts():
    program = compiled(name="mine.cu")
    assert program.architecture == "sm_90"
    assert ".target sm_90" in program.ptx
    assert program.cubin[:4] == b"\x7fELF"
    assert program.kernel_names == ("saxpy",)
    assert repr(program) == "<gpukern.Program mine.cu for sm_90>"
    assert compiled(architecture="compute_90").cubin == b""


def test_options_reach_the_compiler():
    assert "fma.rn" in compiled().ptx
    assert "fma.rn" not in compiled(options=["--fmad=false"]).ptx
    source = "#if N != 4 || __cplusplus < 202002L\n#error no\n#endif\n"
    compiled(source, options=("-DN=4", "--std=c++20"))


def test_headers(tmp_path):
    (tmp_path / "other.h").write_text("#define OTHER 2\n")
    source = '#include "one.h"\n#include "other.h"\nstatic_assert(ONE + OTHER == 3, "");\n'
    compiled(source, headers={"one.h": "#define ONE 1\n"}, options=[f"-I{tmp_path}"])
    compiled("#include <cuda_fp16.h>\n__global__ void f(__half *x) { *x = __hadd(*x, *x); }")


@pytest.mark.parametrize("header", ["mma.h", "cooperative_groups.h", "cooperative_groups/reduce.h"])
def test_cuda_headers_that_include_their_neighbours(header):
    try:
        compiled("#include <nv/target>\n__global__ void f() {}")
    except gpukern.CompileError:
        pytest.skip("the toolkit that is found has no headers of CCCL, which these include")
    compiled(f"#include <{header}>\n__global__ void f() {{}}")
    compiled('#include "a.h"\n__global__ void f() {}', headers={"a.h": f"#include <{header}>\n"})


def test_quoted_headers_find_their_neighbours(tmp_path, monkeypatch):
    (tmp_path / "inc/sub").mkdir(parents=True)
    (tmp_path / "inc/mine.h").write_text('#include "sub/near.h"\n')
    (tmp_path / "inc/sub/near.h").write_text('#include "nearest.h"\n')
    (tmp_path / "inc/sub/nearest.h").write_text('#include "memory.h"\n#define NEAREST 1\n')
    source = '#include "mine.h"\nstatic_assert(NEAREST + MEMORY == 2, "");\n'
    headers = {"memory.h": "#define MEMORY 1\n"}
    compiled(source, headers=headers, options=[f"-I{tmp_path}/inc"])
    # Not in the current directory: the cache could not tell.
    monkeypatch.chdir(tmp_path / "inc/sub")
    for text, more in (
        ('#include "nearest.h"', headers),
        ("#include <nearest.h>", headers),
        ('#include "a.h"', {"a.h": '#include "nearest.h"', **headers}),
        ("#include <a.h>", {"a.h": '#include "near.h"', **headers}),
    ):
        with pytest.raises(gpukern.CompileError, match=r"(could not|cannot) open"):
            compiled(text, headers=more)


def test_messages_name_sources_as_the_caller_does():
    for name in ("é.cu", "C:\\dir\\a b.cu", 'say "hi".cu', "/x/y.cu", "two\nlines"):
        with pytest.raises(gpukern.CompileError) as caught:
            compiled("\n#error here\n", name=name)
        assert caught.value.log.startswith(f"{name}(2)".replace("\n", " "))
        assert "/dev/null" not in caught.value.log
    with pytest.raises(gpukern.CompileError, match=r"sub/a\.h\(2\): .*here") as caught:
        compiled('#include "sub/a.h"', headers={"sub/a.h": "\n#error here"})
    assert "/dev/null" not in str(caught.value)
    source = 'static_assert(sizeof(__FILE__) == sizeof("my.cu") && __LINE__ == 1, "");'
    compiled(source, name="my.cu")


def test_a_tilde_in_the_cache_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, found in (("~/cc", f"{tmp_path}/cc"), ("~", str(tmp_path)), ("~x", "~x")):
        monkeypatch.setenv("GPUKERN_CACHE_DIR", given)
        assert gpukern.cache_info()["directory"] == found


def test_signature_of_what_nvrtc_makes():
    kinds = [each.kind for each in signature.parameters(compiled().ptx, "saxpy")]
    pointer, word = signature.POINTER, signature.WORD
    assert kinds == [signature.FLOAT, pointer, pointer, pointer, word]
    source = SAXPY.replace('extern "C" ', "")
    ptx = compiled(source).ptx
    entry = signature.entry_of(ptx, "saxpy")
    types = [each.type for each in signature.parameters(ptx, entry)]
    assert types == ["float", "float const*", "float const*", "float*", "unsigned long"]


def test_template_instances():
    source = "template <class T> __global__ void scale(T a, T *x) { *x *= a; }"
    program = compiled(source, name_expressions=["scale<float>", "scale<unsigned>"])
    assert len(program.kernel_names) == 2
    assert signature.entry_of(program.ptx, "scale<unsigned int>") is not None


def test_compile_errors_show_the_lines():
    with pytest.raises(gpukern.CompileError, match=r"wrong\.cu") as caught:
        compiled("__global__ void f() {\n  no_such_name = 1;\n}\n", name="wrong.cu")
    assert "no_such_name" in str(caught.value)
    assert "(2)" in str(caught.value)
    assert "no_such_name" in caught.value.log
    assert isinstance(caught.value, RuntimeError)


def test_warnings_are_in_the_log():
    assert "unused" in compiled("__global__ void f() { int unused; }").log


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"source": b"x"}, TypeError, "source must be a str, got bytes"),
        ({"source": "a\0b"}, ValueError, "source must hold no NUL"),
        ({"options": "--fmad=false"}, TypeError, "options must be a sequence of str"),
        ({"options": [1]}, TypeError, "options must be a str, got int"),
        ({"options": 5}, TypeError, "options must be a sequence of str"),
        ({"options": ["--no-such-option"]}, ValueError, "no-such-option"),
        ({"options": ["-arch=sm_80"]}, ValueError, "arch"),
        ({"options": ["--no-such-option"]}, ValueError, r"[^\n]\Z"),
        ({"options": {"-DN=1": 1}}, TypeError, "options must be a sequence of str, got dict"),
        ({"name": None}, TypeError, "name must be a str"),
        ({"name": 3}, TypeError, "name must be a str, got int"),
        ({"source": "// \udc80"}, ValueError, "source must be text that UTF-8 holds"),
        ({"headers": ["one.h"]}, TypeError, "headers must be a mapping"),
        ({"headers": {"one.h": 1}}, TypeError, "header's source must be a str"),
        ({"name_expressions": "f<int>"}, TypeError, "name_expressions must be a sequence"),
        ({"name_expressions": ["no_such<int>"]}, gpukern.CompileError, "no_such"),
        ({"architecture": "sm_1"}, ValueError, "sm_1"),
        ({"architecture": 90}, TypeError, "architecture must be a str"),
        ({"device": "cpu"}, ValueError, "device must be a CUDA device"),
        ({"device": 1.5}, TypeError, "device must be"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        gpukern.Program(**{"source": SAXPY, "architecture": "sm_90", **arguments})
    assert isinstance(caught.value, gpukern.GpukernError)


def test_kernels_that_are_not_there():
    program = compiled(SAXPY + "namespace n { __global__ void g(int) {} }")
    with pytest.raises(ValueError, match=r"has no kernel 'saxpi'; it has saxpy, n::g"):
        program.kernel("saxpi")
    with pytest.raises(TypeError, match="name must be a str"):
        program.kernel(b"saxpy")


@pytest.mark.skipif(bool(gpukern.info()["devices"]), reason="there is a GPU")
def test_without_a_gpu():
    with pytest.raises(
        gpukern.errors.GpukernDeviceError, match=r"name an architecture such as sm_90"
    ):
        gpukern.Program(SAXPY)
    with pytest.raises(gpukern.errors.GpukernDeviceError):
        compiled().kernel("saxpy")


def test_a_program_is_compiled_once():
    program = compiled()
    with pytest.raises(TypeError, match="compiled once"):
        program.__init__(SAXPY)


def test_cache_info(cache):
    before = gpukern.cache_info()
    assert {key: before[key] for key in ("memory_hits", "disk_hits", "misses")} == {
        "memory_hits": 0,
        "disk_hits": 0,
        "misses": 0,
    }
    assert before["directory"] == str(cache)
    compiled()
    compiled()
    after = gpukern.cache_info()
    assert (after["misses"], after["memory_hits"]) == (1, 1)
    assert after["entries"] == 1
    assert 0 < after["bytes"] <= after["limit_bytes"]


def test_another_process_finds_it_on_disk(cache):
    code = f"""
import gpukern
gpukern.Program({SAXPY!r}, architecture="sm_90")
print(gpukern.cache_info()["misses"], gpukern.cache_info()["disk_hits"])
"""
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [each.stdout.split() for each in found] == [["1", "0"], ["0", "1"]]


def test_no_cache_on_disk(monkeypatch):
    monkeypatch.setenv("GPUKERN_CACHE_DIR", "off")
    compiled()
    assert gpukern.cache_info()["directory"] is None


def test_nvrtc_is_described():
    found = nvrtc_status()
    assert found["version"].count(".") == 1
    assert os.path.isfile(found["path"])
    assert gpukern.info()["nvrtc"] == found


def test_the_command_shows_nvrtc_and_the_cache(cache):
    result = subprocess.run(
        [sys.executable, "-m", "gpukern", "info"], capture_output=True, text=True, check=True
    )
    assert "NVRTC: " in result.stdout
    assert f"Compiled programs: 0 files of 0 bytes in {cache}" in result.stdout
