// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern_tensor: its layout compared with DLPack's, and the tensors that the library rejects.

#include "support.hpp"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define GPUKERN_TEST_HAVE_DLPACK 1
#endif

namespace gpukern_test {
namespace {

#ifdef GPUKERN_TEST_HAVE_DLPACK
#define GPUKERN_SAME_MEMBER(ours, our_member, theirs, their_member)             \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))
GPUKERN_SAME_MEMBER(gpukern_device, device_type, DLDevice, device_type);
GPUKERN_SAME_MEMBER(gpukern_device, device_id, DLDevice, device_id);
GPUKERN_SAME_MEMBER(gpukern_dtype, code, DLDataType, code);
GPUKERN_SAME_MEMBER(gpukern_dtype, bits, DLDataType, bits);
GPUKERN_SAME_MEMBER(gpukern_dtype, lanes, DLDataType, lanes);
GPUKERN_SAME_MEMBER(gpukern_tensor, data, DLTensor, data);
GPUKERN_SAME_MEMBER(gpukern_tensor, device, DLTensor, device);
GPUKERN_SAME_MEMBER(gpukern_tensor, ndim, DLTensor, ndim);
GPUKERN_SAME_MEMBER(gpukern_tensor, dtype, DLTensor, dtype);
GPUKERN_SAME_MEMBER(gpukern_tensor, shape, DLTensor, shape);
GPUKERN_SAME_MEMBER(gpukern_tensor, strides, DLTensor, strides);
GPUKERN_SAME_MEMBER(gpukern_tensor, byte_offset, DLTensor, byte_offset);
static_assert(sizeof(gpukern_tensor) == sizeof(DLTensor));
static_assert(alignof(gpukern_tensor) == alignof(DLTensor));

TEST(DlpackTest, NumbersAreTheSame) {
  const std::pair<int, int> pairs[] = {
      {GPUKERN_CPU, kDLCPU},
      {GPUKERN_CUDA, kDLCUDA},
      {GPUKERN_CUDA_HOST, kDLCUDAHost},
      {GPUKERN_CUDA_MANAGED, kDLCUDAManaged},
      {GPUKERN_INT, kDLInt},
      {GPUKERN_UINT, kDLUInt},
      {GPUKERN_FLOAT, kDLFloat},
      {GPUKERN_BFLOAT, kDLBfloat},
      {GPUKERN_COMPLEX, kDLComplex},
  };
  for (const auto& [ours, theirs] : pairs) EXPECT_EQ(ours, theirs);
}

TEST(DlpackTest, ATensorCanBeReadAsEither) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 3};
  DLTensor tensor{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const float a = 1;
  const auto* ours = reinterpret_cast<const gpukern_tensor*>(&tensor);
  ASSERT_EQ(gpukern_saxpy(&a, ours, ours, ours, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  for (int k = 0; k < 6; ++k) EXPECT_EQ(data[k], 2.0F * static_cast<float>(k));
}
#else
TEST(DlpackTest, NumbersAreTheSame) { GTEST_SKIP() << "no dlpack/dlpack.h to compare with"; }
#endif

/// A valid tensor of floats, whose members tests make invalid.
class TensorTest : public testing::Test {
 protected:
  /// Calls copy with the tensor as its source.
  gpukern_status call() {
    const gpukern_tensor destination{other_, kCpu, 1, {GPUKERN_FLOAT, 32, 1}, size_, nullptr, 0};
    return gpukern_copy(&tensor_, &destination, nullptr);
  }
  void expect_refused(gpukern_status status = GPUKERN_VALUE_ERROR) {
    expect_error(call(), status, "copy: source ");
  }

  float data_[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  float other_[4] = {};
  std::int64_t size_[1] = {4};
  std::int64_t shape_[GPUKERN_MAX_NDIM + 1] = {4};
  std::int64_t strides_[GPUKERN_MAX_NDIM + 1] = {1};
  gpukern_tensor tensor_{data_, kCpu, 1, {GPUKERN_FLOAT, 32, 1}, shape_, strides_, 0};
};

TEST_F(TensorTest, ByteOffsetIsAdded) {
  tensor_.byte_offset = 3 * sizeof(float);
  strides_[0] = 2;
  ASSERT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
  for (int k = 0; k < 4; ++k) EXPECT_EQ(other_[k], data_[3 + 2 * k]);
}

// Only the sum has to be the address of an element.
TEST_F(TensorTest, ByteOffsetMayWrapAround) {
  tensor_.data = data_ + 8;
  tensor_.byte_offset = std::uint64_t{0} - 5 * sizeof(float);
  ASSERT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(other_[0], 3.0F);
}

TEST_F(TensorTest, StridesMayBeNull) {
  tensor_.strides = nullptr;
  ASSERT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(other_[3], 3.0F);
}

TEST_F(TensorTest, ShapeOfAScalarMayBeNull) {
  gpukern_tensor destination = tensor_;
  destination.data = other_;
  for (gpukern_tensor* scalar : {&tensor_, &destination}) {
    scalar->ndim = 0;
    scalar->shape = nullptr;
    scalar->strides = nullptr;
  }
  tensor_.byte_offset = 7 * sizeof(float);
  ASSERT_EQ(gpukern_copy(&tensor_, &destination, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(other_[0], 7.0F);
}

TEST_F(TensorTest, DataOfAnEmptyOneMayBeNull) {
  shape_[0] = 0;
  size_[0] = 0;
  tensor_.data = nullptr;
  EXPECT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST_F(TensorTest, PinnedHostMemoryIsHostMemory) {
  tensor_.device.device_type = GPUKERN_CUDA_HOST;
  ASSERT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(other_[1], 1.0F);
}

TEST_F(TensorTest, DataIsRequired) {
  tensor_.data = nullptr;
  expect_refused();
}

TEST_F(TensorTest, ShapeIsRequired) {
  tensor_.shape = nullptr;
  expect_refused();
}

TEST_F(TensorTest, NegativeSizesAreRefused) {
  shape_[0] = -4;
  expect_refused();
}

TEST_F(TensorTest, ThereAreZeroToSixtyFourDimensions) {
  for (const int ndim : {-1, GPUKERN_MAX_NDIM + 1, INT32_MAX}) {
    tensor_.ndim = ndim;
    expect_refused();
  }
}

TEST_F(TensorTest, ElementsAreWholeBytes) {
  for (const gpukern_dtype dtype : {gpukern_dtype{GPUKERN_FLOAT, 4, 1},
                                    {GPUKERN_UINT, 1, 7},
                                    {GPUKERN_INT, 0, 1},
                                    {GPUKERN_INT, 32, 0}}) {
    tensor_.dtype = dtype;
    expect_refused(GPUKERN_TYPE_ERROR);
  }
}

TEST_F(TensorTest, SizesThatOverflowAreRefused) {
  tensor_.ndim = 3;
  tensor_.strides = nullptr;
  for (const Shape& shape : {Shape{INT64_MAX, 1, 1}, Shape{INT64_MAX / 4 + 1, 1, 1},
                             Shape{1L << 31, 1L << 31, 1L << 31}}) {
    std::copy(shape.begin(), shape.end(), shape_);
    expect_refused();
  }
}

TEST_F(TensorTest, StridesThatOverflowAreRefused) {
  for (const std::int64_t stride : {INT64_MAX, INT64_MIN, INT64_MAX / 4, INT64_MIN / 4}) {
    strides_[0] = stride;
    expect_refused();
  }
}

TEST_F(TensorTest, TheLastElementsBytesCountInTheSpan) {
  constexpr std::int64_t kMost = INT64_MAX / std::int64_t{sizeof(float)};
  tensor_.ndim = 2;
  shape_[0] = shape_[1] = 2;
  for (const std::int64_t sign : {1, -1}) {
    strides_[0] = sign * (kMost - 1);
    strides_[1] = sign;
    expect_refused();
  }
}

TEST_F(TensorTest, OtherDevicesAreRefused) {
  for (const int type : {-1, 0, 4, 7, 99}) {
    tensor_.device.device_type = type;
    expect_refused();
  }
  tensor_.device = {GPUKERN_CUDA, -1};
  expect_refused(GPUKERN_DEVICE_ERROR);
  tensor_.device = {GPUKERN_CUDA, cuda_devices()};
  EXPECT_EQ(call(), GPUKERN_DEVICE_ERROR) << gpukern_last_error();
}

}  // namespace
}  // namespace gpukern_test
