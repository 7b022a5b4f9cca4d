# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments that are wrong on one rank, which are an error of all."""

import numpy as np
import pytest
from ranks import on_ranks, without_errors

import gpukern
from gpukern import distributed


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "must be one array, got a tuple", lambda t: gpukern.gather(t, ([0], [0]))),
        (TypeError, "must be one array", lambda t: gpukern.scatter(t, ([0], [0]), 1.0)),
        (ValueError, "neither device nor stream", lambda t: gpukern.gather(t, [0], device="cpu")),
        (ValueError, "neither device", lambda t: gpukern.scatter(t, [0], 1.0, device="cpu")),
        (TypeError, "is not supported", lambda t: gpukern.take_along_axis(t, [0])),
        (ValueError, "axis .* must be 0", lambda t: gpukern.gather(t, [0], axis=1)),
        (
            TypeError,
            "host_table: dtype: data type 'no such type' not understood",
            lambda t: distributed.host_table(3, "no such type", t.group),
        ),
        (
            TypeError,
            "empty: dtype: data type 'no such type' not understood",
            lambda t: distributed.empty(3, "no such type", t.group),
        ),
        (
            TypeError,
            "host_table: shape must be an integer, got 0.5",
            lambda t: distributed.host_table(0.5, "f4", t.group),
        ),
        (
            TypeError,
            "empty: shape must be an integer, got 'x'",
            lambda t: distributed.empty("x", "f4", t.group),
        ),
        (
            TypeError,
            "host_table: pinned must be a bool, got str",
            lambda t: distributed.host_table(3, "f4", t.group, pinned="no"),
        ),
        (
            TypeError,
            "scatter: unique must be a bool, got str",
            lambda t: gpukern.scatter(t, [0], 1.0, unique="no"),
        ),
        (
            TypeError,
            "array must not be a masked array",
            lambda t: distributed.from_local(np.ma.masked_array([1.0], [True]), t.group),
        ),
        (
            TypeError,
            "index must not be a masked array",
            lambda t: gpukern.gather(t, np.ma.masked_array([1], [True])),
        ),
        (
            TypeError,
            "out must not be a masked array",
            lambda t: gpukern.gather(t, [0], out=np.ma.masked_array([1.0])),
        ),
        (
            TypeError,
            "values must not be a masked array",
            lambda t: gpukern.scatter(t, [0], np.ma.masked_array([1.0])),
        ),
        (
            TypeError,
            "from_local: staging_memory must be an integer, got 'all'",
            lambda t: distributed.from_local([1.0], t.group, staging_memory="all"),
        ),
        (
            TypeError,
            "gather: progress must be callable or None, got int",
            lambda t: gpukern.gather(t, [0], progress=3),
        ),
        (
            ValueError,
            "take: mode must be 'raise', 'wrap' or 'clip', got 'fill'",
            lambda t: gpukern.take(t, [0], mode="fill"),
        ),
        (
            ValueError,
            r"scatter: values must broadcast to shape \(2,\), got \(3,\)",
            lambda t: gpukern.scatter(t, [0, 1], np.zeros(3)),
        ),
        (
            ValueError,
            r"scatter: values must broadcast to shape \(2,\), got \(1, 2\)",
            lambda t: gpukern.scatter(t, [0, 1], np.zeros((1, 2))),
        ),
        (
            TypeError,
            "scatter: values must not be a DistributedArray; pass its .local",
            lambda t: gpukern.scatter(t, [0, 1, 2], t),
        ),
        (
            TypeError,
            "gather: index: a DistributedArray is on several ranks",
            lambda t: gpukern.gather(t, t),
        ),
        (
            ValueError,
            "gather: index: setting an array element with a sequence",
            lambda t: gpukern.gather(t, [[0, 1], [2]]),
        ),
        (
            IndexError,
            "index 1180591620717411303424 fits no integer dtype",
            lambda t: gpukern.scatter(t, [2**70], 1.0),
        ),
        (
            ValueError,
            "gather: a DistributedArray takes no device_memory",
            lambda t: gpukern.gather(t, [0], device_memory=1 << 20),
        ),
        (
            ValueError,
            "scatter: a DistributedArray takes no device_memory",
            lambda t: gpukern.scatter(t, [0], 1.0, device_memory=-5),
        ),
        (
            TypeError,
            "from_local: got an unexpected keyword argument 'rows'",
            lambda t: distributed.from_local([1.0], t.group, rows=1),
        ),
        (
            TypeError,
            "empty: missing a required argument: 'dtype'",
            lambda t: distributed.empty(3, group=t.group),
        ),
        (
            TypeError,
            "host_table: got an unexpected keyword argument 'pin'",
            lambda t: distributed.host_table(3, "f4", t.group, pin=True),
        ),
    ],
)
def test_an_argument_of_one_rank_is_an_error_of_all(error, message, call):
    def on_rank(group):
        table = distributed.from_local(np.zeros(3), group)
        with pytest.raises(error, match=message) as raised:
            call(table) if group.rank == 1 else gpukern.gather(table, [0])
        assert gpukern.gather(table, [5]).tolist() == [0]
        return str(raised.value)

    texts = without_errors(on_ranks(on_rank, 3))
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounding": "bogus"}, "of a DistributedArray must be 'nearest', got 'bogus'"),
        ({"rounding": 1}, "of a DistributedArray must be 'nearest', got 1"),
        ({"rounding": "stochastic", "seed": 1}, "must be 'nearest', got 'stochastic'"),
        ({"seed": 1}, "seed is for rounding='stochastic'"),
    ],
)
def test_saxpy_rounds_to_nearest(options, words):
    def on_rank(group):
        x, out = (distributed.from_local(np.ones(3), group) for _ in range(2))
        for place in (out, None):
            with pytest.raises(ValueError, match=f"saxpy: .*{words}"):
                gpukern.saxpy(2, x, x, out=place, **options)
        assert (out.local == 1).all()
        return gpukern.saxpy(2, x, x, rounding="nearest").local.tolist()

    assert on_ranks(on_rank, 2) == [[3.0] * 3] * 2


def test_saxpy_many_is_not_explained():
    host = np.ones(3)
    table = distributed.from_local(host, distributed.threads(1)[0])
    for arrays in ([table], [table, host], [host, table]):
        with pytest.raises(TypeError, match="explain: saxpy_many of a DistributedArray is several"):
            gpukern.explain(gpukern.saxpy_many, 2, arrays, arrays)
        made = gpukern.saxpy_many(2, arrays, arrays)
        assert [getattr(each, "local", each).tolist() for each in made] == [[3] * 3] * len(arrays)


def test_arguments_of_each_rank_alone():
    with pytest.raises(TypeError, match=r"threads: count must be an integer, got 1\.5"):
        distributed.threads(1.5)

    def on_rank(group):
        table = distributed.from_local(np.arange(3.0), group)
        with pytest.raises(TypeError, match="compress: x: a DistributedArray is on several ranks"):
            gpukern.compress([1, 0, 1], table)
        with pytest.raises(AttributeError):
            table.local = np.zeros(1)
        return gpukern.gather(table, [4]).tolist()

    assert on_ranks(on_rank, 2) == [[1.0]] * 2
