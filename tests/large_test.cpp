// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// More than 2^31 elements. On a GPU if its memory suffices; on the CPU, where this takes long, only
// if GPUKERN_TEST_LARGE=1 is set.

#include <algorithm>
#include <cstdlib>
#include <map>

#include "saxpy_oracle.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 12345;
constexpr gpukern_dtype kByte{GPUKERN_UINT, 8, 1};

/// Memory for the two float16 arrays of the largest test, and a margin.
constexpr std::uint64_t kNeededBytes = std::uint64_t{10} << 30;

/// Runs on the CPU with host tensors and on the GPU with device tensors.
class LargeTest : public PlacementTest {
 protected:
  void SetUp() override {
    PlacementTest::SetUp();
    if (IsSkipped()) return;
    if (placement() == Placement::Cpu) return;
    gpukern_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS) << gpukern_last_error();
    if (info.total_memory_bytes < 2 * kNeededBytes) GTEST_SKIP() << "too little GPU memory";
  }

  /// A contiguous view of the start of a memory.
  static View first_of(Memory& memory, gpukern_dtype dtype, std::int64_t count) {
    return {&memory, dtype, {count}, {1}, 0};
  }

  /// Differs between positions that are 2^31 or 2^32 apart, which a narrow offset would confuse.
  static std::uint32_t mixed(std::int64_t position) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15U >>
                                      40U);
  }
};

