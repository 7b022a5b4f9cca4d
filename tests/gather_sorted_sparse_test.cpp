// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Items far apart in a long source on a GPU, by sorted and by other indices.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device_table.hpp"
#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = (8 << 20) + 3;
constexpr std::int64_t kSourceBytes = 256 * kCount + 64;

enum class Spread { Sorted, Falling, Random, Blocked, SortedAtFirst };
constexpr Spread kSpreads[] = {Spread::Sorted, Spread::Falling, Spread::Random, Spread::Blocked,
                               Spread::SortedAtFirst};

class GatherSortedSparseTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    table_ =
        std::make_unique<Table<std::int32_t>>(kSourceBytes / 4 / Table<std::int32_t>::kColumns + 1);
    index_ = std::make_unique<DeviceMemory<int>>(2 * kCount);
    out_ = std::make_unique<DeviceMemory<int>>(4 * kCount);
  }

  static std::int64_t position(Spread spread, std::int64_t k, std::int64_t n) {
    const auto random = [n](std::int64_t number) {
      return static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(number)) %
                                       static_cast<std::uint64_t>(n));
    };
    const std::int64_t sorted = k * (n / kCount) + random(k) % (n / kCount);
    switch (spread) {
      case Spread::Sorted:
        return sorted;
      case Spread::Falling:
        return n - 1 - sorted;
      case Spread::Random:
        return random(k);
      case Spread::Blocked:
        return (random(k / 64) + k % 64) % n;
      default:
        return k < kCount / 3 ? sorted : random(k);
    }
  }

  /// Some indices are negative; if `bad`, some are out of bounds.
  template <class Index>
  static std::vector<Index> indices(Spread spread, std::int64_t n, bool bad = false) {
    std::vector<Index> made(static_cast<std::size_t>(kCount));
    for (std::int64_t k = 0; k < kCount; ++k) {
      std::int64_t at = position(spread, k, n);
      if (k % 1000 == 7) at -= n;
      if (bad && k % 999 == 5) at += n;
      made[static_cast<std::size_t>(k)] = static_cast<Index>(at);
    }
    return made;
  }

  /// The tensors of a gather; the memory may be shorter if the gather is only captured.
  struct Call {
    std::int64_t width;
    std::int64_t n = kSourceBytes / width;
    std::int64_t count = kCount;
    void* index = nullptr;
    void* out = nullptr;
    void* source = nullptr;  ///< nullptr for the table
    int index_bits = 32;
    gpukern_index_mode mode = GPUKERN_INDEX_WRAP;
    gpukern_gather_path path = GPUKERN_GATHER_AUTO;
    int out_may_change = 0;
  };

  gpukern_status gather(Call call, void* stream = nullptr) const {
    const gpukern_dtype item = bytes_dtype(static_cast<int>(call.width));
    const gpukern_dtype type{GPUKERN_INT, static_cast<std::uint8_t>(call.index_bits), 1};
    void* const from = call.source != nullptr ? call.source : table_->data();
    const gpukern_tensor source{from, kCuda, 1, item, &call.n, nullptr, 0};
    const gpukern_tensor index{call.index, kCuda, 1, type, &call.count, nullptr, 0};
    const gpukern_tensor out{call.out, kCuda, 1, item, &call.count, nullptr, 0};
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    gpukern_gather_options options = gather_options(call.mode);
    options.path = call.path;
    options.out_may_change = call.out_may_change;
    return gpukern_gather(&source, &index, 0, &out, &options, &exec);
  }

  static bool samples() {
    gpukern_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS) << gpukern_last_error();
    return info.compute_capability_major >= 9;
  }

  std::size_t nodes(const Call& call) const {
    const StreamHandle stream;
    stream.begin_capture();
    EXPECT_EQ(gather(call, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    return Graph(stream).nodes();
  }

  void expect_items(const std::vector<std::byte>& items, std::int64_t width, const auto& index,
                    gpukern_index_mode mode) const {
    const std::int64_t n = kSourceBytes / width;
    for (std::int64_t k = 0; k < kCount; ++k) {
      const auto position = resolve(index[static_cast<std::size_t>(k)], n, mode);
      std::int32_t words[4] = {};
      const std::int64_t first = position ? *position * width / 4 : 0;
      for (std::int64_t w = 0; position && w < (width + 3) / 4; ++w)
        words[w] = table_->item(first + w);
      const auto* const expected =
          reinterpret_cast<const std::byte*>(words) + (position ? *position * width % 4 : 0);
      ASSERT_TRUE(std::equal(expected, expected + width, items.data() + k * width)) << k;
    }
  }

  static std::vector<std::byte> bytes_of(const DeviceMemory<int>& out, std::int64_t width) {
    std::vector<std::byte> items(static_cast<std::size_t>(kCount * width));
    read_back(items.data(), out.data(), items.size());
    return items;
  }

  template <class Index>
  void check(std::int64_t width, Spread spread, gpukern_index_mode mode) {
    SCOPED_TRACE("width " + std::to_string(width) + ", spread " +
                 std::to_string(static_cast<int>(spread)) + ", mode " + std::to_string(mode));
    const auto index = indices<Index>(spread, kSourceBytes / width, true);
    write_items(*index_, index);
    enqueue_fill(out_->data(), 0xabababab, static_cast<std::size_t>((kCount * width + 3) / 4),
                 nullptr);
    const Call call{.width = width,
                    .index = index_->data(),
                    .out = out_->data(),
                    .index_bits = 8 * sizeof(Index),
                    .mode = mode};
    ASSERT_EQ(gather(call), GPUKERN_SUCCESS) << gpukern_last_error();
    expect_items(bytes_of(*out_, width), width, index, mode);
  }

  std::unique_ptr<Table<std::int32_t>> table_;
  std::unique_ptr<DeviceMemory<int>> index_;
  std::unique_ptr<DeviceMemory<int>> out_;
};

TEST_F(GatherSortedSparseTest, ItemsOfEveryWidthByIndicesOfEverySpread) {
  int trial = 0;
  for (const std::int64_t width : {1, 2, 4, 8, 16})
    for (const Spread spread : kSpreads) {
      // All but raise, which is below.
      if (width > 2) check<std::int32_t>(width, spread, kModes[1 + trial % 3]);
      check<std::int64_t>(width, spread, kModes[1 + ++trial % 3]);
    }
}

TEST_F(GatherSortedSparseTest, SampledAndUnsampledCalls) {
  if (!samples()) GTEST_SKIP() << "not of compute capability 9.0 or later";
  const Call usual{.width = 4, .index = index_->data(), .out = out_->data()};
  const std::size_t sampled = nodes(usual);
  EXPECT_GT(sampled, 3U);
  const auto expect_nodes = [&](std::size_t expected, const auto& change) {
    Call other = usual;
    change(other);
    EXPECT_EQ(nodes(other), expected);
  };
  expect_nodes(sampled, [](Call& c) { c.count = c.n / 32; });
  expect_nodes(sampled, [](Call& c) { c.index_bits = 64; });
  expect_nodes(1, [](Call& c) { c.path = GPUKERN_GATHER_DIRECT; });
  expect_nodes(1, [](Call& c) { c.count = c.n / 32 + 1; });
  expect_nodes(1, [](Call& c) { c.count = (8 << 20) - 1; });
  expect_nodes(1, [](Call& c) { c.index_bits = 16; });
  expect_nodes(1, [](Call& c) { c.index = static_cast<std::byte*>(c.index) + 4; });
  expect_nodes(1, [](Call& c) { c.width = 1, c.n = 100 * kCount; });
}

// The source must be allocated completely: one that seems to overlap out would be copied.
TEST_F(GatherSortedSparseTest, IndicesAKibibyteApartAreNotSampled) {
  if (!samples()) GTEST_SKIP() << "not of compute capability 9.0 or later";
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS) << gpukern_last_error();
  if (info.total_memory_bytes >> 30 < 32) GTEST_SKIP() << "too little GPU memory";
  const DeviceMemory<int> source(256 * kCount);
  const Call far{.width = 4,
                 .n = 256 * kCount,
                 .index = index_->data(),
                 .out = out_->data(),
                 .source = source.data(),
                 .index_bits = 64};
  EXPECT_EQ(nodes(far), 1U);
  Call nearer = far;
  --nearer.n;
  EXPECT_GT(nodes(nearer), 3U);
}

