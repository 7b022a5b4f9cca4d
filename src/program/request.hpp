// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Validates a gpukern_program_desc and derives the key by which the cache identifies the request.
#pragma once

#include <string>

#include "src/program/backend.hpp"

namespace gpukern {

/// Checks everything that needs no compiler.
ProgramRequest checked_request(const gpukern_program_desc* desc);

/// Everything that the result depends on except the compiler, or the request's cache_key in its
/// place. Equal keys mean equal requests.
std::string key_of(const ProgramRequest& request);

/// Whether an option names files, so that the result depends on more than the request.
bool uses_files(const ProgramRequest& request);

/// Whether the source or a header includes a file by its path or uses the time of compilation. A
/// false positive costs another compilation and nothing else.
bool is_volatile(const ProgramRequest& request);

}  // namespace gpukern
