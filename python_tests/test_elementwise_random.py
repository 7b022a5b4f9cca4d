# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Random expressions in C mean what they mean in NumPy."""

import hypothesis
import numpy as np
from formulas import evaluate, same
from hypothesis import strategies as st

from gpukern import elementwise

LEAVES = st.sampled_from(["a", "b", "1", "2.5", "0.5", "7"])


def grow(parts):
    pair = st.tuples(parts, parts)
    return st.one_of(
        pair.map(lambda p: (f"({p[0][0]} + {p[1][0]})", f"({p[0][1]} + {p[1][1]})")),
        pair.map(lambda p: (f"({p[0][0]} * {p[1][0]})", f"({p[0][1]} * {p[1][1]})")),
        pair.map(lambda p: (f"({p[0][0]} - {p[1][0]})", f"({p[0][1]} - {p[1][1]})")),
        pair.map(lambda p: (f"max({p[0][0]}, {p[1][0]})", f"np.maximum({p[0][1]}, {p[1][1]})")),
        pair.map(
            lambda p: (
                f"({p[0][0]} < {p[1][0]} ? {p[0][0]} : {p[1][0]})",
                f"np.where({p[0][1]} < {p[1][1]}, {p[0][1]}, {p[1][1]})",
            )
        ),
        parts.map(lambda p: (f"(-{p[0]})", f"(-{p[1]})")),
        parts.map(lambda p: (f"abs({p[0]})", f"np.abs({p[1]})")),
    )


@hypothesis.given(
    pair=st.recursive(LEAVES.map(lambda leaf: (leaf, leaf)), grow, max_leaves=12),
    dtypes=st.tuples(*[st.sampled_from(["i1", "u2", "i4", "i8", "f2", "f4", "f8"])] * 2),
    seed=st.integers(0, 2**32),
)
def test_random_expressions(cases, pair, dtypes, seed):
    rng = np.random.default_rng(seed)
    values = {n: rng.integers(0, 20, 40).astype(d) for n, d in zip("ab", dtypes, strict=True)}
    expression, meaning = pair
    try:
        expected = evaluate(f"a + b + ({meaning})", **values)
    except OverflowError:
        return
    result = elementwise(f"a + b + ({expression})", inputs=("a", "b"))(values["a"], values["b"])
    cases["elementwise", "cpu"] += 1
    same(result, expected)
