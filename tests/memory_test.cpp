// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Allocation, and copies between any two devices and layouts.

#include <limits>

#include "support.hpp"

namespace gpukern_test {
namespace {

class AllocateTest : public PlacementTest {
 protected:
  [[nodiscard]] gpukern_device device() const {
    return placement() == Placement::Cpu ? kCpu : kCuda;
  }
};

TEST_P(AllocateTest, ReturnsAlignedMemory) {
  const std::uintptr_t alignment = device().device_type == GPUKERN_CPU ? 64 : 256;
  for (const std::size_t bytes : {1U, 3U, 64U, 1000U, 1U << 20}) {
    void* data = nullptr;
    ASSERT_EQ(gpukern_allocate(device(), bytes, nullptr, &data), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
    EXPECT_EQ(gpukern_release(device(), data, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
}

TEST_P(AllocateTest, ZeroBytesAreNull) {
  void* data = this;
  EXPECT_EQ(gpukern_allocate(device(), 0, nullptr, &data), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(gpukern_release(device(), nullptr, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST_P(AllocateTest, TooMuchIsAMemoryError) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizers' operator new does not throw";
#endif
  if (under_address_sanitizer()) GTEST_SKIP() << "the sanitizers' operator new does not throw";
  void* data = this;
  const auto bytes = std::numeric_limits<std::size_t>::max() / 4;
  EXPECT_EQ(gpukern_allocate(device(), bytes, nullptr, &data), GPUKERN_MEMORY_ERROR)
      << gpukern_last_error();
  EXPECT_EQ(data, nullptr);
  // The failure has no lasting effect.
  EXPECT_EQ(gpukern_allocate(device(), 16, nullptr, &data), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(gpukern_release(device(), data, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST(PinTest, LocksMemoryOfTheCaller) {
  constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};
  Bytes memory(100000);
  std::byte* const data = memory.data() + 64;
  ASSERT_EQ(gpukern_pin(kPinned, data, 50000), GPUKERN_SUCCESS) << gpukern_last_error();
  gpukern_device found{};
  ASSERT_EQ(gpukern_pointer_device(data + 49999, &found), GPUKERN_SUCCESS);
  EXPECT_EQ(found.device_type, cuda_devices() > 0 ? GPUKERN_CUDA_HOST : GPUKERN_CPU);
  if (cuda_devices() > 0)
    expect_error(gpukern_release(kPinned, data, nullptr), GPUKERN_VALUE_ERROR, "release: data");
  ASSERT_EQ(gpukern_unpin(data), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(gpukern_pointer_device(data, &found), GPUKERN_SUCCESS);
  EXPECT_EQ(found.device_type, GPUKERN_CPU);
  if (cuda_devices() > 0) {
    expect_error(gpukern_unpin(data), GPUKERN_VALUE_ERROR, "unpin: data must be memory of");
    void* ours = nullptr;
    ASSERT_EQ(gpukern_allocate(kPinned, 64, nullptr, &ours), GPUKERN_SUCCESS);
    expect_error(gpukern_unpin(ours), GPUKERN_VALUE_ERROR, "unpin: data must be memory of");
    ASSERT_EQ(gpukern_release(kPinned, ours, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  expect_error(gpukern_pin(kCpu, data, 1), GPUKERN_VALUE_ERROR, "pin: device must be");
  expect_error(gpukern_pin(kPinned, nullptr, 1), GPUKERN_VALUE_ERROR, "pin: data must not be");
  expect_error(gpukern_pin(kPinned, data, 0), GPUKERN_VALUE_ERROR, "pin: data must not be");
}

TEST_P(AllocateTest, RequiresAPointer) {
  expect_error(gpukern_allocate(device(), 16, nullptr, nullptr), GPUKERN_VALUE_ERROR, "allocate: ");
}

TEST_P(AllocateTest, SynchronizeReturns) {
  EXPECT_EQ(gpukern_synchronize(device(), nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
}

GPUKERN_INSTANTIATE_PLACEMENTS(AllocateTest);

TEST(AllocateErrorTest, SizesNearTheLargestDoNotWrapAround) {
  for (const std::size_t less : {0U, 1U, 13U, 63U, 64U, 65U}) {
    void* data = nullptr;
    expect_error(gpukern_allocate({GPUKERN_CPU, 0}, SIZE_MAX - less, nullptr, &data),
                 GPUKERN_MEMORY_ERROR, "allocate: bytes must be at most ");
    EXPECT_EQ(data, nullptr);
  }
}

TEST(AllocateErrorTest, DevicesMustExist) {
  void* data = nullptr;
  char placement = 0;
  for (const gpukern_device device :
       {gpukern_device{GPUKERN_CUDA, -1}, {GPUKERN_CUDA, cuda_devices()}}) {
    EXPECT_EQ(gpukern_allocate(device, 16, nullptr, &data), GPUKERN_DEVICE_ERROR);
    EXPECT_EQ(gpukern_release(device, &placement, nullptr), GPUKERN_DEVICE_ERROR);
    EXPECT_EQ(gpukern_release(device, nullptr, nullptr), GPUKERN_SUCCESS);
    EXPECT_EQ(gpukern_synchronize(device, nullptr), GPUKERN_DEVICE_ERROR);
  }
  for (const gpukern_device device : {gpukern_device{GPUKERN_DEVICE_DEFAULT, 0}, {5, 0}}) {
    EXPECT_EQ(gpukern_allocate(device, 16, nullptr, &data), GPUKERN_VALUE_ERROR);
    EXPECT_EQ(gpukern_synchronize(device, nullptr), GPUKERN_VALUE_ERROR);
  }
}

/// The source's and the destination's device.
using Route = std::pair<Placement, Placement>;

class CopyTest : public testing::TestWithParam<Route> {
 protected:
  void SetUp() override {
    const auto [from, to] = GetParam();
    if ((from == Placement::Cuda || to == Placement::Cuda) && cuda_devices() == 0)
      GTEST_SKIP() << "no CUDA device";
  }

  static void expect_copy(const View& source, const View& destination) {
    Bytes expected = destination.memory->host;
    const auto from = source.offsets();
    const auto to = destination.offsets();
    const Bytes image = source.memory->host;
    for (std::size_t k = 0; k < to.size(); ++k)
      std::memcpy(expected.data() + to[k], image.data() + from[k],
                  static_cast<std::size_t>(source.item()));
    source.memory->commit();
    destination.memory->commit();
    const gpukern_tensor source_tensor = source.tensor();
    const gpukern_tensor destination_tensor = destination.tensor();
    ASSERT_EQ(gpukern_copy(&source_tensor, &destination_tensor, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    destination.memory->fetch();
    EXPECT_TRUE(same_bytes(expected, destination.memory->host));
  }

  void check(gpukern_dtype dtype, const Shape& shape, Layout from, Layout to) {
    Array source(GetParam().first, dtype, shape, from);
    Array destination(GetParam().second, dtype, shape, to);
    fill_random(source.storage.host, random_);
    fill_random(destination.storage.host, random_);
    expect_copy(source, destination);
  }

  Random random_{3};
};

TEST_P(CopyTest, EverySize) {
  for (const int width : {1, 2, 3, 4, 7, 8, 12, 16, 24, 100})
    for (const std::int64_t size : {0, 1, 31, 32, 33, 65, 4096, 20001}) {
      SCOPED_TRACE("width " + std::to_string(width) + ", size " + std::to_string(size));
      check(bytes_dtype(width), {size}, Layout::Contiguous, Layout::Contiguous);
      check(bytes_dtype(width), {size}, Layout::Strided, Layout::Contiguous);
    }
}

TEST_P(CopyTest, EveryLayout) {
  for (const Layout from : kInputLayouts)
    for (const Layout to : kOutputLayouts) {
      SCOPED_TRACE("layouts " + std::to_string(static_cast<int>(from)) + ", " +
                   std::to_string(static_cast<int>(to)));
      check({GPUKERN_FLOAT, 32, 1}, {7, 1, 9, 33}, from, to);
      check({GPUKERN_COMPLEX, 128, 1}, {65, 31}, from, to);
      check({GPUKERN_OPAQUE, 8, 5}, {}, from, to);
    }
}

class CopyWithinTest : public CopyTest {};

TEST_P(CopyWithinTest, OverlappingMemory) {
  for (const std::int64_t shift : {-256, -4, -1, 0, 1, 4, 256}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    Array source(GetParam().first, {GPUKERN_INT, 32, 1}, {9000});
    fill_random(source.storage.host, random_);
    const View part{&source.storage, source.dtype, {8000}, {1}, kGuard + 512};
    View moved = part;
    moved.offset += shift;
    expect_copy(part, moved);
    View reversed = moved;
    reversed.offset += std::int64_t{7999} * 4;
    reversed.strides[0] = -1;
    expect_copy(part, reversed);
  }
}

std::string route_name(const testing::TestParamInfo<Route>& parameter) {
  return placement_name(parameter.param.first) + "_to_" + placement_name(parameter.param.second);
}

INSTANTIATE_TEST_SUITE_P(Routes, CopyTest,
                         testing::Values(Route{Placement::Cpu, Placement::Cpu},
                                         Route{Placement::Cpu, Placement::Cuda},
                                         Route{Placement::Cuda, Placement::Cpu},
                                         Route{Placement::Cuda, Placement::Cuda}),
                         route_name);
INSTANTIATE_TEST_SUITE_P(Routes, CopyWithinTest,
                         testing::Values(Route{Placement::Cpu, Placement::Cpu},
                                         Route{Placement::Cuda, Placement::Cuda}),
                         route_name);

TEST(CopyErrorTest, TensorsMustMatch) {
  const Array source(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {4, 3});
  const gpukern_tensor from = source.tensor();
  const auto copy_to = [&](const View& destination) {
    const gpukern_tensor to = destination.tensor();
    return gpukern_copy(&from, &to, nullptr);
  };
  const Array other_shape(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {3, 4});
  expect_error(copy_to(other_shape), GPUKERN_VALUE_ERROR, "copy: destination ");
  const Array other_rank(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {12});
  expect_error(copy_to(other_rank), GPUKERN_VALUE_ERROR, "copy: destination ");
  const Array other_item(Placement::Cpu, {GPUKERN_FLOAT, 64, 1}, {4, 3});
  expect_error(copy_to(other_item), GPUKERN_TYPE_ERROR, "copy: destination ");
  const Array repeated(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {4, 3}, Layout::Broadcast);
  expect_error(copy_to(repeated), GPUKERN_VALUE_ERROR, "copy: destination ");
  expect_error(gpukern_copy(nullptr, &from, nullptr), GPUKERN_VALUE_ERROR, "copy: source ");
  expect_error(gpukern_copy(&from, nullptr, nullptr), GPUKERN_VALUE_ERROR, "copy: destination ");
}

}  // namespace
}  // namespace gpukern_test
