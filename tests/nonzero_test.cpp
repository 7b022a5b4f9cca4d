// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "select_oracle.hpp"

namespace gpukern_test {
namespace {

class NonzeroTest : public PlacementTest {
 protected:
  /// `more`: entries of the output beyond the number of nonzero elements.
  void check(gpukern_dtype dtype, const Shape& shape, double density, std::int64_t more = 0,
             Layout layout = Layout::Contiguous, Layout out_layout = Layout::Contiguous) {
    Array mask(placement(), dtype, shape, layout);
    fill_random(mask.storage.host, random_);
    fill_mask(mask, random_, density);
    const auto count = static_cast<std::int64_t>(positions_of(mask).size());
    const std::int64_t size = std::max<std::int64_t>(count + more, 0);
    Array out(placement(), kPositions, {static_cast<std::int64_t>(shape.size()), size}, out_layout);
    fill_random(out.storage.host, random_);
    expect_nonzero(mask, out, more % 2 == 0 ? 0 : -1, placement());
  }

  Random random_{20261125};
};

TEST_P(NonzeroTest, EveryDtypeAndLayout) {
  for (const gpukern_dtype dtype : kMaskDtypes)
    for (const Layout layout : kInputLayouts) {
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits));
      check(dtype, {41}, 0.5, 0, layout);
      check(dtype, {5, 1, 9, 4}, 0.5, 3, layout);
    }
}

