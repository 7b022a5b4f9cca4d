# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions that were made before: in this process, and in another one."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import gpukern
from gpukern import elementwise
from gpukern._elementwise import cache_key, cuda_codegen
from gpukern._elementwise.frontend import type_resolution


def test_a_function_made_again_is_an_own_object():
    text = "a * 5 + b"
    one, two = elementwise(text), elementwise(text)
    assert two is not one
    assert two._function is one._function
    one.unit = "m"
    one.__name__ = "mine"
    assert (one.__name__, two.__name__, elementwise(text).__qualname__) == (
        "mine",
        "elementwise",
        "elementwise",
    )
    for other in (two, elementwise(text)):
        with pytest.raises(AttributeError, match="'Elementwise' object has no attribute 'unit'"):
            other.unit  # noqa: B018
    assert two.__module__ == type(two).__module__
    assert two(1, 2) == one(1, 2) == 7
    gpukern.clear_cache()
    assert elementwise(text)._function is not one._function


def test_what_is_equal_but_means_something_else_is_told_apart():
    assert elementwise("a * 6", dtype=np.float32)._function.dtype == "float32"
    assert elementwise("a * 6", dtype=">f4")._function.dtype == "float32"

    class Text(str):
        __slots__ = ()

        def __str__(self):
            return "a * 9"

    assert elementwise(Text("a * 6"))(7) == 42
    for _ in range(2):  # the first time, and when it was made before
        with pytest.raises(ValueError, match="expected a value"):
            elementwise("a *")
        with pytest.raises(TypeError, match="options must be a sequence of str"):
            elementwise("a * 6", options="--fmad=true")
        with pytest.raises(TypeError, match="preamble must be a str"):
            elementwise("a * 6", preamble=())
        with pytest.raises(TypeError, match=r"^elementwise: name must be a str, got int$"):
            elementwise("a * 6", name=3)
    with pytest.raises(TypeError, match=r"^elementwise: name must be a str, got bool$"):
        elementwise(lambda a: a, name=False)


def test_a_function_has_weak_references():
    made = elementwise("a * 7")
    names = weakref.WeakKeyDictionary({made: "sevenfold"})
    assert list(names.items()) == [(made, "sevenfold")]
    del made
    gc.collect()
    assert len(names) == 0


def test_many_functions_are_made():
    for i in range(1100):  # more than are kept
        assert elementwise(f"a + {i}")(1) == 1 + i


def test_the_key_of_a_kernel_tells_all_that_it_depends_on(monkeypatch):
    def key(*args, types=b"\x0b\0", **more):
        return cache_key.key(elementwise(*args, **more)._function, types)

    keys = [
        key("a + b"),
        key("a + b", types=b"\x0c\0"),
        key("a +  b"),
        key("a + b", inputs=("b", "a")),
        key("a + b", dtype="f8"),
        key("a + b", name="other"),
        key("a + b", preamble="// b"),
        key("a + b", options=("--fmad=true",)),
        key("a + b", options=("--fmad=true", "-G")),
    ]
    assert len(set(keys)) == len(keys)
    assert all(each.isascii() for each in keys)
    assert key("a + b") == keys[0]
    assert cache_key.key(elementwise(lambda a, b: a + b)._function, b"") is None
    monkeypatch.setattr(cache_key, "makers", lambda: "another release")
    assert key("a + b") != keys[0]
    monkeypatch.setattr(cache_key, "makers", lambda: None)  # from an archive
    assert key("a + b") is None


@pytest.mark.parametrize("limits", [[], [(0, 1, -128, 127)], [(0, 1, 0, 2**64 - 1), (1, 0, -1, 5)]])
def test_notes_come_back(limits):
    assert cache_key.from_note(cache_key.note("bfloat16", 4, limits)) == ("bfloat16", 4, limits)


CALLS = """
import sys
import weakref
import numpy as np
import gpukern

a, b = (gpukern.to_device(np.arange(n, n + 1000, dtype="i4")) for n in (1, 5))
f = gpukern.elementwise("a * 3 - b / k")
results = [f(a, b, 2), f(a, b, 2.5), f(a, b, 2, out=gpukern.empty(1000, "f4"))]
g = gpukern.elementwise("a < limit")
results += [g(a, 500), g(a, b), gpukern.elementwise("max(a, 7) ^ small")(a, 3)]
for small in (2**31, -(2**40)):
    try:
        gpukern.elementwise("max(a, 7) ^ small")(a, small)
    except OverflowError as error:
        print(error)
for result in results:
    print(result.dtype, result.numpy().tobytes().hex())
# What the cache does not have the kernel of: a broadcast operand, and the CPU.
print(f(a, gpukern.to_device(np.full(1, 4, "i4")), 2).numpy().tobytes().hex())
print(f(a.numpy(), b.numpy(), 2).tobytes().hex())
print(gpukern.cache_info()["misses"], file=sys.stderr)
"""


@pytest.mark.gpu
def test_kernels_from_disk_need_no_types_and_no_source(tmp_path):
    """A process that finds all its kernels gives what the one gave that compiled them."""
    environment = {**os.environ, "GPUKERN_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", CALLS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert "must be in" in runs[0].stdout
    assert [run.stderr for run in runs] == ["7\n", "0\n"]


def forget_memory(monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("GPUKERN_CACHE_DIR", "off")
        gpukern.clear_cache()


@pytest.mark.gpu
def test_a_kernel_of_the_cache_is_taken_without_its_source(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUKERN_CACHE_DIR", str(tmp_path / "cache"))
    x = gpukern.to_device(np.arange(300, dtype="f4"))
    expected = elementwise("x * 5 + 7")(x).numpy()
    forget_memory(monkeypatch)

    def refuse(*_):
        raise AssertionError("types and sources are in the cache")

    with monkeypatch.context() as without:
        without.setattr(cuda_codegen, "source", refuse)
        without.setattr(type_resolution, "typed", refuse)
        np.testing.assert_array_equal(elementwise("x * 5 + 7")(x).numpy(), expected)
    # What is damaged is compiled again.
    forget_memory(monkeypatch)
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    np.testing.assert_array_equal(elementwise("x * 5 + 7")(x).numpy(), expected)
    assert gpukern.cache_info()["rejected"] == 1
