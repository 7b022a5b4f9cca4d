# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters that all operations share, for their docstrings."""

import textwrap

CALL_OPTIONS = """\
device : {'cpu', 'cuda', 'cuda:N'} or int, optional
    Where host arrays are computed; by default $GPUKERN_DEVICE, or the CPU.
stream : optional
    An int handle, or an object with ``__cuda_stream__``; by default the current stream of the
    library of the first array, or the legacy default stream.
progress : callable, optional
    Called as ``progress(done_bytes, total_bytes)`` between the parts of a call on host arrays.
    An exception that it raises stops the call and propagates; `out` is then partially written.
device_memory : int, optional
    Bytes of device memory for the chunks of host arrays; by default $GPUKERN_DEVICE_MEMORY, or
    1 GiB.
"""


def describe_call_options(function):
    """Replace the line ``{call_options}`` in a docstring, which may be indented."""
    before, after = function.__doc__.split("{call_options}\n")
    text = before.rstrip(" ")
    indent = before[len(text) :]
    function.__doc__ = text + textwrap.indent(CALL_OPTIONS, indent) + after
