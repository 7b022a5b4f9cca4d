#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Installs the sources of the current directory into the environment of $PYTHON, and downloads
# nothing. conda sets cuda_compiler_version and CPU_COUNT.
set -euo pipefail

export GPUKERN_CUDA=OFF
if [[ ${cuda_compiler_version:-None} != None ]]; then
  export GPUKERN_CUDA=ON CUDAARCHS=release
fi
export CMAKE_BUILD_PARALLEL_LEVEL=${CPU_COUNT:-$(nproc)}
"$PYTHON" -m pip install . -v --no-deps --no-build-isolation --no-index
