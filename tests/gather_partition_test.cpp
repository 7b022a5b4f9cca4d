// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The partitioned gather, forced. Unsupported calls, and calls on the CPU, give the same result;
// gather_path_test.cpp uses graphs to test which calls are supported.

#include <thread>

#include "device_memory.hpp"
#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kSlice = 3 << 14;

/// The distribution of the indices over the source. InTurn: runs that are sorted, and others that
/// are not. SliceOfTile: most of a tile are of one slice. From HalfBad on, some are out of bounds.
enum class Spread {
  Uniform,
  Sorted,
  InTurn,
  Equal,
  HotSlice,
  SliceOfTile,
  HalfBad,
  AllBad,
  BadAtTheEnd
};

struct PartitionCase {
  int width = 4;
  const IndexType* type = &kInt32;
  std::int64_t n = 1000;
  std::int64_t count = 1000;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  Spread spread = Spread::Uniform;
  bool fill = false;
  int source_shift = 0;  ///< bytes off alignment
  int index_shift = 0;
  int out_shift = 0;

  [[nodiscard]] std::int64_t tile() const { return (width <= 4 ? 48 : 24) << 10; }
};

std::string text_of(const PartitionCase& call) {
  return "width " + std::to_string(call.width) + ", " + call.type->name + ", n " +
         std::to_string(call.n) + ", count " + std::to_string(call.count) + ", mode " +
         std::to_string(call.mode) + ", spread " + std::to_string(static_cast<int>(call.spread));
}

class IndexMaker {
 public:
  explicit IndexMaker(const PartitionCase& call)
      : call_(call),
        low_(std::max<Wide>(call.type->lowest, -Wide{call.n})),
        high_(std::min<Wide>(call.type->highest, Wide{call.n} - 1)) {}

  Wide operator()(std::int64_t k) {
    switch (call_.spread) {
      case Spread::Uniform:
        return good();
      case Spread::Sorted:
        return sorted(k);
      case Spread::InTurn:
        return k / 37 % 2 == 0 ? sorted(k) : good();
      case Spread::Equal:
        return high_ - high_ / 3;
      case Spread::HotSlice:
        return random_() % 8 == 0 ? good()
                                  : high_ - static_cast<Wide>(random_() % 64) % (high_ + 1);
      case Spread::SliceOfTile:
        return random_() % 8 == 0 ? good() : in_slice(k / call_.tile() % 30);
      case Spread::HalfBad:
        return random_() % 2 == 0 ? good() : bad();
      case Spread::AllBad:
        return bad();
      case Spread::BadAtTheEnd:
        return k < call_.count - 100 ? good() : bad();
    }
    return 0;
  }

 private:
  Wide good() {
    return low_ + static_cast<Wide>(random_() % static_cast<std::uint64_t>(high_ - low_ + 1));
  }
  Wide in_slice(std::int64_t slice) {
    return Wide{slice} * kSlice + static_cast<Wide>(random_() % std::uint64_t{kSlice});
  }
  Wide sorted(std::int64_t k) const {
    return std::min<Wide>(high_, Wide{k} * call_.n / call_.count);
  }
  Wide bad() {
    const auto far = static_cast<Wide>(random_() % (random_() % 2 == 0 ? 10 : 1000000007));
    if (random_() % 2 == 0 && call_.type->lowest < 0)
      return std::max<Wide>(call_.type->lowest, -Wide{call_.n} - 1 - far);
    return std::min<Wide>(call_.type->highest, Wide{call_.n} + far);
  }

  const PartitionCase& call_;
  Wide low_;
  Wide high_;
  Random random_{99};
};

/// One item of the result as gather_oracle() computes it, but fast enough for millions.
void write_expected(const PartitionCase& call, const Bytes& source, const std::byte* fill,
                    std::int64_t k, Wide index, Bytes& out) {
  const bool plain = index >= 0 && index < call.n;  // avoids a division of 128 bits
  const auto position =
      plain ? std::optional(static_cast<std::int64_t>(index)) : resolve(index, call.n, call.mode);
  const auto width = static_cast<std::size_t>(call.width);
  const std::byte* const from =
      position ? source.data() + call.source_shift + *position * call.width : fill;
  std::memcpy(out.data() + kGuard + call.out_shift + k * call.width, from, width);
}

