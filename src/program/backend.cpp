// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/program/backend.hpp"

#ifdef GPUKERN_HAVE_CUDA
#include "cuda/program/program.hpp"
#endif

namespace gpukern {

#ifdef GPUKERN_HAVE_CUDA
bool has_programs() { return true; }
ProgramBackend& program_backend() { return gpu::programs(); }
#else
bool has_programs() { return false; }
ProgramBackend& program_backend() {
  fail(GPUKERN_DEVICE_ERROR, "programs cannot be compiled: ", cuda_status().reason);
}
#endif

}  // namespace gpukern
