// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The CPU backend: all cores, the memory where it lies.
#pragma once

#include "src/runtime/backend.hpp"

namespace gpukern::cpu {

Backend& backend();

/// False if mode "raise" refuses an index, which then stands for 0.
bool gather(const GatherArgs& args);
/// As gather() in mode "raise", if all `indices`, one a position, are in bounds; else `out` stays
/// as it was, but if somebody writes into the indices meanwhile.
bool gather_if_in_bounds(const GatherArgs& args, const IndexArgs& indices);
/// As gather() in mode "raise", but false also where this is no gain, and `out` is as it was then.
bool gather_kept(const GatherArgs& args);
void saxpy(const SaxpyArgs& args);
void copy(const CopyArgs& args);
int gather_threads(const GatherArgs& args);
int saxpy_threads(const SaxpyArgs& args);
/// Whether mode "raise" refuses none of the indices at positions [begin, end).
bool all_in_bounds(const IndexArgs& args, std::int64_t begin, std::int64_t end);
std::optional<BadIndex> first_bad_index(const IndexArgs& args);

}  // namespace gpukern::cpu
