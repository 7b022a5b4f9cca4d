// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// fma of many elements, of numbers in host memory, over its operands, and its options.

#include "axpby_oracle.hpp"
#include "gpukern/explain.h"

namespace gpukern_test {
namespace {

class FmaTest : public PlacementTest {
 protected:
  Random random_{11};
};
GPUKERN_INSTANTIATE_PLACEMENTS(FmaTest);

TEST_P(FmaTest, ManyElements) {
  for (const Layout layout : {Layout::Contiguous, Layout::Fortran}) {
    const Array x(placement(), kBFloat, {301, 1001}, layout);
    const Array y(placement(), kSingle, {301, 1001});
    const Array z(placement(), kSingle, {1001});
    const Array out(placement(), kSingle, {301, 1001});
    expect_sum({x, y, nullptr, z, out}, placement(), random_);
  }
}

// From some 9 Mi elements on, by the number of multiprocessors, a block of the GPU computes several
// tiles, below or beside each other.
TEST_P(FmaTest, SeveralTilesOfABlock) {
  if (placement() != Placement::Cuda) GTEST_SKIP() << "of the GPU";
  for (const Shape& shape : {Shape{3003, 4405}, Shape{12'800'001}, Shape{3, 4'300'001}}) {
    const Array x(placement(), kSingle, shape);
    const Array y(placement(), kBFloat, {shape.back()});
    const Array z(placement(), kSingle, {1});
    const Array out(placement(), kSingle, shape);
    expect_sum({x, y, nullptr, z, out}, placement(), random_);
  }
  const Array x(placement(), kDouble, {2203, 2201}, Layout::Fortran);
  const Array z(placement(), kDouble, {2203, 2201});
  const Array out(placement(), kDouble, {2203, 2201});
  expect_sum({x, x, nullptr, z, out}, placement(), random_);
  const Array reversed(placement(), kSingle, {5, 901, 3001}, Layout::Reversed);
  const Array in_place(placement(), kSingle, {5, 901, 3001});
  expect_sum({reversed, reversed, nullptr, in_place, in_place}, placement(), random_);
}

TEST_P(FmaTest, OneElementMayBeInHostMemory) {
  const Array x(placement(), kSingle, {70, 3});
  const Array number(Placement::Cpu, kHalf, {1});
  const Array out(placement(), kSingle, {70, 3});
  expect_sum({number, x, nullptr, number, out}, placement(), random_);
}

TEST(ExplainedFmaTest, NoOperandIsRead) {
  gpukern_tensor number{};
  number.data = reinterpret_cast<void*>(64);  // NOLINT(performance-no-int-to-ptr)
  number.device = {GPUKERN_CPU, 0};
  number.dtype = kSingle;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  EXPECT_EQ(gpukern_fma(&number, &number, &number, &number, nullptr, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
}

TEST_P(FmaTest, TheOutputMayBeAnOperand) {
  for (const bool moved : {false, true}) {
    const Array memory(placement(), kSingle, {1001});
    const Array x(placement(), kSingle, {1000});
    View z = memory;
    z.shape = {1000};
    View out = z;
    if (moved) out.offset += 4;
    expect_sum({x, x, nullptr, z, out}, placement(), random_);
  }
}

TEST_P(FmaTest, AnEmptyOutputIsNoError) {
  const Array x(placement(), kSingle, {0, 3});
  const Array one(placement(), kSingle, {1, 3});
  EXPECT_EQ((Sum{x, one, nullptr, one, x}.run(placement())), GPUKERN_SUCCESS);
}

TEST(FmaOptions, AreChecked) {
  const Array x(Placement::Cpu, kSingle, {3});
  const gpukern_tensor tensor = x.tensor();
  gpukern_axpby_options options = GPUKERN_AXPBY_OPTIONS_INIT;
  const auto call = [&] {
    return gpukern_fma(&tensor, &tensor, &tensor, &tensor, &options, nullptr);
  };
  EXPECT_EQ(call(), GPUKERN_SUCCESS);
  options.rounding = 2;
  expect_error(call(), GPUKERN_VALUE_ERROR,
               "fma: rounding must be nearest (0) or stochastic (1), got 2");
  options.rounding = GPUKERN_ROUND_STOCHASTIC;
  expect_error(call(), GPUKERN_TYPE_ERROR,
               "fma: out must have dtype bfloat16 for stochastic rounding, got float32");
  options.struct_size = 4;
  expect_error(call(), GPUKERN_VALUE_ERROR, "fma: options must have struct_size = ");
  expect_error(gpukern_fma(&tensor, &tensor, nullptr, &tensor, nullptr, nullptr),
               GPUKERN_VALUE_ERROR, "fma: z must not be NULL");
}

}  // namespace
}  // namespace gpukern_test
