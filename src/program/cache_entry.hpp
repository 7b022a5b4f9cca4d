// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The format of an entry of the disk cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/program/backend.hpp"
#include "src/program/sha256.hpp"

namespace gpukern {

/// Encodes a program: a signature, the key, the checksum of the rest, and the program's parts.
std::string entry_of(const Digest& key, const Compiled& program);

/// Decodes an entry; std::nullopt if any byte is not as entry_of() writes it for this key.
std::optional<Compiled> program_of(const Digest& key, std::string_view entry);

}  // namespace gpukern
