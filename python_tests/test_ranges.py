# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""NVTX ranges, as a profiler's library receives them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import compiler
from nvrtc import needs_nvrtc

from gpukern._program.program import nvrtc_directories

PROFILER = """
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char ours, others;

static void note(nvtxDomainHandle_t domain, const char *what) {
  if ((char *)domain != &ours) return;
  FILE *file = fopen(getenv("RANGES"), "a");
  fprintf(file, "%s\\n", what);
  fclose(file);
}

static nvtxDomainHandle_t create(const char *name) {
  return (nvtxDomainHandle_t)(strcmp(name, "gpukern") == 0 ? &ours : &others);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  note(domain, event->message.ascii);
  return 0;
}

static int pop(nvtxDomainHandle_t domain) {
  note(domain, "end");
  return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  const NvtxExportTableCallbacks *callbacks = table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions = NULL;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, NULL)) return 0;
  *functions[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
"""

PROGRAM = """
import gpukern
import numpy as np

SOURCE = 'extern "C" __global__ void add_one(float *x) { x[threadIdx.x] += 1; }'
"""


@pytest.fixture(scope="module")
def profiler(tmp_path_factory):
    """A library that writes the names of gpukern's ranges to the file $RANGES."""
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", *nvrtc_directories()]
    include = [
        Path(root, "include")
        for root in roots
        if root and Path(root, "include", "nvtx3", "nvToolsExt.h").exists()
    ]
    if not include:
        pytest.skip("no headers of NVTX")
    folder = tmp_path_factory.mktemp("profiler")
    source, library = folder / "profiler.c", folder / "profiler.so"
    source.write_text(PROFILER)
    command = [*compiler("CC"), "-shared", "-fPIC", f"-I{include[0]}", source, "-o", library]
    subprocess.run(command, check=True)
    return library


@pytest.fixture
def ranges(profiler, tmp_path):
    """The ranges that a program begins, and their ends, in order."""

    def run(code):
        file = tmp_path / "ranges"
        environment = {
            **os.environ,
            "NVTX_INJECTION64_PATH": str(profiler),
            "RANGES": str(file),
            "GPUKERN_CACHE_DIR": str(tmp_path / "cache"),
        }
        subprocess.run([sys.executable, "-c", PROGRAM + code], check=True, env=environment)
        return file.read_text().splitlines()

    return run


@pytest.mark.thread_unsafe(reason="the threads share a file")
@needs_nvrtc
def test_a_compilation_has_a_range(ranges):
    code = "for _ in range(2): gpukern.Program(SOURCE, architecture='sm_90')"
    assert ranges(code) == ["compile", "end"]


@pytest.mark.gpu
@needs_nvrtc
def test_loads_and_launches_have_ranges(ranges):
    code = """
x = gpukern.to_device(np.zeros(32, np.float32))
kernel = gpukern.Program(SOURCE).kernel("add_one")
for _ in range(2):
    kernel[1, 32](x)
"""
    assert ranges(code) == ["compile", "end", "load", "end"] + ["add_one", "end"] * 2


@pytest.mark.gpu
def test_chunks_have_ranges(ranges):
    code = """
x = np.zeros(1 << 24, np.float32)
gpukern.saxpy(2.0, x, x, device="cuda")
"""
    found = ranges(code)
    chunks = found.count("saxpy: chunk")
    assert chunks > 1
    assert found.count("wait for chunk") == chunks
    assert found.count("end") == 2 * chunks