/// The memories of source and index end with their last element, so that a memory checker detects
/// reads beyond it.
void check(const PartitionCase& call, Placement placement,
           gpukern_gather_path path = GPUKERN_GATHER_PARTITIONED) {
  SCOPED_TRACE(text_of(call));
  const auto bytes = [](std::int64_t size) { return static_cast<std::size_t>(size); };
  const std::int64_t index_item = item_bytes(call.type->dtype);
  Memory source(placement, bytes(call.source_shift + call.n * call.width));
  Memory index(placement, bytes(call.index_shift + call.count * index_item));
  Memory out(placement, bytes(2 * kGuard + call.out_shift + call.count * call.width));
  Random random(5);
  fill_random(source.host, random);
  fill_random(out.host, random);
  Bytes fill(16);
  if (call.fill) fill_random(fill, random);

  Bytes expected = out.host;
  IndexMaker make(call);
  for (std::int64_t k = 0; k < call.count; ++k) {
    const Wide value = make(k);
    store_index(index.host, call.index_shift + k * index_item, call.type->dtype, value);
    write_expected(call, source.host, fill.data(), k, value, expected);
  }
  for (Memory* memory : {&source, &index, &out}) memory->commit();

  const gpukern_dtype dtype = bytes_dtype(call.width);
  const View from{&source, dtype, {call.n}, {1}, call.source_shift};
  const View at{&index, call.type->dtype, {call.count}, {1}, call.index_shift};
  const View to{&out, dtype, {call.count}, {1}, kGuard + call.out_shift};
  const gpukern_exec exec = exec_at(placement);
  const gpukern_tensor tensors[] = {from.tensor(), at.tensor(), to.tensor()};
  const gpukern_tensor value{fill.data(), kCpu, 0, dtype, nullptr, nullptr, 0};
  gpukern_gather_options options = gather_options(call.mode, call.fill ? &value : nullptr);
  options.path = path;
  ASSERT_EQ(gpukern_gather(&tensors[0], &tensors[1], 0, &tensors[2], &options, &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  out.fetch();
  EXPECT_TRUE(same_bytes(expected, out.host));
}

class GatherPartitionTest : public PlacementTest {};

constexpr const IndexType* kWideTypes[] = {&kIndexTypes[2], &kIndexTypes[3], &kIndexTypes[6],
                                           &kIndexTypes[7]};

TEST_P(GatherPartitionTest, EveryWidthIndexTypeAndMode) {
  for (const int width : {1, 2, 4, 8})
    for (const IndexType* type : kWideTypes)
      for (const gpukern_index_mode mode : kModes) {
        PartitionCase call{.width = width, .type = type, .n = 3 * kSlice + 5, .mode = mode};
        call.count = (528 << 10) + 17;  // enough for the sample, which finds nothing to leave out
        check(call, placement());
        call.count = 2 * call.tile() + 17;
        call.spread = Spread::InTurn;
        check(call, placement());
        if (mode == GPUKERN_INDEX_RAISE) continue;
        call.spread = Spread::HalfBad;
        call.fill = mode == GPUKERN_INDEX_FILL;
        check(call, placement());
      }
}

TEST_P(GatherPartitionTest, SourcesAndResultsOfEveryLength) {
  for (const int width : {1, 2, 4, 8})
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, kSlice,
                                 3 * kSlice + 5, std::int64_t{5} << 20}) {
      PartitionCase call{.width = width, .n = n};
      for (const std::int64_t count : {call.tile() - 1, call.tile(), call.tile() + 1}) {
        call.count = count;
        check(call, placement());
      }
    }
  for (const int width : {1, 2, 4, 8})
    check({.width = width, .type = &kInt64, .n = 5 << 20, .count = (1 << 20) + 3}, placement());
}

