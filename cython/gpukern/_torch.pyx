# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What torch does around its operators, asked by a call that is none of them.

A call reads and writes the memory of tensors, past torch's dispatcher. A trace would take the empty
result for the answer, and a forward-mode derivative would be lost: such calls are refused by
gpukern._interop. These are the cheap questions; where a version of torch lacks one of its private
functions, the question has no answer and the call goes on.
"""

import sys


cdef class TorchState:
    """Functions of torch's that are called for every tensor, looked up once."""

    cdef bint is_plain(self) except -1:
        """Whether this thread neither traces nor takes forward-mode derivatives."""
        return ((self.count_modes is None or self.count_modes() == 0)
                and (self.tracing_state is None or not self.tracing_state())
                and self.forward_ad.get("_current_level", -1) < 0)

    cdef int note_write(self, object tensor) except -1:
        """Tells autograd that a tensor was written to, which it may have saved."""
        if self.increment_version is not None:
            self.increment_version((tensor,))
        return 0


cdef TorchState torch_state():
    torch = sys.modules["torch"]
    cdef TorchState made = TorchState.__new__(TorchState)
    made.count_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
    made.tracing_state = getattr(torch._C, "_is_tracing", None)
    made.forward_ad = vars(torch.autograd.forward_ad)
    # The function behind torch.autograd.graph.increment_version, at half its cost.
    made.increment_version = getattr(torch._C, "_increment_version", None)
    if made.increment_version is not None:
        try:
            made.increment_version((torch.empty(0, device="cpu"),))
        except TypeError:  # an older one takes a single tensor
            made.increment_version = getattr(torch.autograd.graph, "increment_version", None)
    return made
