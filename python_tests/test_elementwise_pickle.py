# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions go to other processes and into copies."""

import copy
import math
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import gpukern
from gpukern._elementwise.frontend import ufuncs

FACTOR = np.float32(2.5)


@gpukern.elementwise
def clipped_sine(x, limit):
    """Sine, up to a limit."""
    y = np.sin(x) * FACTOR + math.sqrt(2)
    return y if abs(y) < limit else limit


class Holder:
    @staticmethod
    @gpukern.elementwise
    def doubled(x):
        return 2 * x


POLYNOMIAL = gpukern.elementwise("(a * 10 + 2) * b", name="polynomial", dtype="float32")


def sent(function):
    return pickle.loads(pickle.dumps(function))


def test_a_decorated_function_goes_by_its_name():
    assert sent(clipped_sine) is clipped_sine
    assert sent(Holder.doubled) is Holder.doubled


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_expression_goes_by_its_text(protocol):
    made = pickle.loads(pickle.dumps(POLYNOMIAL, protocol))
    a = np.arange(5.0)
    assert made(a, 2).dtype == np.float32
    np.testing.assert_array_equal(made(a, 2), POLYNOMIAL(a, 2))
    assert repr(made) == "<elementwise polynomial(a, b)>"
    assert made.source("f4", "f4") == POLYNOMIAL.source("f4", "f4")


def test_cuda_cpp_goes_along():
    f = gpukern.elementwise(
        "half_of(b) + a", inputs=["a", "b"], preamble="__device__ float half_of(float x);",
        options=["--fmad=true"],
    )  # fmt: skip
    made = sent(f)
    assert made.inputs == ("a", "b")
    assert made.source("f4", "f4") == f.source("f4", "f4")


def test_a_function_without_a_name_goes_by_its_graph(rng):
    scale = 3
    local = gpukern.elementwise(lambda x, y: np.hypot(x, y) * scale + math.sin(2) + abs(x))
    made = sent(local)
    x = rng.random(9)
    np.testing.assert_array_equal(made(x, 1), local(x, 1))
    assert made.result_dtype("f4", float) == local.result_dtype("f4", float)
    renamed = gpukern.elementwise(clipped_sine.__wrapped__, name="renamed")
    renamed.note = "kept"
    made = sent(renamed)
    assert (made.__name__, made.__doc__, made.note) == ("renamed", "Sine, up to a limit.", "kept")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0 < x < 3,
        lambda x: x == 1 or not x,
        lambda x: x > 1 and ~x,
        lambda x: x**2 % 3 << 1,
        lambda x: abs(min(x, 2)),
    ],
)
def test_operators_go_along(function):
    made = gpukern.elementwise(function)
    x = np.arange(5)
    np.testing.assert_array_equal(sent(made)(x), made(x))


@pytest.mark.parametrize("name", ufuncs.OPERATORS)
def test_every_operator_pickles(name):
    assert pickle.loads(pickle.dumps(ufuncs.OPERATORS[name]))


def test_shared_parts_of_a_long_function_stay_shared():
    def chain(x):
        y = x + x
        z = y * y
        return z + y

    assert len(sent(gpukern.elementwise(chain))._function.nodes) == 4
    graph = gpukern.elementwise(chain)._function
    root = graph.root
    for _ in range(3000):
        root = type(root)("add", (root, root))
    deep = type(graph)(name="deep", inputs=("x",), root=root, text="")
    assert len(pickle.loads(pickle.dumps(deep)).nodes) == 3004


def test_copies_are_the_function():
    assert copy.copy(POLYNOMIAL) is POLYNOMIAL
    assert copy.deepcopy([POLYNOMIAL])[0] is POLYNOMIAL


def test_process_pools():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        result = pool.submit(POLYNOMIAL, np.arange(3.0), 2).result()
    np.testing.assert_array_equal(result, POLYNOMIAL(np.arange(3.0), 2))
