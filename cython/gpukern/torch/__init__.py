# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather, scatter, gather_reduce, saxpy, axpby and fma as PyTorch operators, with gradients.

They are ``torch.ops.gpukern.gather`` and so on, with backward passes of any order, and
torch.compile traces them. The gradient of gather is a scatter that adds, and that of such a scatter
a gather: sums have a fixed order, so that gradients have the same bits in every run. Results come
from PyTorch's allocator, on its current stream: C-contiguous, but for those of saxpy, axpby and
fma, which have the layout of `x`. Without gradients or torch.compile, :func:`gpukern.gather` and
the others accept tensors as well, at a lower cost per call. Only this package imports torch.
"""

from gpukern.torch.arithmetic import axpby, fma, saxpy
from gpukern.torch.indexing import gather, gather_reduce, scatter

__all__ = ["axpby", "fma", "gather", "gather_reduce", "saxpy", "scatter"]