TEST_P(NonzeroTest, SizesAroundVectorsAndTiles) {
  for (const std::int64_t n :
       {0, 1, 15, 16, 17, 31, 32, 33, 4095, 4096, 4097, 8192, 16385, 140'001})
    for (const double density : {0.0, 0.02, 0.5, 1.0})
      for (const gpukern_dtype dtype : {kMaskDtypes[0], kMaskDtypes[8], kMaskDtypes[11]})
        check(dtype, {n}, density, 1, n % 2 == 0 ? Layout::Contiguous : Layout::Unaligned);
}

TEST_P(NonzeroTest, ManyTiles) {
  if (placement() == Placement::CudaHost)
    GTEST_SKIP() << "its limit of device memory makes many small chunks";
  for (const std::int64_t n : {std::int64_t{4} << 20, (std::int64_t{4} << 20) + 1})
    for (const Layout layout : {Layout::Contiguous, Layout::Unaligned})
      check(kMaskDtypes[0], {n}, 0.3, 5000, layout);
}

TEST_P(NonzeroTest, MasksThatBeginAnywhere) {
  Array memory(placement(), kMaskDtypes[0], {9000});
  fill_mask(memory, random_, 0.4);
  for (std::int64_t begin = 0; begin < 20; ++begin)
    for (const std::int64_t n : {0, 1, 3, 4090, 8200}) {
      View mask = memory;
      mask.offset += begin;
      mask.shape = {n};
      Array out(placement(), kPositions, {1, 3000});
      expect_nonzero(mask, out, 5, placement());
    }
}

TEST_P(NonzeroTest, SizesAboveAndBelowTheCount) {
  for (const std::int64_t more : {-100'000, -9000, -1, 0, 1, 9000})
    for (const Layout out : kOutputLayouts)
      check(kMaskDtypes[1], {30, 1000}, 0.5, more, Layout::Contiguous, out);
}

TEST_P(NonzeroTest, EmptyMasks) {
  for (const Shape& shape : {Shape{3, 0}, Shape{0, 3}, Shape{3, 0, 2}})
    for (const Layout layout : kInputLayouts)
      for (const std::int64_t more : {0, 7}) check(kMaskDtypes[0], shape, 0.5, more, layout);
}

TEST_P(NonzeroTest, EmptyMasksWithSizesWhoseProductOverflows) {
  Array out(placement(), kPositions, {3, 2});
  fill_random(out.storage.host, random_);
  out.storage.commit();
  Shape shape{std::int64_t{1} << 33, std::int64_t{1} << 33, 0};
  const gpukern_tensor mask{nullptr, out.storage.device(), 3, kMaskDtypes[0], shape.data(), nullptr,
                            0};
  const gpukern_tensor to = out.tensor();
  const gpukern_exec exec = exec_at(placement());
  ASSERT_EQ(gpukern_nonzero(&mask, &to, nullptr, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
  out.storage.fetch();
  for (const std::int64_t at : out.offsets())
    EXPECT_EQ(load<std::int64_t>(out.storage.host, at), 0);
}

TEST_P(NonzeroTest, OutputOverTheMask) {
  // The larger mask is read in several parts, in front of which positions are written.
  for (const std::int64_t count : {40, 40'000})
    for (const std::int64_t shift : {0, 8, 96}) {
      Array mask(placement(), kPositions, {count});
      fill_mask(mask, random_, 0.9);
      View out = mask;
      out.shape = {1, count * 7 / 10};
      out.strides = {count * 7 / 10, 1};
      out.offset += count / 40 * shift;
      expect_nonzero(mask, out, -3, placement());
    }
}

TEST_P(NonzeroTest, Errors) {
  Array mask(placement(), kMaskDtypes[0], {3});
  Array out(placement(), kPositions, {1, 3});
  const auto expect = [&](gpukern_status status, const std::string& message, auto&& change) {
    gpukern_tensor from = mask.tensor();
    gpukern_tensor to = out.tensor();
    std::int64_t shape[] = {1, 3};
    std::int64_t strides[] = {3, 1};
    to.shape = shape;
    to.strides = strides;
    std::int64_t value[2] = {};
    gpukern_tensor fill{value, kCpu, 0, kPositions, nullptr, nullptr, 0};
    gpukern_select_options options = select_options(&fill);
    change(from, to, fill, options);
    const gpukern_exec exec = exec_at(placement());
    expect_error(gpukern_nonzero(&from, &to, &options, &exec), status, "nonzero: " + message);
  };
  using Tensor = gpukern_tensor;
  using Options = gpukern_select_options;
  expect(GPUKERN_TYPE_ERROR, "mask must be bool, an integer",
         [](Tensor& from, Tensor&, Tensor&, Options&) { from.dtype = {GPUKERN_OPAQUE, 8, 1}; });
  expect(GPUKERN_VALUE_ERROR, "mask must have one dimension or more, got a 0-d array",
         [](Tensor& from, Tensor&, Tensor&, Options&) { from.ndim = 0; });
  expect(GPUKERN_TYPE_ERROR, "out must be of dtype int64, got float64",
         [](Tensor&, Tensor& to, Tensor&, Options&) { to.dtype = {GPUKERN_FLOAT, 64, 1}; });
  expect(GPUKERN_VALUE_ERROR, "out must have shape (1, size), got (3, 1)",
         [](Tensor&, Tensor& to, Tensor&, Options&) { std::swap(to.shape[0], to.shape[1]); });
  expect(GPUKERN_VALUE_ERROR, "out must have shape (1, size), got (1,)",
         [](Tensor&, Tensor& to, Tensor&, Options&) { to.ndim = 1; });
  expect(GPUKERN_VALUE_ERROR, "out must not",
         [](Tensor&, Tensor& to, Tensor&, Options&) { to.strides[1] = 0; });
  expect(GPUKERN_TYPE_ERROR, "fill_value must be of dtype int64, got int32",
         [](Tensor&, Tensor&, Tensor& fill, Options&) { fill.dtype = {GPUKERN_INT, 32, 1}; });
  expect(GPUKERN_VALUE_ERROR, "fill_value must be one number in host memory, got shape (2,) on cpu",
         [](Tensor&, Tensor&, Tensor& fill, Options&) {
           static std::int64_t two = 2;
           fill.ndim = 1;
           fill.shape = &two;
         });
  expect(GPUKERN_VALUE_ERROR, "options must have struct_size = 16 or more, got 8",
         [](Tensor&, Tensor&, Tensor&, Options& options) { options.struct_size = 8; });
}

GPUKERN_INSTANTIATE_PLACEMENTS(NonzeroTest);

}  // namespace
}  // namespace gpukern_test
