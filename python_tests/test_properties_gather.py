# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather on generated calls: every device returns the oracle's bytes and writes no others.

The number of cases is GPUKERN_TEST_CASES.
"""

import numpy as np
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from read_cases import Case, check_at_places
from strategies import gather_plans

import gpukern


@given(plan=gather_plans(), seed=st.integers(0, 2**32 - 1))
def test_gather_on_generated_calls(plan, seed, places, cases):
    check_at_places(Case, plan, np.random.default_rng(seed), places, cases)


@given(plan=gather_plans(), seed=st.integers(0, 2**32 - 1))
def test_gather_is_numpys_take(plan, seed, cases):
    """Without the oracle: NumPy itself, where it has the mode and takes the index."""
    if plan.index.dtype == np.uint64:
        return  # NumPy reads those above 2**63 as negative.
    rng = np.random.default_rng(seed)
    for _ in range(CASES_PER_EXAMPLE):
        case = Case(plan, rng)
        source = plan.source.on(case.memories["source"])
        index = plan.index.on(case.memories["index"])
        # NumPy wraps step by step: that takes ages from far away, and never ends on an empty axis.
        far = index.size > 0 and max(-int(index.min()), int(index.max())) > 10_000
        if case.mode == "fill" or (case.mode == "wrap" and (far or source.size == 0)):
            continue
        options = {"axis": plan.axis, "mode": case.mode}
        outcomes = []
        for function in (np.take, gpukern.gather):
            try:
                result = function(source, index, **options)
                outcomes.append((type(result), result.dtype, result.shape, field_bytes(result)))
            except IndexError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        cases["gather, against numpy.take", "cpu"] += 1


def field_bytes(array):
    """The bytes of all fields, without padding, which NumPy does not always keep."""
    if array.dtype.fields is None:
        return array.tobytes()
    return [field_bytes(array[name]) for name in array.dtype.names]
