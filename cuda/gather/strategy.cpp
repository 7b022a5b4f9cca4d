// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/strategy.hpp"

#include <algorithm>
#include <bit>

#include "cuda/common/index_alignment.hpp"
#include "cuda/gather/partition/partition.hpp"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

bool always(const GatherProblem& /*problem*/) { return true; }

bool is_not_rows(const GatherProblem& problem) { return !problem.has_rows; }

/// Of three dimensions, each position of the outermost one has separate thread blocks.
bool is_tiles(const GatherProblem& problem) {
  constexpr std::int64_t kLeastItems = 512;
  const GatherArgs& args = problem.args;
  if (args.tuple != nullptr || problem.has_rows || !problem.single_words() || args.axis.ndim > 1 ||
      !has_repeated_fill(args) || !index_aligned(args.index, args.loop, kIndex, args.index_type))
    return false;
  const Loop<4> loop = in_memory_order(args.loop);
  return loop.ndim <= 2 || (loop.ndim == 3 && loop.extent[1] * loop.extent[2] >= kLeastItems);
}

/// Whether the call is a 1-D gather of items that are one word each.
bool is_items(const GatherProblem& problem) {
  return problem.single_words() && problem.rows.outer == 1;
}

/// Whether a sample of the indices may choose between kernels: GPUKERN_GATHER_DIRECT excludes it.
bool may_sample(const GatherProblem& problem) {
  return is_items(problem) && problem.args.path != GPUKERN_GATHER_DIRECT;
}

bool pays_to_partition(const GatherProblem& problem) {
  return may_sample(problem) && is_partitioned(problem);
}

bool may_be_sorted_sparse(const GatherProblem& problem) {
  const GatherTuning& tuning = problem.tuning;
  const double apart = problem.bytes_per_index();
  return may_sample(problem) && !problem.args.in_place && problem.args.index_type.bytes >= 4 &&
         problem.rows.count >= tuning.sorted_sparse_from && apart >= tuning.sparse_bytes &&
         apart < tuning.sorted_sparse_to && device_facts().overlaps_kernels &&
         problem.aligned_to_vectors(vector_items(problem.width));
}

bool is_few_items(const GatherProblem& problem) {
  const GatherTuning& tuning = problem.tuning;
  return is_items(problem) && problem.rows.count < (problem.bytes_per_index() >= tuning.sparse_bytes
                                                        ? tuning.items_small_sparse_to
                                                        : tuning.items_small_to);
}

bool is_few_dense_items(const GatherProblem& problem) {
  return is_few_items(problem) && problem.rows.axis_stride == problem.args.item;
}

bool is_pairs(const GatherProblem& problem) {
  const GatherTuning& tuning = problem.tuning;
  return is_items(problem) && problem.aligned_to_vectors(pair_items(problem.width)) &&
         (problem.rows.count < tuning.pairs_to ||
          problem.bytes_per_index() >= tuning.pairs_sparse_bytes);
}

bool is_vectors(const GatherProblem& problem) {
  return is_items(problem) && problem.aligned_to_vectors(vector_items(problem.width));
}

/// Whether rows of the source fit in shared memory, or a large part of each; there are enough of
/// them for all blocks, and enough indices for the length of a row.
bool is_last_axis_shared(const GatherProblem& problem) {
  const GatherTuning& tuning = problem.tuning;
  const Rows& rows = problem.rows;
  const std::int64_t row = problem.args.n * problem.args.item;
  return problem.single_words() && rows.axis_stride == problem.args.item &&
         row >= tuning.last_axis_shared_from &&
         problem.args.n <= tuning.last_axis_of_held * problem.last_axis_held() &&
         row <= tuning.last_axis_shared_sparse * rows.count &&
         rows.outer >= tuning.last_axis_shared_blocks;
}

bool is_last_axis(const GatherProblem& problem) {
  const GatherTuning& tuning = problem.tuning;
  const Rows& rows = problem.rows;
  return problem.single_words() && rows.outer >= tuning.last_axis_outer_from &&
         rows.count >= tuning.last_axis_count_from &&
         problem.args.n <= tuning.last_axis_sparse * rows.count &&
         problem.args.n * problem.args.item <= tuning.last_axis_row_to;
}

/// The column of the word's width in a table of the tuning.
std::size_t by_width(const GatherProblem& problem) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(problem.width)));
}

/// Not from host memory: run_rows() bounds the loads in flight there, see in_place.
bool is_few_words(const GatherProblem& problem) {
  return !problem.args.in_place &&
         problem.words() <= problem.tuning.rows_small_to[by_width(problem)];
}

bool is_shared(const GatherProblem& problem) {
  return problem.args.item >= problem.tuning.shared_from[by_width(problem)];
}

template <gpukern_compute_path kPath>
gpukern_compute_path path(const GatherProblem& /*problem*/) {
  return kPath;
}

gpukern_compute_path path_by_item(const GatherProblem& problem) {
  return problem.single_words() ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS;
}

constexpr auto kStrided = path<GPUKERN_PATH_STRIDED>;
constexpr auto kPartitioned = path<GPUKERN_PATH_PARTITIONED>;
constexpr auto kItems = path<GPUKERN_PATH_ITEMS>;

// From top to bottom, the first one that serves the call runs it.
constexpr GatherStrategy kStrategies[] = {
    {"tiles", is_tiles, run_tiles, kStrided},
    {"strided", is_not_rows, run_strided, kStrided},
    {"partitioned", pays_to_partition, run_partitioned, kPartitioned, partition_scratch_bytes},
    {"sorted_sparse", may_be_sorted_sparse, run_sorted_sparse, kItems, sorted_sparse_scratch_bytes},
    {"items_small", is_few_dense_items, run_items_small, kItems},
    {"items_single", is_few_items, run_items_single, kItems},
    {"items_pairs", is_pairs, run_items_pairs, kItems},
    {"items_vectors", is_vectors, run_items_vectors, kItems},
    {"last_axis_shared", is_last_axis_shared, run_last_axis_shared, kItems},
    {"last_axis", is_last_axis, run_last_axis, kItems},
    {"rows_small", is_few_words, run_rows_small, path_by_item},
    {"shared", is_shared, run_shared, path_by_item},
    {"rows", always, run_rows, path_by_item},
};

}  // namespace

std::span<const GatherStrategy> gather_strategies() { return kStrategies; }

}  // namespace gpukern::gpu
