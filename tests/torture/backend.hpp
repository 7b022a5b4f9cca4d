// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the tests need to know of the GPU: the fake one, or CUDA.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "case.hpp"

namespace gpukern_torture {

/// Whether this machine has the GPU. Must not be called in a process that forks later.
bool is_present();

/// In which a child process must end.
extern const unsigned kSecondsOfChild;

/// In new processes, every call or every k-th one fails.
extern const int kColdStep;

/// Whether a scenario is repeated in new processes. Starting CUDA takes half a second.
bool runs_cold(std::string_view scenario);

/// Whether a scenario is one for this GPU.
bool is_known(std::string_view scenario);

/// Changes if the calling thread's current context or last error does.
std::uintptr_t thread_state();

/// Scenarios that only this GPU has.
std::vector<Named> backend_scenarios();

}  // namespace gpukern_torture
