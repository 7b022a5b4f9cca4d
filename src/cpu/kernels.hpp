// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The operations on the CPU, multithreaded.
#pragma once

#include <optional>

#include "src/core/operation.hpp"
#include "src/core/updates.hpp"

namespace gpukern::cpu {

/// Returns false if mode "raise" rejects an index, which is then treated as 0.
bool gather(const GatherArgs& args);
/// As gather() in mode "raise" if all `indices`, or those of the tuple, one for each position, are
/// in bounds. Otherwise returns false, and `out` is unchanged unless another thread writes to the
/// indices.
bool gather_if_in_bounds(const GatherArgs& args, const IndexArgs& indices);
/// As gather() in mode "raise", with `out` unchanged if it returns false: if an index is out of
/// bounds, or if checking the indices in the same pass is not faster.
bool gather_preserving_out(const GatherArgs& args);
Strategy gather_strategy(const GatherArgs& args);

void saxpy(const SaxpyArgs& args);
Strategy saxpy_strategy(const SaxpyArgs& args);
void saxpy_many(const SaxpyManyArgs& args);
Strategy saxpy_many_strategy(const SaxpyManyArgs& args);
void axpby(const AxpbyArgs& args);
Strategy axpby_strategy(const AxpbyArgs& args);

void copy(const CopyArgs& args);

void scatter(const ScatterArgs& args);
Strategy scatter_strategy(const ScatterArgs& args);
/// Sorts concurrently. `shift` leaves at most SlicedUpdates::kMaxSlices slices.
SlicedUpdates slice_updates(const ScatterArgs& args, int shift);

void ravel_index(const RavelArgs& args);
void gather_reduce(const GatherReduceArgs& args);
Strategy gather_reduce_strategy(const GatherReduceArgs& args);

void select(const SelectArgs& args);
std::int64_t count_nonzero(const SelectArgs& args);
Strategy select_strategy(const SelectArgs& args);

/// Whether mode "raise" accepts all indices at positions [begin, end).
bool all_in_bounds(const IndexArgs& args, std::int64_t begin, std::int64_t end);
std::optional<BadIndex> first_bad_index(const IndexArgs& args);
/// For a device in software: calls on the CPU raise.
void record_bad_index(const RecordIndexArgs& args);

}  // namespace gpukern::cpu
