// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The bytes of a disk cache's entry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/program/backend.hpp"
#include "src/program/sha256.hpp"

namespace gpukern {

/// A mark, the key, the checksum of what follows, and the program's parts.
std::string entry_of(const Digest& key, const Compiled& program);

/// Nothing for bytes that are not, to the last, those of this key's entry.
std::optional<Compiled> program_of(const Digest& key, std::string_view entry);

}  // namespace gpukern
