// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Iteration over a loop nest whose innermost dimension is short.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "src/core/loop.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// If the innermost dimension is short, a long dimension, that in which the steps of the operands
/// are the shortest; -1 if there is none.
template <int Operands>
int long_dimension(const Loop<Operands>& loop) {
  constexpr std::int64_t kShort = 16;
  int chosen = -1;
  if (loop.ndim < 2 || loop.extent[loop.ndim - 1] >= kShort) return chosen;
  std::int64_t shortest = 0;
  for (int d = 0; d < loop.ndim - 1; ++d) {
    std::int64_t steps = 0;
    for (int k = 0; k < Operands; ++k) steps += std::abs(loop.stride[k][d]);
    if (loop.extent[d] < 2 * kShort || (chosen >= 0 && steps >= shortest)) continue;
    chosen = d;
    shortest = steps;
  }
  return chosen;
}

template <int Operands>
bool has_long_runs(const Loop<Operands>& loop) {
  return long_dimension(loop) >= 0;
}

/// Runs along another dimension than the innermost one, where that is too short: a run costs as
/// much as some items. Positions are visited in any order, by blocks of the dimension with all
/// positions of the short inner ones, so that each block accesses its cache lines while they are in
/// the cache.
template <int Operands>
class LongRuns {
 public:
  /// Makes their dimension the innermost one of a loop that has_long_runs(), and refers to the
  /// loop.
  explicit LongRuns(Loop<Operands>& loop) : loop_(loop) {
    const int dimension = long_dimension(loop);
    Loop<Operands> ordered;
    const auto move = [&](int d, Loop<Operands>& to) {
      std::array<std::int64_t, Operands> strides;
      for (int k = 0; k < Operands; ++k) strides[k] = loop.stride[k][d];
      to.push(loop.extent[d], strides);
    };
    // Few positions, so that there are blocks for all threads.
    int first_inner = loop.ndim;
    std::int64_t positions = 1;
    for (; first_inner - 1 > dimension; --first_inner) {
      positions *= loop.extent[first_inner - 1];
      if (positions > kMostInner) break;
    }
    for (int d = 0; d < loop.ndim; ++d) {
      if (d == dimension) continue;
      move(d, d < first_inner ? outer_ : inner_);
      move(d, ordered);
    }
    move(dimension, ordered);
    loop = ordered;
    blocks_ = (loop.extent[loop.ndim - 1] - 1) / kBlock + 1;
  }

  /// The number of blocks.
  [[nodiscard]] std::int64_t count() const { return outer_.count() * blocks_; }
  /// The number of blocks that have about as many positions together.
  [[nodiscard]] std::int64_t blocks_of(std::int64_t positions) const {
    return std::max<std::int64_t>(1, positions / (inner_.count() * kBlock));
  }

  /// Calls body(offsets, length) for the runs of the blocks [begin, end).
  template <class Body>
  void for_each(std::int64_t begin, std::int64_t end, const Body& body) const {
    const int run = loop_.ndim - 1;
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t first = at % blocks_ * kBlock;
      const std::int64_t length = std::min(kBlock, loop_.extent[run] - first);
      for_each_run(outer_, at / blocks_, at / blocks_ + 1, [&](const auto& row, std::int64_t) {
        for_each_run(inner_, 0, inner_.count(), [&](const auto& column, std::int64_t columns) {
          for (std::int64_t c = 0; c < columns; ++c) {
            std::array<std::int64_t, Operands> offset;
            for (int k = 0; k < Operands; ++k)
              offset[k] =
                  row[k] + column[k] + c * run_stride(inner_, k) + first * loop_.stride[k][run];
            body(offset, length);
          }
        });
      });
    }
  }

 private:
  static constexpr std::int64_t kBlock = 256;
  static constexpr std::int64_t kMostInner = 256;

  const Loop<Operands>& loop_;
  Loop<Operands> outer_;
  Loop<Operands> inner_;
  std::int64_t blocks_;
};

/// Calls range(args, each_run) on threads, where each_run(body) calls body(offsets, length) for
/// runs of the innermost dimension of args.loop, whose positions may be visited in any order.
template <class Args, class Range>
void parallel_runs(const Args& given, std::int64_t grain, const Range& range) {
  if (!has_long_runs(given.loop)) {
    parallel_for(given.loop.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      range(given, [&](const auto& body) { for_each_run(given.loop, begin, end, body); });
    });
    return;
  }
  Args args = given;
  const LongRuns runs(args.loop);
  parallel_for(runs.count(), runs.blocks_of(grain), [&](std::int64_t begin, std::int64_t end) {
    range(args, [&](const auto& body) { runs.for_each(begin, end, body); });
  });
}

}  // namespace gpukern::cpu
