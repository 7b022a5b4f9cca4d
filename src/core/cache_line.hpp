// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Apart from src/cpu/cache.hpp for the files of one instruction set, which may hold no inline
// functions.
#pragma once

#include <cstdint>

namespace gpukern {

constexpr std::int64_t kCacheLine = 64;  ///< bytes

}  // namespace gpukern
