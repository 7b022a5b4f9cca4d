// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programs on CUDA: the face to src/program/backend.cpp. No CUDA header is needed to include it.
#pragma once

#include "src/program/backend.hpp"

namespace gpukern::gpu {

ProgramBackend& programs();

}  // namespace gpukern::gpu
