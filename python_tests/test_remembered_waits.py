# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Which waits for other GPUs a table remembers, on GPUs in software."""

import os
import subprocess
import sys

import pytest
from commands import compiler
from conftest import WITHOUT_GPU
from test_gpus_in_software import FAKE

import gpukern

pytestmark = [
    pytest.mark.skipif(not WITHOUT_GPU, reason="there is a GPU"),
    pytest.mark.skipif(not FAKE, reason="GPUKERN_TEST_FAKE_GPU names no library"),
    pytest.mark.thread_unsafe(reason="starts processes"),
]

# Before the functions of the library: one stream may capture, and waits are counted.
OBSERVER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gpukern/gpukern.h>
#include <gpukern/stream.h>

void *capturing = (void *)-1;
int waits;

gpukern_status gpukern_stream_capture(gpukern_device device, void *stream, uint64_t *capture) {
  *capture = stream == capturing;
  return GPUKERN_SUCCESS;
}

gpukern_status gpukern_stream_wait_event(gpukern_device device, void *stream,
                                         const gpukern_event *event) {
  gpukern_status (*next)(gpukern_device, void *, const gpukern_event *);
  if (stream == capturing || event == NULL) return GPUKERN_SUCCESS;
  ++waits;
  *(void **)&next = dlsym(RTLD_NEXT, "gpukern_stream_wait_event");
  return next(device, stream, event);
}
"""

PROGRAM = """
import ctypes
import os
import threading

import gpukern
import numpy as np
from gpukern import distributed

observer = ctypes.CDLL(os.environ["OBSERVER"])
capturing = ctypes.c_void_p.in_dll(observer, "capturing")
waits = ctypes.c_int.in_dll(observer, "waits")

class Stream:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle

table = distributed.empty((100,), "f4", devices=[0, 1])
reader, writer = Stream(0x1000), Stream(0x2000)

def write():
    gpukern.scatter(table.on(0), np.arange(100), 1.0, mode="clip", stream=writer)

def read():
    gpukern.gather(table.on(0), np.arange(100), mode="clip", stream=writer)

def waits_of_read(stream):
    before = waits.value
    gpukern.gather(table.on(1), np.arange(100), mode="clip", stream=stream)
    return waits.value - before

"""


@pytest.fixture(scope="module")
def observer(tmp_path_factory):
    source = tmp_path_factory.mktemp("observer") / "observer.c"
    source.write_text(OBSERVER)
    library = source.with_suffix(".so")
    flags = ["-shared", "-fPIC", f"-I{gpukern.get_include()}", "-ldl"]
    subprocess.run([*compiler("CC"), source, *flags, "-o", library], check=True)
    return str(library)


@pytest.mark.parametrize(
    "program",
    [
        # A lasting stream waits once for each write.
        "write(); assert [waits_of_read(reader) for _ in range(3)] == [1, 0, 0]",
        # Not for a read on the other GPU, which a write has to wait for.
        "write(); waits_of_read(reader); read(); assert waits_of_read(reader) == 0\n"
        "before = waits.value; write(); assert waits.value == before + 1\n"
        "assert [waits_of_read(reader) for _ in range(2)] == [1, 0]",
        # During a capture it does not wait, and so has to after it.
        "write(); capturing.value = 0x1000; assert waits_of_read(reader) == 0\n"
        "capturing.value = -1; assert [waits_of_read(reader) for _ in range(2)] == [1, 0]",
        # No event comes behind a write while its stream captures.
        "write(); capturing.value = 0x2000; assert waits_of_read(reader) == 0\n"
        "capturing.value = -1; assert [waits_of_read(reader) for _ in range(2)] == [1, 0]",
        # A number may name another stream at each call, and 2 does on each thread. The release of
        # a result waits as well, each time.
        "write(); assert len({waits_of_read(0x3000) for _ in range(3)}) == 1",
        "write(); found = [waits_of_read(2)]\n"
        "thread = threading.Thread(target=lambda: found.append(waits_of_read(2)))\n"
        "thread.start(); thread.join(); assert found[0] == found[1] > 0",
    ],
    ids=["lasting", "readers", "capturing", "writer captures", "number", "per thread"],
)
def test_only_waits_that_happened_are_remembered(observer, program):
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{observer}:{FAKE}",
        "OBSERVER": observer,
        "GPUKERN_FAKE_GPUS": "2",
        "GPUKERN_NCCL": "",
    }
    subprocess.run([sys.executable, "-c", PROGRAM + program], env=environment, check=True)
