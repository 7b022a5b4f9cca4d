// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// SHA-256 (FIPS 180-4) for the names and checksums of disk cache entries. Portable C++: an entry of
// 64 KiB takes 0.2 ms, where a compilation takes 10 ms and more (benchmarks/notes/programs.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpukern {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view text);

/// The digest as 64 lower-case hexadecimal digits.
std::string hex(const Digest& digest);

}  // namespace gpukern