TEST_P(GatherPartitionTest, IndicesOfEverySpread) {
  for (const int width : {1, 4, 8})
    for (const std::int64_t n : {kSlice - 3, 40 * kSlice + 1})
      for (const Spread spread : {Spread::Sorted, Spread::InTurn, Spread::Equal, Spread::HotSlice,
                                  Spread::AllBad, Spread::BadAtTheEnd}) {
        PartitionCase call{.width = width, .n = n, .mode = GPUKERN_INDEX_FILL, .spread = spread};
        call.fill = true;
        call.count = 12 * call.tile() + 1;
        check(call, placement());
      }
}

// More slices than blocks: slices of narrow items are prefetched, the last one partially.
TEST_P(GatherPartitionTest, ManySlices) {
  for (const int width : {1, 2}) {
    PartitionCase call{.width = width, .n = 300 * kSlice + 5};
    call.count = 4 * call.tile();
    check(call, placement());
  }
}

// Far more items of a slice in some tiles than in most: all warps of a block share them.
TEST_P(GatherPartitionTest, LongRuns) {
  for (const int width : {1, 4, 8})
    for (const Spread spread : {Spread::SliceOfTile, Spread::HotSlice}) {
      PartitionCase call{.width = width, .n = 150 * kSlice, .spread = spread};
      call.count = 140 * call.tile();
      check(call, placement());
    }
}

// More tiles than blocks, and heavy slices in many parts.
TEST_P(GatherPartitionTest, ManyTiles) {
  for (const int width : {1, 8})
    for (const Spread spread : {Spread::Uniform, Spread::Equal, Spread::HotSlice}) {
      PartitionCase call{
          .width = width, .n = 100 * kSlice, .mode = GPUKERN_INDEX_WRAP, .spread = spread};
      call.count = 150 * call.tile() + 3;
      check(call, placement());
    }
}

TEST_P(GatherPartitionTest, UnsupportedCalls) {
  for (const int width : {3, 5, 12, 16})
    check({.width = width, .n = 50000, .count = 100001, .mode = GPUKERN_INDEX_CLIP}, placement());
  for (const int type : {0, 1, 4, 5})
    check({.type = &kIndexTypes[type], .n = 120, .count = 100001}, placement());
  for (const int width : {1, 4, 8}) {
    const PartitionCase call{.width = width, .n = 50000, .count = 100001};
    for (const int shift : {1, 4, 8}) {
      PartitionCase source = call;
      source.source_shift = shift;
      check(source, placement());
      PartitionCase index = call;
      index.index_shift = shift;
      check(index, placement());
      PartitionCase out = call;
      out.out_shift = shift;
      check(out, placement());
    }
  }
}

TEST_P(GatherPartitionTest, StridedSourcesAndItemsOfSeveralElements) {
  Random random(3);
  for (const Layout layout : {Layout::Contiguous, Layout::Strided, Layout::Reversed}) {
    Array source(placement(), bytes_dtype(2), {3000, 2}, layout);
    Array index(placement(), kInt32.dtype, {300, 200});
    Array out(placement(), bytes_dtype(2), {300, 200, 2});
    fill_random(source.storage.host, random);
    fill_indices(index, random, 3000, 9);
    const gpukern_exec exec = exec_at(placement());
    gpukern_gather_options options = gather_options(GPUKERN_INDEX_WRAP);
    options.path = GPUKERN_GATHER_PARTITIONED;
    const Gather call{source, index, 0, GPUKERN_INDEX_WRAP, out};
    const Expected expected = gather_oracle(call);
    for (Memory* memory : {&source.storage, &index.storage, &out.storage}) memory->commit();
    const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
    ASSERT_EQ(gpukern_gather(&tensors[0], &tensors[1], 0, &tensors[2], &options, &exec),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    out.storage.fetch();
    EXPECT_TRUE(same_bytes(expected.out, out.storage.host));
  }
}

TEST_P(GatherPartitionTest, SeveralThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      for (int round = 0; round < 10; ++round)
        check({.width = t % 2 == 0 ? 4 : 8, .n = (1 + 37 * t) * kSlice, .count = 60000},
              placement());
    });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Placements, GatherPartitionTest,
                         testing::Values(Placement::Cpu, Placement::Cuda),
                         [](const testing::TestParamInfo<Placement>& parameter) {
                           return placement_name(parameter.param);
                         });

}  // namespace
}  // namespace gpukern_test
