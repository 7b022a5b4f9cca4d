// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The strategy of each gather, for given properties of a GPU, which need not be present. Launches
// and explanations use the same table, so these tests cover both.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "cuda/gather/partition/config.hpp"
#include "cuda/gather/partition/partition.hpp"
#include "cuda/gather/strategy.hpp"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {

DeviceFacts facts_of_test;

DeviceFacts device_facts() { return facts_of_test; }

// Stubs: these tests launch nothing.
void run_strided(const GatherLaunch& /*launch*/) {}
void run_tiles(const GatherLaunch& /*launch*/) {}
void run_items_small(const GatherLaunch& /*launch*/) {}
void run_items_single(const GatherLaunch& /*launch*/) {}
void run_items_pairs(const GatherLaunch& /*launch*/) {}
void run_items_vectors(const GatherLaunch& /*launch*/) {}
void run_sorted_sparse(const GatherLaunch& /*launch*/) {}
void run_last_axis_shared(const GatherLaunch& /*launch*/) {}
void run_last_axis(const GatherLaunch& /*launch*/) {}
void run_rows_small(const GatherLaunch& /*launch*/) {}
void run_shared(const GatherLaunch& /*launch*/) {}
void run_rows(const GatherLaunch& /*launch*/) {}
void run_partitioned(const GatherLaunch& /*launch*/) {}
std::int64_t sorted_sparse_scratch_bytes(const GatherProblem& /*problem*/) { return 0; }
std::int64_t partition_scratch_bytes(const GatherProblem& /*problem*/) { return 0; }

}  // namespace gpukern::gpu

namespace gpukern_test {
namespace {

using gpukern::GatherArgs;
namespace gpu = gpukern::gpu;

constexpr std::int64_t kKibi = 1 << 10;
constexpr std::int64_t kMebi = 1 << 20;

std::byte* address(std::uintptr_t value) {
  return reinterpret_cast<std::byte*>(value);  // NOLINT(performance-no-int-to-ptr): never read
}

/// Strides of source, index, out and fill value, in bytes.
using Strides = std::array<std::int64_t, 4>;

/// Arrays that are aligned to 256 bytes and never read.
GatherArgs gather_of(std::int64_t item, std::int64_t n, std::int64_t axis_stride) {
  GatherArgs args;
  args.source = address(1 << 20);
  args.index = address(2 << 20);
  args.out = address(3 << 20);
  args.item = item;
  args.n = n;
  args.index_type = {4, true};
  args.axis.push(n, {axis_stride});
  return args;
}

/// out[i] = source[index[i]], contiguous.
GatherArgs items(std::int64_t item, std::int64_t n, std::int64_t count) {
  GatherArgs args = gather_of(item, n, item);
  args.loop.push(count, {0, 4, item, 0});
  return args;
}

/// out[o, i] = source[o, index[i]]
GatherArgs last_axis(std::int64_t item, std::int64_t outer, std::int64_t n, std::int64_t count) {
  GatherArgs args = gather_of(item, n, item);
  args.loop.push(outer, {n * item, 0, count * item, 0});
  args.loop.push(count, {0, 4, item, 0});
  return args;
}

class GatherStrategyTest : public testing::Test {
 protected:
  void SetUp() override { on_h200(); }

  static void on_h200() {
    gpu::facts_of_test = {.compute_capability = 90,
                          .multiprocessors = 132,
                          .shared_bytes = 227 * kKibi,
                          .overlaps_kernels = true};
  }
  /// A GPU of compute capability 12.0, such as an RTX 5090.
  static void on_99_kib() {
    gpu::facts_of_test = {.compute_capability = 120,
                          .multiprocessors = 170,
                          .shared_bytes = 99 * kKibi,
                          .overlaps_kernels = true};
  }
  static void on_t4() {
    gpu::facts_of_test = {.compute_capability = 75,
                          .multiprocessors = 40,
                          .shared_bytes = 64 * kKibi,
                          .overlaps_kernels = false};
  }

