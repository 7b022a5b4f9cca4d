// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous copies.

#include "gpukern/explain.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

/// Page-locked host memory of a contiguous tensor; pageable memory without a GPU.
class Pinned {
 public:
  Pinned(gpukern_dtype dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
    EXPECT_EQ(gpukern_allocate(kPinned, bytes(), nullptr, &data_), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { EXPECT_EQ(gpukern_release(kPinned, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(count_of(shape_) * item_bytes(dtype_));
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] gpukern_tensor tensor() const {
    return {data_,
            kPinned,
            static_cast<std::int32_t>(shape_.size()),
            dtype_,
            const_cast<std::int64_t*>(shape_.data()),
            nullptr,
            0};
  }
  void fill(Random& random) {
    Bytes values(bytes());
    fill_random(values, random);
    std::copy(values.begin(), values.end(), data());
  }

 private:
  static constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};
  gpukern_dtype dtype_;
  Shape shape_;
  void* data_ = nullptr;
};

/// Copies between page-locked memory and arrays on a device.
class CopyAsyncTest : public PlacementTest {
 protected:
  void copy(const gpukern_tensor& source, const gpukern_tensor& destination) {
    ASSERT_EQ(gpukern_copy_async(&source, &destination, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    ASSERT_EQ(gpukern_synchronize(placement() == Placement::Cuda ? kCuda : kCpu, nullptr),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
  }

  void there_and_back(gpukern_dtype dtype, const Shape& shape, Layout layout) {
    Pinned sent(dtype, shape);
    Pinned returned(dtype, shape);
    sent.fill(random_);
    returned.fill(random_);
    Array array(placement(), dtype, shape, layout);
    fill_random(array.storage.host, random_);
    array.storage.commit();
    Bytes expected = array.storage.host;
    const auto offsets = array.offsets();
    const auto item = static_cast<std::size_t>(array.item());
    for (std::size_t k = 0; k < offsets.size(); ++k)
      std::memcpy(expected.data() + offsets[k], sent.data() + k * item, item);
    copy(sent.tensor(), array.tensor());
    array.storage.fetch();
    EXPECT_TRUE(same_bytes(expected, array.storage.host));
    copy(array.tensor(), returned.tensor());
    EXPECT_TRUE(std::equal(sent.data(), sent.data() + sent.bytes(), returned.data()));
  }

  Random random_{std::random_device{}()};
};

TEST_P(CopyAsyncTest, EverySize) {
  for (const int width : {1, 3, 4, 8, 16, 100})
    for (const std::int64_t size : {0, 1, 31, 32, 33, 65, 4096, 20001}) {
      SCOPED_TRACE("width " + std::to_string(width) + ", size " + std::to_string(size));
      there_and_back(bytes_dtype(width), {size}, Layout::Contiguous);
    }
}

TEST_P(CopyAsyncTest, EveryDeviceLayout) {
  for (const Layout layout : kOutputLayouts) {
    SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)));
    there_and_back({GPUKERN_FLOAT, 32, 1}, {7, 1, 9, 33}, layout);
    there_and_back({GPUKERN_COMPLEX, 128, 1}, {65, 31}, layout);
    there_and_back({GPUKERN_OPAQUE, 8, 5}, {}, layout);
    there_and_back({GPUKERN_OPAQUE, 8, 5}, {3, 0}, layout);
  }
}

TEST_P(CopyAsyncTest, WithinOneDevice) {
  Array array(placement(), {GPUKERN_INT, 32, 1}, {9000});
  fill_random(array.storage.host, random_);
  array.storage.commit();
  Bytes expected = array.storage.host;
  const View from{&array.storage, array.dtype, {8000}, {1}, kGuard + 512};
  View to = from;
  to.offset += 256;
  std::memmove(expected.data() + to.offset, expected.data() + from.offset, 32000);
  copy(from.tensor(), to.tensor());
  array.storage.fetch();
  EXPECT_TRUE(same_bytes(expected, array.storage.host));
}

INSTANTIATE_TEST_SUITE_P(Placements, CopyAsyncTest,
                         testing::Values(Placement::Cpu, Placement::Cuda),
                         [](const testing::TestParamInfo<Placement>& parameter) {
                           return placement_name(parameter.param);
                         });

TEST(CopyAsyncErrorTest, TensorsMustMatch) {
  const Array source(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {4, 3});
  const gpukern_tensor from = source.tensor();
  const auto copy_to = [&](const View& destination) {
    const gpukern_tensor to = destination.tensor();
    return gpukern_copy_async(&from, &to, nullptr);
  };
  const Array other_shape(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {3, 4});
  expect_error(copy_to(other_shape), GPUKERN_VALUE_ERROR, "copy_async: destination must have ");
  const Array other_item(Placement::Cpu, {GPUKERN_FLOAT, 64, 1}, {4, 3});
  expect_error(copy_to(other_item), GPUKERN_TYPE_ERROR, "copy_async: destination ");
  expect_error(gpukern_copy_async(nullptr, &from, nullptr), GPUKERN_VALUE_ERROR,
               "copy_async: source ");
  expect_error(gpukern_copy_async(&from, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "copy_async: destination ");
}

TEST(CopyAsyncErrorTest, HostMemoryMustBeContiguous) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  for (const Layout layout : {Layout::Fortran, Layout::Strided, Layout::Reversed}) {
    const Array host(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {4, 3}, layout);
    const Array array(Placement::Cuda, {GPUKERN_FLOAT, 32, 1}, {4, 3});
    const gpukern_tensor here = host.tensor();
    const gpukern_tensor there = array.tensor();
    expect_error(gpukern_copy_async(&here, &there, nullptr), GPUKERN_VALUE_ERROR,
                 "copy_async: source must be C-contiguous");
    expect_error(gpukern_copy_async(&there, &here, nullptr), GPUKERN_VALUE_ERROR,
                 "copy_async: destination must be C-contiguous");
  }
}

TEST(CopyAsyncExplainTest, ExplainsTheTransfer) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  const Array host(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {100});
  const Array array(Placement::Cuda, {GPUKERN_FLOAT, 32, 1}, {100});
  const gpukern_tensor here = host.tensor();
  const gpukern_tensor there = array.tensor();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  ASSERT_EQ(gpukern_copy_async(&here, &there, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.bytes_to_device, 400);
  ASSERT_EQ(gpukern_copy_async(&there, &here, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.bytes_from_device, 400);
}

}  // namespace
}  // namespace gpukern_test
