// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the kernels of gather and their launches share.
#pragma once

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/gather/strategy.hpp"

namespace gpukern::gpu {

template <class Item>
inline constexpr int kVectorItems = static_cast<int>(vector_items(sizeof(Item)));

template <class Raw>
Bounds<Raw> bounds_of(const GatherArgs& args) {
  return {args.index_type, args.mode, args.n, args.bad};
}

/// Calls visit(W{}, Raw{}) with the types of a word and of an index.
template <class Visit>
void visit_types(const GatherProblem& problem, const Visit& visit) {
  visit_word(problem.width, [&](auto word) {
    visit_index_width(problem.args.index_type.bytes, [&](auto raw) { visit(word, raw); });
  });
}

}  // namespace gpukern::gpu
