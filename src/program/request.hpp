// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// From gpukern_program_desc to a checked request, and to what tells it from other requests.
#pragma once

#include <string>

#include "src/program/backend.hpp"

namespace gpukern {

/// Checks all that can be checked without a compiler.
ProgramRequest checked_request(const gpukern_program_desc* desc);

/// Everything that the result depends on, but for the compiler, or the request's own key for it:
/// equal texts, equal requests.
std::string key_of(const ProgramRequest& request);

/// Whether an option names files: the result depends on more than the request then.
bool uses_files(const ProgramRequest& request);

/// Whether the source or a header includes a file by a path of its own, or asks for the time. Errs
/// towards true, which costs a second compile and no more.
bool is_volatile(const ProgramRequest& request);

}  // namespace gpukern
