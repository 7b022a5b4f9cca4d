// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern.hpp: TensorRef, its shapes, and the kinds of memory that it takes.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include "gpukern/gpukern.hpp"

namespace {

using gpukern::TensorRef;
using Floats = std::vector<float>;

TEST(HppTensorRef, DescribesTheTensor) {
  Floats values(6);
  const auto tensor = TensorRef(values, {2, 3}).strided({3, 1});
  const gpukern_tensor c = tensor.c_tensor();
  EXPECT_EQ(c.data, values.data());
  EXPECT_EQ(c.device.device_type, GPUKERN_CPU);
  ASSERT_EQ(c.ndim, 2);
  EXPECT_EQ(c.shape[0], 2);
  EXPECT_EQ(c.shape[1], 3);
  EXPECT_EQ(c.strides[0], 3);
  EXPECT_EQ(c.strides[1], 1);
  EXPECT_EQ(TensorRef(values).c_tensor().strides, nullptr);
}

extern float of_unknown_size[];

TEST(HppTensorRef, KnowsTheSizesOfArrays) {
  float values[6] = {};
  EXPECT_EQ(TensorRef(values, {2, 3}).c_tensor().data, values);
  EXPECT_THROW(TensorRef(values, {7}), gpukern::ValueError);
  const auto* first = static_cast<const float*>(values);
  EXPECT_EQ(TensorRef(first, {2, 2}).c_tensor().ndim, 2);
  EXPECT_EQ(TensorRef<const float>(values, {6}).c_tensor().data, values);
  EXPECT_EQ(TensorRef(values, {6}, gpukern::cuda_device(1)).c_tensor().device.device_id, 1);
  EXPECT_THROW(TensorRef(values, {7}, gpukern::kCpu), gpukern::ValueError);
  EXPECT_EQ(TensorRef<float>(values, {6}, gpukern::kCpu).c_tensor().ndim, 1);
  EXPECT_EQ(TensorRef<float>(nullptr, {0}).c_tensor().data, nullptr);
  EXPECT_EQ(TensorRef(of_unknown_size, {2}).c_tensor().data, of_unknown_size);
  const auto bytes = [](const TensorRef<const float>& tensor) { return tensor.c_tensor().data; };
  EXPECT_EQ(bytes({values, {6}}), values);
  EXPECT_EQ(bytes(TensorRef(values, {3, 2}).strided({1, 3})), values);
  Floats list(6);
  EXPECT_EQ(bytes({list, {6}}), list.data());
}

/// A view that converts to a pointer as well.
struct PointerView : std::span<float> {
  using std::span<float>::span;
  operator float*() const { return data(); }  // NOLINT(*-explicit-constructor)
};

TEST(HppTensorRef, TakesARangeForItsSize) {
  Floats values(6);
  const PointerView view(values.data(), values.size());
  EXPECT_EQ(TensorRef<float>(view, {2, 3}).c_tensor().data, values.data());
  EXPECT_THROW(TensorRef(view, {7}), gpukern::ValueError);
}

float of_unknown_size[2];

/// What a std::mdspan<T, dextents<int, 2>, layout_stride> offers, for standards before C++23.
template <class T>
struct Matrix {
  using element_type = T;
  using reference = T&;
  static constexpr std::size_t rank() { return 2; }
  [[nodiscard]] T* const& data_handle() const { return data; }
  [[nodiscard]] int extent(std::size_t d) const { return extents[d]; }
  [[nodiscard]] int stride(std::size_t d) const { return strides[d]; }

  T* data;
  std::array<int, 2> extents;
  std::array<int, 2> strides;
};

TEST(HppTensorRef, TakesMdspans) {
  const std::vector<float> source{0, 1, 2, 3, 4, 5};
  std::vector<float> out(4);
  const Matrix<const float> transposed{source.data(), {3, 2}, {1, 3}};
  gpukern::gather(transposed, std::vector{2, 0}, Matrix<float>{out.data(), {2, 2}, {2, 1}});
  EXPECT_EQ(out, (std::vector<float>{2, 5, 0, 3}));
  static_assert(!gpukern::Output<Matrix<const float>>);
  static_assert(!gpukern::TensorLike<std::array<int, 2>*>);
  EXPECT_EQ(TensorRef(transposed, gpukern::cuda_device(1)).c_tensor().device.device_id, 1);
}

#if defined(__cpp_lib_mdspan)
TEST(HppTensorRef, TakesStdMdspan) {
  std::vector<double> values{1, 2, 3, 4, 5, 6};
  const std::mdspan matrix(values.data(), 2, 3);
  std::vector<double> out(3);
  gpukern::gather(matrix, std::vector{-1}, TensorRef(out, {1, 3}));
  EXPECT_EQ(out, (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(TensorRef(std::mdspan(values.data(), std::extents<int>{})).c_tensor().ndim, 0);
}
#endif

TEST(HppTensorRef, TakesShapesKnownAtRunTime) {
  Floats values(6);
  std::vector<std::int64_t> shape{3, 2};
  const TensorRef tensor(values, gpukern::Dims(shape));
  EXPECT_EQ(tensor.c_tensor().shape[1], 2);
  shape.assign(GPUKERN_MAX_NDIM + 1, 1);
  EXPECT_THROW(gpukern::Dims{shape}, gpukern::ValueError);
}

TEST(HppTensorRef, RefusesAMismatchedShape) {
  Floats values(6);
  const auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_NO_THROW(TensorRef(values, {6}));
  EXPECT_NO_THROW(TensorRef(values, {2, 2}));
  EXPECT_NO_THROW(TensorRef(values, {huge, 0}));
  EXPECT_NO_THROW(TensorRef(values, {}));
  EXPECT_THROW(TensorRef(values, {7}), gpukern::ValueError);
  try {
    (void)TensorRef(values, {0, -3});
    FAIL() << "nothing was thrown";
  } catch (const gpukern::ValueError& error) {
    EXPECT_STREQ(error.what(), "TensorRef: the shape has a negative size, -3");
  }
  EXPECT_THROW(TensorRef(values, {2, 4}), gpukern::ValueError);
  EXPECT_THROW(TensorRef(values, {huge, huge}), gpukern::ValueError);
  EXPECT_THROW(TensorRef(values, {-1, -6}), gpukern::ValueError);
  EXPECT_THROW((void)TensorRef(values, {2, 3}).strided({1}), gpukern::ValueError);
  Floats none;
  EXPECT_NO_THROW(TensorRef(none, {0}));
  EXPECT_THROW(TensorRef(none, {}), gpukern::ValueError);
}

TEST(HppTensorRef, BadDeviceIsRefused) {
  const TensorRef tensor(static_cast<float*>(nullptr), {0}, gpukern::Device{99, 0});
  EXPECT_THROW(gpukern::saxpy(1.0F, tensor, tensor, tensor), gpukern::Error);
}

}  // namespace
