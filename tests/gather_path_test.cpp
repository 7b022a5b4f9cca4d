// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The path of gathers on a GPU, determined by the number of nodes of a captured graph, and tests
// that need large arrays: their contents are generated on the GPU, and every item follows from its
// position.

#include "device_table.hpp"
#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kMebi = 1 << 20;

/// Whether the partitioned gather runs on the device.
bool partitions() {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS) << gpukern_last_error();
  return info.compute_capability_major == 9 || info.compute_capability_major == 10;
}

class GatherPathTest : public GpuTest {
 protected:
  struct Arrays {
    void* source;
    std::int64_t n;
    void* index;
    std::int64_t count;
    void* out;
    int width = 4;
    int index_width = 4;
  };

  static gpukern_status gather(const Arrays& a, gpukern_gather_path path, void* stream = nullptr,
                               gpukern_index_mode mode = GPUKERN_INDEX_WRAP) {
    std::int64_t n = a.n;
    std::int64_t count = a.count;
    const auto bits = static_cast<std::uint8_t>(8 * a.index_width);
    const gpukern_tensor source{a.source, kCuda, 1, bytes_dtype(a.width), &n, nullptr, 0};
    const gpukern_tensor index{a.index, kCuda, 1, {GPUKERN_INT, bits, 1}, &count, nullptr, 0};
    const gpukern_tensor out{a.out, kCuda, 1, bytes_dtype(a.width), &count, nullptr, 0};
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    gpukern_gather_options options = gather_options(mode);
    options.path = path;
    return gpukern_gather(&source, &index, 0, &out, &options, &exec);
  }

  /// One node is the direct kernel. The graph is not launched, so the arrays may be shorter.
  static std::size_t nodes(const Arrays& arrays, gpukern_gather_path path) {
    const StreamHandle stream;
    stream.begin_capture();
    EXPECT_EQ(gather(arrays, path, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    return Graph(stream).nodes();
  }

  enum class Spread { Random, Sorted, Falling, Equal, SortedAtFirst, InTurn };

  static std::int64_t position(Spread spread, std::int64_t k, std::int64_t n, std::int64_t count) {
    const auto at = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(k)) %
                                              static_cast<std::uint64_t>(n));
    const std::int64_t random = k % 5 == 0 ? at - n : at;
    switch (spread) {
      case Spread::Sorted:
        return k * n / count;
      case Spread::Falling:
        return n - 1 - k * n / count;
      case Spread::Equal:
        return n / 3;
      case Spread::SortedAtFirst:
        return k < count / 8 ? k * n / count : random;
      case Spread::InTurn:
        return k % 2 == 0 ? k * n / count : random;
      default:
        return random;
    }
  }

  /// Random indices include negative ones.
  template <class Index>
  static std::vector<Index> indices(std::int64_t n, std::int64_t count,
                                    Spread spread = Spread::Random) {
    std::vector<Index> values(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k)
      values[static_cast<std::size_t>(k)] = static_cast<Index>(position(spread, k, n, count));
    return values;
  }

  template <class T, class Index>
  static void expect_items(const Table<T>& table, std::int64_t n, const std::vector<Index>& index,
                           const std::vector<T>& items) {
    for (std::size_t k = 0; k < index.size(); ++k) {
      const auto at = static_cast<std::int64_t>(index[k]);
      ASSERT_EQ(items[k], table.item(at < 0 ? at + n : at)) << k;
    }
  }

