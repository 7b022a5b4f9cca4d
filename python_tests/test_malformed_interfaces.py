# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Generated arrays with __cuda_array_interface__, right and wrong, in GPU memory.

test_gpus_in_software.py runs this file where there is no GPU.
"""

import gpu_roles
import pytest
import test_malformed_arrays
from array_roles import gather_nothing
from conftest import CASES_PER_TEST
from malformed_interfaces import GpuCase, GpuMemory

CASES = max(5000, 10 * CASES_PER_TEST)
ROLES = gather_nothing, gpu_roles.READ, gpu_roles.WRITTEN

pytestmark = pytest.mark.gpu


def test_malformed_interfaces(cases):
    memory = GpuMemory()
    accepted = dict.fromkeys((gather_nothing, *gpu_roles.READ, *gpu_roles.WRITTEN), 0)
    for number in range(CASES):
        case = GpuCase(number, memory, ROLES, test_malformed_arrays.error_of)
        test_malformed_arrays.run_case(case, accepted)
    # A test whose arrays are all refused would show nothing.
    assert {role.__name__ for role, count in accepted.items() if count < CASES // 500} == set()
    cases["malformed interfaces", "cuda"] += CASES
