// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern.hpp: DeviceBuffer and operations on it.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpukern/gpukern.hpp"

namespace {

using gpukern::DeviceBuffer;
using gpukern::gather;
using gpukern::saxpy;
using Floats = std::vector<float>;

class HppDevice : public testing::TestWithParam<gpukern_device_type> {
 protected:
  void SetUp() override {
    if (GetParam() == GPUKERN_CUDA && gpukern::device_count() == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
  }
  static gpukern::Device device() { return {GetParam(), 0}; }
};

TEST_P(HppDevice, BufferRoundTrip) {
  for (const std::size_t size : {0U, 1U, 33U, 100'000U}) {
    std::vector<std::int32_t> values(size);
    std::iota(values.begin(), values.end(), -5);
    DeviceBuffer<std::int32_t> buffer(size, device());
    buffer.copy_from(values);
    std::vector<std::int32_t> back(size);
    std::as_const(buffer).copy_to(back);
    EXPECT_EQ(back, values);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(buffer.data() == nullptr, size == 0);
  }
}

TEST_P(HppDevice, BufferRefusesOtherSizes) {
  DeviceBuffer<float> buffer(4, device());
  Floats values(3);
  EXPECT_THROW(buffer.copy_from(values), gpukern::ValueError);
  EXPECT_THROW(buffer.copy_to(values), gpukern::ValueError);
  EXPECT_THROW((void)buffer.shaped({5}), gpukern::ValueError);
  const auto huge = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(DeviceBuffer<double>(huge / 2, device()), gpukern::MemoryError);
}

TEST_P(HppDevice, BufferMoves) {
  const Floats values{1, 2, 3};
  DeviceBuffer<float> first(3, device());
  first.copy_from(values);
  const float* const data = first.data();
  DeviceBuffer<float> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  DeviceBuffer<float> third(1, device());
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  Floats back(3);
  third.copy_to(back);
  EXPECT_EQ(back, values);
}

TEST_P(HppDevice, OperationsOnBuffers) {
  const auto on_device = [](const auto& host) {
    DeviceBuffer<std::remove_cvref_t<decltype(host[0])>> buffer(host.size(), device());
    buffer.copy_from(host);
    return buffer;
  };
  Floats numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const DeviceBuffer<float> source = on_device(numbers);
  DeviceBuffer<float> out(2, device());

  gather(source, on_device(std::vector<int>{999, -1000}), out);
  saxpy(2.0F, out, out, out);
  Floats result(2);
  out.copy_to(result);
  EXPECT_EQ(result, (Floats{2997, 0}));

  // Column 9 of 100 rows.
  DeviceBuffer<float> column(100, device());
  gather(source.shaped({100, 10}), on_device(std::vector<int>{9}), column.shaped({100, 1}),
         {.axis = 1});
  Floats ninth(100);
  gpukern::copy(column, ninth);
  EXPECT_EQ(ninth[99], 999);
  DeviceBuffer<float> pinned(100, gpukern::kPinned);
  gpukern::copy_async(column, pinned);
  gpukern::synchronize(device());
  EXPECT_EQ(pinned.data()[99], 999);

  const auto bad_index = on_device(std::vector<int>{1000, 0});
  EXPECT_THROW(gather(source, bad_index, out), gpukern::IndexError);
  out.copy_to(result);
  EXPECT_EQ(result, (Floats{2997, 0}));
  gpukern::synchronize(device());
}

TEST_P(HppDevice, OptionsChooseTheDeviceOfHostMemory) {
  const gpukern::ExecOptions exec{.device = device()};
  Floats out(2);
  gather(Floats{1, 2}, std::vector<int>{1, 0}, out, {.exec = exec});
  EXPECT_EQ(out, (Floats{2, 1}));
  saxpy(3.0F, out, out, out, exec);
  EXPECT_EQ(out, (Floats{8, 4}));
}

TEST_P(HppDevice, EveryPathOfGather) {
  using gpukern::GatherPath;
  std::vector<std::int32_t> index(100'000);
  for (std::size_t k = 0; k < index.size(); ++k)
    index[k] = static_cast<std::int32_t>(k * 7919 % 1000);
  Floats numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const Floats expected(index.begin(), index.end());
  const gpukern::ExecOptions exec{.device = device()};
  for (const auto path : {GatherPath::automatic, GatherPath::direct, GatherPath::partitioned}) {
    Floats out(index.size());
    gather(numbers, index, out, {.exec = exec, .path = path});
    EXPECT_EQ(out, expected);
  }
  Floats out(index.size());
  EXPECT_THROW(gather(numbers, index, out, {.exec = exec, .path = static_cast<GatherPath>(3)}),
               gpukern::ValueError);
}

INSTANTIATE_TEST_SUITE_P(Devices, HppDevice, testing::Values(GPUKERN_CPU, GPUKERN_CUDA),
                         [](const auto& device) {
                           return device.param == GPUKERN_CUDA ? "cuda" : "cpu";
                         });

TEST(HppDeviceInfo, NamesEveryDevice) {
  if (gpukern::device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (std::int32_t id = 0; id < gpukern::device_count(); ++id) {
    EXPECT_GT(std::strlen(gpukern::device_info(id).name), 0U);
  }
}

}  // namespace