TEST_F(GatherSortedSparseTest, EachReplayUsesTheCurrentIndices) {
  const Call call{.width = 4, .index = index_->data(), .out = out_->data()};
  cuda("cuCtxSynchronize");
  const StreamHandle stream;
  stream.begin_capture();
  ASSERT_EQ(gather(call, stream), GPUKERN_SUCCESS) << gpukern_last_error();
  const Graph graph(stream);
  for (const Spread spread : {Spread::Sorted, Spread::Random, Spread::Sorted, Spread::Blocked}) {
    const auto index = indices<std::int32_t>(spread, call.n);
    write_items(*index_, index);
    enqueue_fill(out_->data(), 0xabababab, kCount, nullptr);
    cuda("cuCtxSynchronize");
    graph.launch(stream);
    stream.synchronize();
    expect_items(bytes_of(*out_, 4), 4, index, GPUKERN_INDEX_WRAP);
  }
}

// The gather itself finds it, since it may change out.
TEST_F(GatherSortedSparseTest, ABadIndexIsNamed) {
  const Call call{.width = 4,
                  .index = index_->data(),
                  .out = out_->data(),
                  .mode = GPUKERN_INDEX_RAISE,
                  .out_may_change = 1};
  for (const Spread spread : {Spread::Sorted, Spread::Random}) {
    auto index = indices<std::int32_t>(spread, call.n);
    write_items(*index_, index);
    ASSERT_EQ(gather(call), GPUKERN_SUCCESS) << gpukern_last_error();
    expect_items(bytes_of(*out_, 4), 4, index, GPUKERN_INDEX_RAISE);
    index[index.size() - 2] = static_cast<std::int32_t>(call.n);
    write_items(*index_, index);
    expect_error(gather(call), GPUKERN_INDEX_ERROR, "index " + std::to_string(call.n));
  }
}

}  // namespace
}  // namespace gpukern_test
