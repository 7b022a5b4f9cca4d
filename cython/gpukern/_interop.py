# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What is known of the array libraries whose arrays come in and go out.

Nothing here imports a library: an array of a library exists only where that was done already.
"""

import sys

# Where a library's types say that they live, by the library. JAX has two packages.
LIBRARY_OF_PACKAGE = {"torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax"}


def library_of(kind):
    """The name of the library that a type belongs to, None for all but the known ones."""
    return LIBRARY_OF_PACKAGE.get(kind.__module__.partition(".")[0])


def current_stream(library, device_id):
    """The stream that the library would use now on a CUDA device; None if it has none to tell."""
    module = sys.modules.get(library)
    if library == "torch":
        return module.cuda.current_stream(device_id)
    if library == "cupy":
        return module.cuda.get_current_stream(device_id)
    return None


def adopt(library, array):
    """Hands an array to the library, without a copy, by its own DLPack import."""
    if library == "jax":
        import jax.dlpack

        return jax.dlpack.from_dlpack(array)
    return sys.modules[library].from_dlpack(array)