  static std::string strategy(const GatherArgs& args) {
    const gpu::GatherProblem problem(args);
    for (const gpu::GatherStrategy& strategy : gpu::gather_strategies())
      if (strategy.serves(problem)) return strategy.name;
    return "none";
  }
};

TEST_F(GatherStrategyTest, ItemsByTheirNumber) {
  EXPECT_EQ(strategy(items(4, kMebi, 0)), "items_small");
  EXPECT_EQ(strategy(items(4, kMebi, 384 * kKibi - 1)), "items_small");
  EXPECT_EQ(strategy(items(4, kMebi, 384 * kKibi)), "items_pairs");
  EXPECT_EQ(strategy(items(4, kMebi, 8 * kMebi)), "items_vectors");
  EXPECT_EQ(strategy(items(4, 64 * kMebi, 2 * kMebi - 1)), "items_small") << "sparse";
  GatherArgs strided = gather_of(4, kMebi, 8);
  strided.loop.push(1000, {0, 4, 4, 0});
  EXPECT_EQ(strategy(strided), "items_single");
}

TEST_F(GatherStrategyTest, MisalignedItemsAreRows) {
  GatherArgs args = items(4, kMebi, 16 * kMebi);
  args.index += 4;
  EXPECT_EQ(strategy(args), "rows");
  args.index += 1;
  EXPECT_EQ(strategy(args), "strided") << "no index is aligned";
}

TEST_F(GatherStrategyTest, StridedSingleWordsAreTiles) {
  GatherArgs args = gather_of(4, 100, 4);
  args.loop.push(1000, {400, 400, 400, 0});
  args.loop.push(100, {0, 4, 4, 0});
  EXPECT_EQ(strategy(args), "tiles") << "an index for each element";
  args.index += 2;
  EXPECT_EQ(strategy(args), "strided") << "no index is aligned";
  GatherArgs small = gather_of(4, 3, 16);
  small.loop.push(1000, {48, 60, 60, 0});
  small.loop.push(3, {0, 20, 20, 0});
  small.loop.push(4, {4, 4, 4, 0});
  EXPECT_EQ(strategy(small), "strided") << "many small matrices";
}

TEST_F(GatherStrategyTest, ManyIndicesAreSampled) {
  GatherArgs random = items(4, 128 * kMebi, 128 * kMebi);
  EXPECT_EQ(strategy(random), "partitioned");
  random.path = GPUKERN_GATHER_DIRECT;
  EXPECT_EQ(strategy(random), "items_vectors");
  GatherArgs sparse = items(4, 1024 * kMebi, 16 * kMebi);
  EXPECT_EQ(strategy(sparse), "sorted_sparse");
  sparse.path = GPUKERN_GATHER_DIRECT;
  EXPECT_EQ(strategy(sparse), "items_vectors");
  GatherArgs forced = items(4, 50000, 60000);
  EXPECT_EQ(strategy(forced), "items_small");
  forced.path = GPUKERN_GATHER_PARTITIONED;
  EXPECT_EQ(strategy(forced), "partitioned");
}

// 8-byte items of slices in the L2 cache: 58 Gitem/s on an H200.
TEST_F(GatherStrategyTest, ModelOfItemsOfEightBytes) {
  const GatherArgs args = items(8, 128 * kMebi, 128 * kMebi);
  const gpu::GatherProblem problem(args);
  const gpu::PartitionConfig config = partition_config(problem);
  EXPECT_FALSE(config.shared_slices());
  const gpu::SampleModel model = sample_model(problem, config);
  EXPECT_NEAR(1 / model.passes, 56, 3);
  EXPECT_GT(model.gain({0, 0.98F, 0.97F, 0.97F}), 0) << "random";
  EXPECT_LT(model.gain({0.5F, 0.46F, 0.46F, 0.46F}), 0) << "every second in order";
}

// What a sample would find in these indices.
TEST_F(GatherStrategyTest, SampleChoosesTheFasterPath) {
  for (const auto& [n, count] :
       {std::pair(32 * kMebi, 32 * kMebi), std::pair(128 * kMebi, 128 * kMebi),
        std::pair(1024 * kMebi, 128 * kMebi)}) {
    const GatherArgs args = items(4, n, count);
    const gpu::GatherProblem problem(args);
    const gpu::SampleModel model = sample_model(problem, partition_config(problem));
    EXPECT_GT(model.gain({0, 0.98F, 0.97F, 0.97F}), 0) << "random";
    if (n <= 4 * count) {
      EXPECT_GT(model.gain({0, 0.5F, 0.5F, 0.5F}), 0) << "random pairs";
      EXPECT_GT(model.gain({0.5F, 0.49F, 0.49F, 0.49F}), 0) << "every second in order";
      EXPECT_GT(model.gain({0.33F, 0.66F, 0.65F, 0.65F}), 0) << "every third in order";
    }
    EXPECT_LT(model.gain({1, 0, 0, 0}), 0) << "in order";
    EXPECT_LT(model.gain({0, 0.63F, 0.23F, 0.23F}), 0) << "random in 16 MiB";
    EXPECT_LT(model.gain({0.06F, 0.37F, 0.3F, 0.29F}), 0) << "log-uniform";
    EXPECT_LT(model.gain({0, 0, 0, 0}), 0) << "few items";
    GatherArgs forced_args = args;
    forced_args.path = GPUKERN_GATHER_PARTITIONED;
    const gpu::GatherProblem forced(forced_args);
    EXPECT_GT(sample_model(forced, partition_config(forced)).gain({1, 0, 0, 0}), 0) << "forced";
  }
}

TEST_F(GatherStrategyTest, SharesOfASample) {
  using gpu::SampleCounts;
  const auto shares = [](const SampleCounts& run) {
    SampleCounts sum{};
    for (int r = 0; r < SampleCounts::kRuns; ++r) sum += run;
    return gpu::SampleShares(sum);
  };
  // Of 256 Ki indices in each half, one in 512: 512 are expected. The cache holds 512 Ki granules.
  constexpr float kCached = 1 << 19;
  const gpu::SampleShares usual = shares({.near = 0, .fresh = {384, 256}, .far = 320});
  EXPECT_FLOAT_EQ(usual.early, 0.75F);
  EXPECT_FLOAT_EQ(usual.late, 0.5F);
  EXPECT_FLOAT_EQ(usual.far, 0.25F);
  // 320 Ki are read, and 192 Ki more by 384 Ki indices.
  EXPECT_FLOAT_EQ(usual.of_memory(kCached),
                  0.5F * std::pow(2.0F / 3, std::log(896.0F / 384) / std::log(3.0F)));
  const gpu::SampleShares constant = shares({.near = 0, .fresh = {256, 256}, .far = 0});
  EXPECT_FLOAT_EQ(constant.of_memory(kCached), 0.5F) << "half are not read again";
  const gpu::SampleShares half_near =
      shares({.near = SampleCounts::kTested / 2, .fresh = {64, 64}, .far = 0});
  EXPECT_FLOAT_EQ(half_near.near, 0.5F);
  EXPECT_FLOAT_EQ(half_near.early, 0.125F);
  EXPECT_FLOAT_EQ(half_near.late, 0.125F);
  const gpu::SampleShares burst = shares({.near = 0, .fresh = {600, 1000}, .far = 0});
  EXPECT_FLOAT_EQ(burst.early, 1);
  EXPECT_FLOAT_EQ(burst.of_memory(kCached), 1) << "more than expected";
  constexpr float kSmaller = 1 << 17;  // what the first quarter of a run reads
  EXPECT_FLOAT_EQ(usual.of_memory(kSmaller),
                  0.5F * std::pow(2.0F / 3, std::log(512 * 128 / 320.0F / 384) / std::log(3.0F)));
  const gpu::SampleShares none = shares({.near = SampleCounts::kTested, .fresh = {}, .far = 0});
  EXPECT_EQ(none.of_memory(kCached), 0);
}

TEST_F(GatherStrategyTest, EarlierGpusNeverSample) {
  on_t4();
  GatherArgs args = items(4, 128 * kMebi, 128 * kMebi);
  EXPECT_EQ(strategy(args), "items_vectors");
  args.path = GPUKERN_GATHER_PARTITIONED;
  EXPECT_EQ(strategy(args), "items_vectors");
  EXPECT_EQ(strategy(items(4, 1024 * kMebi, 16 * kMebi)), "items_pairs");
}

TEST_F(GatherStrategyTest, RowsByTheirLengthAndNumber) {
  EXPECT_EQ(strategy(items(100, 1000, 1000)), "rows_small");
  EXPECT_EQ(strategy(items(100, 1000, kMebi)), "shared");
  EXPECT_EQ(strategy(items(20, 1000, kMebi)), "rows");
  EXPECT_EQ(strategy(items(kKibi, 1000, kMebi)), "rows");
  GatherArgs in_place = items(kKibi, 1000, 1000);
  in_place.in_place = true;
  EXPECT_EQ(strategy(in_place), "rows");
}

TEST_F(GatherStrategyTest, LastAxes) {
  EXPECT_EQ(strategy(last_axis(4, 10000, 1000, 500)), "last_axis_shared");
  EXPECT_EQ(strategy(last_axis(4, 100, 1000, 500)), "last_axis") << "too few rows for all blocks";
  EXPECT_EQ(strategy(last_axis(4, 1000, 100000, 80000)), "last_axis_shared")
      << "half of a row is in shared memory";
  EXPECT_EQ(strategy(last_axis(4, 1000, 120000, 80000)), "last_axis")
      << "too long for shared memory";
  EXPECT_EQ(strategy(last_axis(4, 10000, 100000, 100)), "rows_small") << "hardly any index";
}

// Only the kernel for large rows reads the rest.
TEST_F(GatherStrategyTest, RowsInPartInSharedMemoryAreLarge) {
  const auto is_large = [](std::int64_t n) {
    const GatherArgs args = last_axis(4, 1000, n, n);
    EXPECT_EQ(strategy(args), "last_axis_shared") << n;
    return gpu::GatherProblem(args).last_axis_is_large();
  };
  EXPECT_FALSE(is_large(28000));
  EXPECT_TRUE(is_large(29000)) << "one block on a multiprocessor";
  EXPECT_TRUE(is_large(100000));
  on_99_kib();
  EXPECT_FALSE(is_large(24000));
  EXPECT_TRUE(is_large(26000));
  EXPECT_TRUE(is_large(49000));
}

// The strides of take_along_axis: each position of the loop has an index.
TEST_F(GatherStrategyTest, OperandsThatMoveTogetherAreTiles) {
  const auto along = [](std::int64_t n, const Strides& outer, const Strides& inner) {
    GatherArgs args = gather_of(4, n, 4);
    args.loop.push(100, outer);
    args.loop.push(50, inner);
    return args;
  };
  // Axis 1 of (100, 60) by (100, 50); axis 0 of (60, 50) by (100, 50).
  EXPECT_EQ(strategy(along(60, {240, 200, 200, 0}, {0, 4, 4, 0})), "tiles");
  EXPECT_EQ(strategy(along(60, {0, 200, 200, 0}, {4, 4, 4, 0})), "tiles");
  // The same with a fill value for each column, or for each position.
  const auto filled = [](GatherArgs args, std::int64_t size) {
    args.mode = GPUKERN_INDEX_FILL;
    args.fill_value = args.source;
    args.fill_size = size;
    args.fill_period = 4;
    return args;
  };
  EXPECT_EQ(strategy(filled(along(60, {240, 200, 200, 0}, {0, 4, 4, 4}), 200)), "strided");
  EXPECT_EQ(strategy(filled(along(60, {240, 200, 200, 200}, {0, 4, 4, 4}), 20000)), "strided");
  EXPECT_EQ(strategy(filled(along(60, {240, 200, 200, 0}, {0, 4, 4, 0}), 4)), "tiles");
  // All operands move along one dimension, in every combination.
  for (const Strides& strides : {Strides{4, 4, 4, 0}, Strides{4, 4, 4, 4}, Strides{0, 4, 4, 4}}) {
    GatherArgs args = gather_of(4, 60, 4);
    args.loop.push(1000, strides);
    EXPECT_EQ(strategy(args), "tiles");
  }
}

TEST_F(GatherStrategyTest, TheLastStrategyServesAnyCall) {
  EXPECT_EQ(strategy(items(3, kMebi, 16 * kMebi)), "rows");
  const auto strategies = gpu::gather_strategies();
  EXPECT_TRUE(strategies.back().serves(gpu::GatherProblem(items(3, 1, 1))));
}

TEST_F(GatherStrategyTest, PathsOfExplanations) {
  const auto path = [](const GatherArgs& args) {
    const gpu::GatherProblem problem(args);
    for (const gpu::GatherStrategy& strategy : gpu::gather_strategies())
      if (strategy.serves(problem)) return strategy.path(problem);
    return GPUKERN_PATH_NONE;
  };
  EXPECT_EQ(path(items(4, kMebi, 1000)), GPUKERN_PATH_ITEMS);
  EXPECT_EQ(path(items(4, 128 * kMebi, 128 * kMebi)), GPUKERN_PATH_PARTITIONED);
  EXPECT_EQ(path(items(100, 1000, 1000)), GPUKERN_PATH_ROWS);
  EXPECT_EQ(path(last_axis(4, 10000, 1000, 500)), GPUKERN_PATH_ITEMS);
  GatherArgs misaligned = items(4, kMebi, 16 * kMebi);
  misaligned.index += 4;
  EXPECT_EQ(path(misaligned), GPUKERN_PATH_ITEMS) << "an item is one word";
  misaligned.index += 1;
  EXPECT_EQ(path(misaligned), GPUKERN_PATH_STRIDED);
}

}  // namespace
}  // namespace gpukern_test
