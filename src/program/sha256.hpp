// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// SHA-256 (FIPS 180-4): names and checks the entries of the disk cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpukern {

using Digest = std::array<unsigned char, 32>;

/// By the processor's own instructions where it has them.
Digest sha256(std::string_view text);
/// Without them.
Digest sha256_portably(std::string_view text);

/// 64 lower-case hexadecimal digits.
std::string hex(const Digest& digest);

}  // namespace gpukern
