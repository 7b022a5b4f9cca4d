# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""host_table on groups of threads."""

import mmap
import os

import numpy as np
import pytest
from ranks import on_ranks

import gpukern
from gpukern import distributed
from gpukern.distributed import host


@pytest.mark.parametrize("shape", [2**60, (2**40, 2**40), (2**32, 2**32), 2**63 - 1, 2**200])
def test_host_table_of_a_size_that_cannot_be(shape, monkeypatch):
    def call(group):
        with pytest.raises(MemoryError, match="bytes that this host can have"):
            distributed.host_table(shape, "f8", group)
        return True

    monkeypatch.delattr(os, "memfd_create")  # no memory is reserved
    assert on_ranks(call, 2) == [True] * 2


@pytest.mark.parametrize("dtype", ["S0", "V0", "f4"])
@pytest.mark.parametrize("shape", [3, (2, 0)])
def test_host_table_of_no_bytes(shape, dtype):
    table = distributed.host_table(shape, dtype, distributed.threads(1)[0])
    assert (table.shape, table.dtype) == (np.empty(shape).shape, np.dtype(dtype))


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/", "memory.max"),
        ("0::/outer/inner", "outer/memory.max"),
        ("0::/outer/inner", "outer/inner/memory.max"),
        ("5:cpu,cpuacct:/x\n4:memory:/job", "memory/job/memory.limit_in_bytes"),
        ("4:memory:/of/the/host", "memory/memory.limit_in_bytes"),  # in a container
    ],
)
def test_host_table_keeps_the_limit_of_a_control_group(line, file, tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.write_text(f"{line}\n")
    for each, text in (("memory.max", "max\n"), (file, "1000\n")):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text(text)
    monkeypatch.setattr(host, "CGROUPS", tmp_path)
    monkeypatch.setattr(host, "OWN_CGROUPS", own)
    with pytest.raises(MemoryError, match="1001 bytes exceed the 1000 bytes"):
        distributed.host_table(1001, "u1", distributed.threads(1)[0])
    assert len(distributed.host_table(1000, "u1", distributed.threads(1)[0])) == 1000


def test_host_table_closes_its_memory(monkeypatch):
    def fail(*args):
        raise ValueError("failed")

    def call(group):
        error = gpukern.errors.GpukernCancelledError if group.rank else ValueError
        with pytest.raises(error, match="failed"):
            distributed.host_table(9, "u1", group)
        return True

    before = len(os.listdir("/proc/self/fd"))
    for module, name in [(os, "posix_fallocate"), (mmap, "mmap")]:
        with monkeypatch.context() as context:
            context.setattr(module, name, fail)
            assert on_ranks(call, 2) == [True] * 2
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.thread_unsafe(reason="counts the files of the process")
def test_host_table_of_threads():
    def call(group):
        table = distributed.host_table((4, 3), np.int32, group)
        table[group.rank] = group.rank + 1
        group.all_gather(b"")
        assert not table[2:].any()
        with pytest.raises(ValueError, match="the calls of the ranks differ"):
            distributed.host_table(3 + group.rank, "f4", group)
        return gpukern.gather(table, [1, 0])[:, 0].tolist()

    before = len(os.listdir("/proc/self/fd"))
    assert on_ranks(call, 2) == [[2, 1]] * 2
    assert len(os.listdir("/proc/self/fd")) == before


def test_host_table_without_memory(monkeypatch):
    def call(group):
        message = "host_table: this host has no memory for 9 bytes: Cannot allocate"
        with pytest.raises(MemoryError, match=message):
            distributed.host_table(9, "u1", group)
        return True

    monkeypatch.setattr(host, "SPARE", 2**60)
    assert on_ranks(call, 2) == [True] * 2
