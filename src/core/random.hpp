// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Random bits for stochastic rounding, the same on every device: a function of a seed and of the
// position in an array. The generator is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel
// Random Numbers: As Easy as 1, 2, 3" (2011).
#pragma once

#include <cstdint>

#include "src/core/index.hpp"

namespace gpukern {
namespace {

/// The positions that share a block of the generator, with 16 bits each.
constexpr int kRandomGroup = 8;

struct RandomBlock {
  std::uint32_t word[4];

  /// Those of a position of the group.
  [[nodiscard]] GPUKERN_HOST_DEVICE std::uint32_t bits(std::int64_t position) const {
    const auto at = static_cast<unsigned>(position) % kRandomGroup;
    // No index, for which a GPU would keep the words in memory.
    const std::uint32_t low = (at & 2U) == 0 ? word[0] : word[1];
    const std::uint32_t high = (at & 2U) == 0 ? word[2] : word[3];
    return ((at & 4U) == 0 ? low : high) >> (at % 2 * 16) & 0xffffU;
  }
};

/// The block of the positions [8 * group, 8 * group + 8).
GPUKERN_HOST_DEVICE inline RandomBlock random_block(std::uint64_t seed, std::uint64_t group) {
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  RandomBlock block{{static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32)}};
  std::uint32_t (&word)[4] = block.word;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xd2511f53U} * word[0];
    const std::uint64_t right = std::uint64_t{0xcd9e8d57U} * word[2];
    word[0] = static_cast<std::uint32_t>(right >> 32) ^ word[1] ^ key0;
    word[2] = static_cast<std::uint32_t>(left >> 32) ^ word[3] ^ key1;
    word[1] = static_cast<std::uint32_t>(right);
    word[3] = static_cast<std::uint32_t>(left);
    key0 += 0x9e3779b9U;
    key1 += 0xbb67ae85U;
  }
  return block;
}

}  // namespace
}  // namespace gpukern
