// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programs on CUDA, for src/program/backend.cpp. This header includes no CUDA header.
#pragma once

#include "src/program/backend.hpp"

namespace gpukern::gpu {

ProgramBackend& programs();

}  // namespace gpukern::gpu
