// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "select_oracle.hpp"

namespace gpukern_test {
namespace {

class CountNonzeroTest : public PlacementTest {
 protected:
  Random random_{20261124};
};

TEST_P(CountNonzeroTest, EveryDtypeLayoutAndSize) {
  for (const gpukern_dtype dtype : kMaskDtypes)
    for (const Layout layout : kInputLayouts)
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{3, 0}, Shape{7, 5, 9}, Shape{4097}}) {
        SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits));
        Array mask(placement(), dtype, shape, layout);
        fill_random(mask.storage.host, random_);
        fill_mask(mask, random_, 0.5);
        expect_count(mask, placement());
      }
}

TEST_P(CountNonzeroTest, ManyElements) {
  for (const double density : {0.0, 0.3, 1.0}) {
    Array mask(placement(), kMaskDtypes[0], {300'001}, Layout::Unaligned);
    fill_mask(mask, random_, density);
    expect_count(mask, placement());
  }
  for (const Layout layout : {Layout::Contiguous, Layout::Strided}) {
    Array mask(placement(), kMaskDtypes[8], {5'000'001}, layout);
    fill_mask(mask, random_, 0.3);
    expect_count(mask, placement());
  }
}

TEST_P(CountNonzeroTest, Errors) {
  Array mask(placement(), {GPUKERN_FLOAT, 8, 1}, {3});
  gpukern_tensor tensor = mask.tensor();
  std::int64_t count = 7;
  expect_error(gpukern_count_nonzero(&tensor, &count, nullptr), GPUKERN_TYPE_ERROR,
               "count_nonzero: mask must be bool, an integer, float16, bfloat16, float32, float64, "
               "complex64 or complex128, got ");
  tensor.dtype = kMaskDtypes[0];
  expect_error(gpukern_count_nonzero(&tensor, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "count_nonzero: count must not be NULL");
  EXPECT_EQ(count, 7);
}

GPUKERN_INSTANTIATE_PLACEMENTS(CountNonzeroTest);

}  // namespace
}  // namespace gpukern_test