TEST_P(LargeTest, GatherOfManyAndFromMany) {
  Memory table(placement(), 256);
  for (std::size_t k = 0; k < 256; ++k) table.host[k] = static_cast<std::byte>(k * 7 + 3);
  table.commit();
  Memory index(placement(), static_cast<std::size_t>(kMany));
  for (std::int64_t k = 0; k < kMany; ++k)
    store(index.host, k, static_cast<std::uint8_t>(mixed(k)));
  index.commit();
  Memory out(placement(), static_cast<std::size_t>(kMany));

  const gpukern_exec exec = exec_at(placement());
  const View source_view = first_of(table, kByte, 256);
  const View index_view = first_of(index, kByte, kMany);
  const View out_view = first_of(out, kByte, kMany);
  const gpukern_tensor source_tensor = source_view.tensor();
  const gpukern_tensor index_tensor = index_view.tensor();
  const gpukern_tensor out_tensor = out_view.tensor();
  ASSERT_EQ(call_gather(&source_tensor, &index_tensor, 0, &out_tensor,
                        gather_options(GPUKERN_INDEX_RAISE), &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  out.fetch();
  for (std::int64_t k = 0; k < kMany; ++k)
    ASSERT_EQ(load<std::uint8_t>(out.host, k), static_cast<std::uint8_t>(mixed(k) * 7 + 3)) << k;

  // The long result is now the source; the indices are near its powers of two.
  const std::vector<std::int64_t> far{kMany - 1, std::int64_t{1} << 31, INT32_MAX, -kMany, -1, 0};
  const auto count = static_cast<std::int64_t>(far.size());
  Memory far_index(placement(), far.size() * 8);
  std::memcpy(far_index.host.data(), far.data(), far.size() * 8);
  far_index.commit();
  Memory few(placement(), far.size());
  const View far_view = first_of(far_index, {GPUKERN_INT, 64, 1}, count);
  const View few_view = first_of(few, kByte, count);
  const gpukern_tensor far_tensor = far_view.tensor();
  const gpukern_tensor few_tensor = few_view.tensor();
  ASSERT_EQ(call_gather(&out_tensor, &far_tensor, 0, &few_tensor,
                        gather_options(GPUKERN_INDEX_RAISE), &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  few.fetch();
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = far[static_cast<std::size_t>(k)];
    EXPECT_EQ(load<std::uint8_t>(few.host, k),
              load<std::uint8_t>(out.host, at < 0 ? at + kMany : at));
  }
}

TEST_P(LargeTest, SaxpyOfManyHalves) {
  const gpukern_dtype half{GPUKERN_FLOAT, 16, 1};
  Memory x(placement(), static_cast<std::size_t>(2 * kMany));
  Memory y(placement(), 2);
  for (std::int64_t k = 0; k < kMany; ++k)
    store(x.host, 2 * k, static_cast<std::uint16_t>(mixed(k)));
  store(y.host, 0, std::uint16_t{0x3555});
  x.commit();
  y.commit();
  const std::uint16_t a = 0xc123;

  const gpukern_exec exec = exec_at(placement());
  const View x_view = first_of(x, half, kMany);
  const View y_view{&y, half, {kMany}, {0}, 0};
  const gpukern_tensor x_tensor = x_view.tensor();
  const gpukern_tensor y_tensor = y_view.tensor();
  ASSERT_EQ(gpukern_saxpy(&a, &x_tensor, &y_tensor, &x_tensor, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  x.fetch();

  std::vector<std::uint16_t> expected(1U << 16);
  for (std::size_t bits = 0; bits < expected.size(); ++bits)
    expected[bits] =
        multiply_add(Half{a}, Half{static_cast<std::uint16_t>(bits)}, Half{0x3555}).bits;
  for (std::int64_t k = 0; k < kMany; ++k)
    ASSERT_EQ(load<std::uint16_t>(x.host, 2 * k), expected[static_cast<std::uint16_t>(mixed(k))])
        << k;
}

TEST_P(LargeTest, SaxpyOfAListWithManyHalves) {
  const gpukern_dtype half{GPUKERN_FLOAT, 16, 1};
  constexpr std::int64_t kFew = 1000;
  Memory memory(placement(), static_cast<std::size_t>(2 * kMany));
  for (std::int64_t k = 0; k < kMany; ++k)
    store(memory.host, 2 * k, static_cast<std::uint16_t>(mixed(k)));
  memory.commit();
  const std::uint16_t a = 0xc123;

  const gpukern_exec exec = exec_at(placement());
  const View views[] = {{&memory, half, {kMany - kFew}, {1}, 0},
                        {&memory, half, {kFew}, {1}, 2 * (kMany - kFew)}};
  const gpukern_tensor tensors[] = {views[0].tensor(), views[1].tensor()};
  const gpukern_tensor* const list[] = {&tensors[0], &tensors[1]};
  ASSERT_EQ(gpukern_saxpy_many(&a, list, list, list, 2, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  memory.fetch();

  std::vector<std::uint16_t> expected(1U << 16);
  for (std::size_t bits = 0; bits < expected.size(); ++bits) {
    const Half x{static_cast<std::uint16_t>(bits)};
    expected[bits] = multiply_add(Half{a}, x, x).bits;
  }
  for (std::int64_t k = 0; k < kMany; ++k)
    ASSERT_EQ(load<std::uint16_t>(memory.host, 2 * k),
              expected[static_cast<std::uint16_t>(mixed(k))])
        << k;
}

/// The keys of more than 2^32 elements are sorted as 64 bits.
TEST_P(LargeTest, ScatterToMany) {
  constexpr std::int64_t kKeys = (std::int64_t{1} << 32) + 12345;
  constexpr std::int64_t kCount = 80000;  // fewer have a hash table
  const gpukern_dtype half{GPUKERN_FLOAT, 16, 1};
  Memory index(placement(), 8 * kCount);
  Memory values(placement(), 2 * kCount);
  std::map<std::int64_t, std::vector<std::int64_t>> updates;  // of each element
  const std::int64_t far[] = {0, INT32_MAX, std::int64_t{1} << 32, kKeys - 1};
  for (std::int64_t k = 0; k < kCount; ++k) {
    const std::int64_t at = k % 3 == 0 ? far[k / 3 % 4] : (std::int64_t{mixed(k)} << 8U) + k % 7;
    store(index.host, 8 * k, at);
    store(values.host, k, static_cast<std::uint8_t>(k % 251));
    updates[at].push_back(k);
  }
  index.commit();
  values.commit();
  const gpukern_exec exec = exec_at(placement());
  const View index_view = first_of(index, {GPUKERN_INT, 64, 1}, kCount);
  const gpukern_tensor index_tensor = index_view.tensor();
  for (const gpukern_dtype dtype : {kByte, half}) {
    const bool adds = dtype.bits == 16;
    const std::int64_t item = dtype.bits / 8;
    Memory target(placement(), static_cast<std::size_t>(item * kKeys));
    std::fill(target.host.begin(), target.host.end(), std::byte{});
    target.commit();
    for (std::int64_t k = 0; adds && k < kCount; ++k)
      store(values.host, 2 * k, static_cast<std::uint16_t>(k % 8 == 0 ? 0x3c00 : 0));  // 1, 0
    values.commit();
    const View target_view = first_of(target, dtype, kKeys);
    const View values_view = first_of(values, dtype, kCount);
    const gpukern_tensor target_tensor = target_view.tensor();
    const gpukern_tensor values_tensor = values_view.tensor();
    const auto options =
        scatter_options(GPUKERN_INDEX_RAISE, adds ? GPUKERN_REDUCE_ADD : GPUKERN_REDUCE_NONE);
    ASSERT_EQ(
        gpukern_scatter(&target_tensor, &index_tensor, &values_tensor, 0, nullptr, &options, &exec),
        GPUKERN_SUCCESS)
        << gpukern_last_error();
    target.fetch();
    for (const auto& [at, which] : updates) {
      if (!adds) {
        ASSERT_EQ(load<std::uint8_t>(target.host, at), which.back() % 251) << at;
        store(target.host, at, std::uint8_t{});
        continue;
      }
      const auto ones =
          std::count_if(which.begin(), which.end(), [](std::int64_t k) { return k % 8 == 0; });
      const auto sum = Half{load<std::uint16_t>(target.host, 2 * at)}.decode();
      ASSERT_EQ(sum, static_cast<float>(ones)) << at;
      store(target.host, 2 * at, std::uint16_t{});
    }
    ASSERT_TRUE(std::all_of(target.host.begin(), target.host.end(),
                            [](std::byte each) { return each == std::byte{}; }));
  }
}

/// On the CPU only if requested: it takes gigabytes of host memory.
std::vector<Placement> large_placements() {
  const char* large = std::getenv("GPUKERN_TEST_LARGE");
  if (large != nullptr && std::string(large) == "1") return {Placement::Cpu, Placement::Cuda};
  return {Placement::Cuda};
}

INSTANTIATE_TEST_SUITE_P(Placements, LargeTest, testing::ValuesIn(large_placements()),
                         [](const testing::TestParamInfo<Placement>& parameter) {
                           return placement_name(parameter.param);
                         });

}  // namespace
}  // namespace gpukern_test