  /// Items of T from a table of n items, partitioned by slices that fit in the L2 cache.
  template <class T, class Index>
  static void check_cached(std::int64_t n) {
    const Table<T> table(n / Table<T>::kColumns + 1);
    const auto index = indices<Index>(n, 3 * kMebi + 5);
    const auto count = static_cast<std::int64_t>(index.size());
    const DeviceMemory<int> index_memory(count * static_cast<std::int64_t>(sizeof(Index) / 4));
    const DeviceMemory<int> out(count * static_cast<std::int64_t>(sizeof(T) / 4));
    write_items(index_memory, index);
    const Arrays arrays{table.data(), n,         index_memory.data(), count,
                        out.data(),   sizeof(T), sizeof(Index)};
    for (const auto mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_WRAP}) {
      ASSERT_EQ(gather(arrays, GPUKERN_GATHER_PARTITIONED, nullptr, mode), GPUKERN_SUCCESS)
          << gpukern_last_error();
      std::vector<T> items(index.size());
      read_back(items.data(), out.data(), out.bytes());
      expect_items(table, n, index, items);
    }
  }

  /// One graph, launched with indices of all kinds: the device chooses the path at each launch.
  template <class T>
  static void check_replays() {
    constexpr std::int64_t kN = 24 * kMebi;
    constexpr std::int64_t kCount = 40 * kMebi + 7;
    const Table<T> table(kN / Table<T>::kColumns);
    const DeviceMemory<int> index(kCount);
    const DeviceMemory<int> out(kCount * static_cast<std::int64_t>(sizeof(T) / 4));
    const Arrays arrays{table.data(), kN, index.data(), kCount, out.data(), sizeof(T)};
    cuda("cuCtxSynchronize");
    const StreamHandle stream;
    stream.begin_capture();
    ASSERT_EQ(gather(arrays, GPUKERN_GATHER_AUTO, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    const Graph graph(stream);
    if (partitions()) {
      EXPECT_GT(graph.nodes(), 5U);
    }
    for (const Spread spread :
         {Spread::Random, Spread::Sorted, Spread::Falling, Spread::SortedAtFirst, Spread::InTurn,
          Spread::Equal, Spread::Random}) {
      SCOPED_TRACE("spread " + std::to_string(static_cast<int>(spread)));
      const auto values = indices<int>(kN, kCount, spread);
      index.write(values);
      enqueue_fill(out.data(), 0xabababab, out.bytes() / 4, nullptr);
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      std::vector<T> items(values.size());
      read_back(items.data(), out.data(), out.bytes());
      expect_items(table, kN, values, items);
    }
  }

 private:
  EnvironmentVariable variable_{"GPUKERN_GATHER", std::nullopt};
};

TEST_F(GatherPathTest, SupportedAndUnsupportedCalls) {
  if (!partitions()) GTEST_SKIP() << "the device is not of compute capability 9.0 or 10.x";
  const DeviceMemory<int> memory(kMebi);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  const Arrays usual{bytes, 50000, bytes, 60000, bytes + 2 * kMebi};
  EXPECT_EQ(nodes(usual, GPUKERN_GATHER_DIRECT), 1U);
  EXPECT_GT(nodes(usual, GPUKERN_GATHER_PARTITIONED), 5U);
  EXPECT_EQ(nodes(usual, GPUKERN_GATHER_AUTO), 1U) << "too small to pay";
  for (const int width : {1, 2, 8}) {
    Arrays other = usual;
    other.width = width;
    EXPECT_GT(nodes(other, GPUKERN_GATHER_PARTITIONED), 5U) << width;
  }
  const auto expect_direct = [&](const auto& change) {
    Arrays other = usual;
    change(other);
    EXPECT_EQ(nodes(other, GPUKERN_GATHER_PARTITIONED), 1U);
  };
  expect_direct([](Arrays& a) { a.width = 16; });
  expect_direct([](Arrays& a) { a.width = 3; });
  expect_direct([](Arrays& a) { a.index_width = 2; });
  expect_direct([](Arrays& a) { a.count = (48 << 10) - 1; });
  expect_direct([](Arrays& a) { a.source = static_cast<std::byte*>(a.source) + 8; });
  expect_direct([](Arrays& a) { a.index = static_cast<std::byte*>(a.index) + 8; });
  expect_direct([](Arrays& a) { a.out = static_cast<std::byte*>(a.out) + 8; });
}

TEST_F(GatherPathTest, TheEnvironmentChooses) {
  if (!partitions()) GTEST_SKIP() << "the device is not of compute capability 9.0 or 10.x";
  const DeviceMemory<int> memory(kMebi);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  const Arrays arrays{bytes, 50000, bytes, 60000, bytes + 2 * kMebi};
  const EnvironmentVariable variable("GPUKERN_GATHER", "partitioned");
  EXPECT_GT(nodes(arrays, GPUKERN_GATHER_AUTO), 5U);
  EXPECT_EQ(nodes(arrays, GPUKERN_GATHER_DIRECT), 1U) << "exec goes before";
  const EnvironmentVariable other("GPUKERN_GATHER", "direct");
  EXPECT_EQ(nodes(arrays, GPUKERN_GATHER_AUTO), 1U);
}

TEST_F(GatherPathTest, InvalidEnvironmentValuesAreRefused) {
  constexpr std::int64_t kCount = 4096;  // fewer indices always take the direct path
  const DeviceMemory<int> memory(3 * kCount);
  const EnvironmentVariable variable("GPUKERN_GATHER", "fast");
  const Arrays arrays{memory.data(), kCount, memory.data() + kCount, kCount,
                      memory.data() + 2 * kCount};
  expect_error(gather(arrays, GPUKERN_GATHER_AUTO), GPUKERN_VALUE_ERROR,
               "GPUKERN_GATHER must be auto, direct or partitioned, got fast");
}

// The direct kernel also gathers the items after the last whole tile.
TEST_F(GatherPathTest, PartialTilesNeedNoOtherKernel) {
  if (!partitions()) GTEST_SKIP() << "the device is not of compute capability 9.0 or 10.x";
  const DeviceMemory<int> memory(kMebi);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  const Arrays whole{bytes, 50000, bytes, 48 << 10, bytes + 2 * kMebi};
  Arrays more = whole;
  more.count += 17;
  EXPECT_EQ(nodes(more, GPUKERN_GATHER_PARTITIONED), nodes(whole, GPUKERN_GATHER_PARTITIONED));
}

TEST_F(GatherPathTest, AutomaticSamplesTheIndicesOfEachReplay) {
  check_replays<std::int32_t>();
  check_replays<std::int64_t>();
}

// Of a walk by 16797, the last part of the sample has four times the granules that its list holds.
TEST_F(GatherPathTest, SampledGranulesInBursts) {
  constexpr std::int64_t kN = 24 * kMebi;
  constexpr std::int64_t kCount = 40 * kMebi;
  const Table<std::int32_t> table(kN / Table<std::int32_t>::kColumns);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  std::vector<int> values(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) values[i] = static_cast<int>(i * 16797 % kN);
  index.write(values);
  const Arrays arrays{table.data(), kN, index.data(), kCount, out.data()};
  ASSERT_EQ(gather(arrays, GPUKERN_GATHER_AUTO), GPUKERN_SUCCESS) << gpukern_last_error();
  expect_items(table, kN, values, out.read());
}

// Fewer multiprocessors than the sample has blocks.
TEST_F(GatherPathTest, TwoMultiprocessorsOfAGreenContext) {
  if (!GreenStream::supported()) GTEST_SKIP() << "the driver has no streams of green contexts";
  constexpr std::int64_t kN = 24 * kMebi;
  constexpr std::int64_t kCount = 32 * kMebi;
  const Table<std::int32_t> table(kN / Table<std::int32_t>::kColumns);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  const Arrays arrays{table.data(), kN, index.data(), kCount, out.data()};
  if (partitions()) {
    EXPECT_GT(nodes(arrays, GPUKERN_GATHER_AUTO), 5U);
  }
  const GreenStream stream;
  for (const Spread spread : {Spread::Random, Spread::Sorted}) {
    const auto values = indices<int>(kN, kCount, spread);
    index.write(values);
    cuda("cuCtxSynchronize");
    ASSERT_EQ(gather(arrays, GPUKERN_GATHER_AUTO, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    stream.synchronize();
    expect_items(table, kN, values, out.read());
  }
}

TEST_F(GatherPathTest, SourcesBeyondSlicesInSharedMemory) {
  check_cached<std::int32_t, std::int32_t>(5501 * (std::int64_t{3} << 14) - 3);
  check_cached<std::int32_t, std::int64_t>(5501 * (std::int64_t{3} << 14) - 3);
  check_cached<std::int64_t, std::int32_t>(4400 * (std::int64_t{3} << 13) + 1);
  check_cached<std::int64_t, std::int64_t>(4400 * (std::int64_t{3} << 13) + 1);
}

TEST_F(GatherPathTest, MoreThanFourGibiItems) {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS) << gpukern_last_error();
  if (info.total_memory_bytes >> 30 < 32) GTEST_SKIP() << "too little GPU memory";
  check_cached<std::int32_t, std::int64_t>((std::int64_t{1} << 32) + 5);
}

// Another stream changes the indices during the calls: any result, but no access out of bounds.
TEST_F(GatherPathTest, IndicesChangeDuringTheCall) {
  constexpr std::int64_t kN = 5 * kMebi + 3;
  constexpr std::int64_t kCount = 4 * kMebi;
  const DeviceMemory<int> source(2 * kN);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> one(kCount);
  const DeviceMemory<int> other(kCount);
  const DeviceMemory<int> out(2 * kCount + 32);
  one.write(indices<int>(kN, kCount));
  other.write(std::vector<int>(kCount, INT32_MIN));
  index.write(one.read());
  enqueue_fill(out.data(), 77, 2 * kCount + 32, nullptr);
  cuda("cuCtxSynchronize");
  const StreamHandle writing;
  const StreamHandle stream;
  for (int round = 0; round < 20; ++round) {
    for (int k = 0; k < 4; ++k) {
      const auto& from = (k + round) % 2 == 0 ? one : other;
      enqueue_copy(index.data(), from.data(), index.bytes(), writing);
    }
    for (const int width : {4, 8})
      EXPECT_EQ(gather({source.data(), kN, index.data(), kCount, out.data() + 16, width},
                       GPUKERN_GATHER_PARTITIONED, stream,
                       round % 2 == 0 ? GPUKERN_INDEX_WRAP : GPUKERN_INDEX_FILL),
                GPUKERN_SUCCESS)
          << gpukern_last_error();
  }
  writing.synchronize();
  stream.synchronize();
  const auto after = out.read();
  EXPECT_EQ(std::vector<int>(after.begin(), after.begin() + 16), std::vector<int>(16, 77));
  EXPECT_EQ(std::vector<int>(after.end() - 16, after.end()), std::vector<int>(16, 77));
}

// The direct kernels are used if the pool has no scratch memory left.
TEST_F(GatherPathTest, WithoutScratchMemory) {
  constexpr std::int64_t kN = 24 * kMebi;
  constexpr std::int64_t kCount = 40 * kMebi;
  const Table<std::int32_t> table(kN / Table<std::int32_t>::kColumns);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  const auto values = indices<int>(kN, kCount);
  index.write(values);
  const Arrays arrays{table.data(), kN, index.data(), kCount, out.data()};
  for (const auto path : {GPUKERN_GATHER_DIRECT, GPUKERN_GATHER_PARTITIONED})
    ASSERT_EQ(gather(arrays, path), GPUKERN_SUCCESS) << gpukern_last_error();
  std::vector<void*> taken;
  for (std::size_t bytes = std::size_t{16} << 30; bytes >= std::size_t{128} << 20; bytes /= 2) {
    void* data = nullptr;
    while (gpukern_allocate(kCuda, bytes, nullptr, &data) == GPUKERN_SUCCESS) taken.push_back(data);
  }
  enqueue_fill(out.data(), 0xabababab, static_cast<std::size_t>(kCount), nullptr);
  EXPECT_EQ(gather(arrays, GPUKERN_GATHER_PARTITIONED), GPUKERN_SUCCESS) << gpukern_last_error();
  expect_items(table, kN, values, out.read());
  for (void* data : taken) EXPECT_EQ(gpukern_release(kCuda, data, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
}

}  // namespace
}  // namespace gpukern_test
