// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Numbers in host memory beside arrays on a GPU: a call reads them before it returns, and does not
// wait for the stream.

#include <array>
#include <string>

#include "fake_gpu.hpp"
#include "gather_oracle.hpp"
#include "gpukern/explain.h"
#include "gpukern/index_errors.h"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kInt{GPUKERN_INT, 32, 1};

/// Four int32 of a GPU, from zero on.
class Numbers {
 public:
  Numbers() {
    EXPECT_EQ(gpukern_allocate(kCuda, sizeof(Values), nullptr, &data_), GPUKERN_SUCCESS);
    Values first{0, 1, 2, 3};
    const gpukern_tensor from = on_host(first);
    const gpukern_tensor to = tensor();
    EXPECT_EQ(gpukern_copy(&from, &to, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { EXPECT_EQ(gpukern_release(kCuda, data_, nullptr), GPUKERN_SUCCESS); }

  using Values = std::array<std::int32_t, 4>;
  [[nodiscard]] gpukern_tensor tensor() const {
    return {data_, kCuda, 1, kInt, const_cast<std::int64_t*>(&kSize), nullptr, 0};
  }
  [[nodiscard]] gpukern_tensor first() const {
    return {data_, kCuda, 0, kInt, nullptr, nullptr, 0};
  }
  [[nodiscard]] Values values() const {
    Values found{};
    const gpukern_tensor from = tensor();
    const gpukern_tensor to = on_host(found);
    EXPECT_EQ(gpukern_copy(&from, &to, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
    return found;
  }

 private:
  static gpukern_tensor on_host(Values& values) {
    return {values.data(), kCpu, 1, kInt, const_cast<std::int64_t*>(&kSize), nullptr, 0};
  }
  static constexpr std::int64_t kSize = 4;
  void* data_ = nullptr;
};

TEST(HostNumberTest, ScatterReadsThemAtOnce) {
  const Numbers target;
  std::int32_t value = 7;
  std::int64_t position = 2;
  const gpukern_tensor to = target.tensor();
  const gpukern_tensor values{&value, kCpu, 0, kInt, nullptr, nullptr, 0};
  const gpukern_tensor index{&position, kCpu, 0, {GPUKERN_INT, 64, 1}, nullptr, nullptr, 0};
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  options.mode = GPUKERN_INDEX_CLIP;
  const std::size_t before = fake_gpu().waiting();
  ASSERT_EQ(gpukern_scatter(&to, &index, &values, 0, nullptr, &options, nullptr), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_GE(fake_gpu().waiting(), before + 3);
  value = -1;
  position = 0;
  EXPECT_EQ(target.values(), (Numbers::Values{0, 1, 7, 3}));

  options.mode = GPUKERN_INDEX_RAISE;
  position = 4;
  EXPECT_EQ(gpukern_scatter(&to, &index, &values, 0, nullptr, &options, nullptr),
            GPUKERN_INDEX_ERROR);
  EXPECT_STREQ(gpukern_last_error(), "index 4 is out of bounds for axis 0 with size 4");
  EXPECT_EQ(target.values(), (Numbers::Values{0, 1, 7, 3}));
}

TEST(HostNumberTest, ScatterRepeatsATarget) {
  const Numbers index;
  const Numbers out;
  std::int32_t zero = 5;
  std::int32_t value = 1;
  std::int64_t size = 4;
  std::int64_t stride = 0;
  const gpukern_tensor target{&zero, kCpu, 1, kInt, &size, &stride, 0};
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor values{&value, kCpu, 0, kInt, nullptr, nullptr, 0};
  const gpukern_tensor to = out.tensor();
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  options.mode = GPUKERN_INDEX_CLIP;
  options.reduce = GPUKERN_REDUCE_ADD;
  const std::size_t before = fake_gpu().waiting();
  ASSERT_EQ(gpukern_scatter(&target, &at, &values, 0, &to, &options, nullptr), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_GE(fake_gpu().waiting(), before + 3);
  zero = value = -1;
  EXPECT_EQ(out.values(), (Numbers::Values{6, 6, 6, 6}));

  std::array<std::int32_t, 4> two{1, 2, 3, 4};
  const gpukern_tensor others{two.data(), kCpu, 1, kInt, &size, nullptr, 0};
  EXPECT_EQ(gpukern_scatter(&others, &at, &at, 0, &to, &options, nullptr), GPUKERN_VALUE_ERROR);
  EXPECT_EQ(gpukern_scatter(&at, &at, &values, 0, &others, &options, nullptr), GPUKERN_VALUE_ERROR);
  EXPECT_STREQ(gpukern_last_error(), "scatter: out must be on cuda:0 like target, got cpu");
  EXPECT_EQ(gpukern_scatter(&target, &at, &at, 0, nullptr, &options, nullptr), GPUKERN_VALUE_ERROR);
}

TEST(HostNumberTest, GatherChecksAnIndexWithoutAWait) {
  const Numbers source;
  const Numbers out;
  std::int64_t position = -1;
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor to = out.first();
  const gpukern_tensor index{&position, kCpu, 0, {GPUKERN_INT, 64, 1}, nullptr, nullptr, 0};
  const std::size_t before = fake_gpu().waiting();
  ASSERT_EQ(gpukern_gather(&from, &index, 0, &to, nullptr, nullptr), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(fake_gpu().waiting(), before + 1);
  position = 0;
  EXPECT_EQ(out.values(), (Numbers::Values{3, 1, 2, 3}));

  position = -5;
  const std::size_t left = fake_gpu().waiting();
  EXPECT_EQ(gpukern_gather(&from, &index, 0, &to, nullptr, nullptr), GPUKERN_INDEX_ERROR);
  EXPECT_STREQ(gpukern_last_error(), "index -5 is out of bounds for axis 0 with size 4");
  EXPECT_EQ(fake_gpu().waiting(), left);

  position = 1;
  double wrong = 0;
  const gpukern_tensor fill{&wrong, kCpu, 0, {GPUKERN_FLOAT, 64, 1}, nullptr, nullptr, 0};
  gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
  options.mode = GPUKERN_INDEX_FILL;
  options.fill_value = &fill;
  EXPECT_EQ(gpukern_gather(&from, &index, 0, &to, &options, nullptr), GPUKERN_TYPE_ERROR);
}

TEST(HostNumberTest, ScatterByATupleTakesAValue) {
  const Numbers target;
  const Numbers index;
  gpukern_tensor to = target.tensor();
  std::int64_t shape[] = {2, 2};
  to.ndim = 2;
  to.shape = shape;
  const gpukern_tensor at = index.first();  // 0
  const gpukern_tensor* further[] = {&at};
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  options.further_index_count = 1;
  options.further_indices = further;
  std::int32_t value = 9;
  const gpukern_tensor values{&value, kCpu, 0, kInt, nullptr, nullptr, 0};
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_CLIP}) {
    options.mode = mode;
    ++value;
    ASSERT_EQ(gpukern_scatter(&to, &at, &values, 0, nullptr, &options, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_EQ(target.values(), (Numbers::Values{value, 1, 2, 3}));
  }
}

TEST(HostNumberTest, ALargeValueIsCopied) {
  constexpr std::int64_t kSize = 2;
  std::array<std::array<std::int32_t, 8>, kSize> rows{};
  std::array<std::int32_t, 8> row{1, 2, 3, 4, 5, 6, 7, 8};
  std::int64_t size = kSize;
  std::int64_t position = 1;
  void* data = nullptr;
  ASSERT_EQ(gpukern_allocate(kCuda, sizeof rows, nullptr, &data), GPUKERN_SUCCESS);
  const gpukern_tensor host{rows.data(), kCpu, 1, bytes_dtype(32), &size, nullptr, 0};
  const gpukern_tensor target{data, kCuda, 1, bytes_dtype(32), &size, nullptr, 0};
  const gpukern_tensor value{row.data(), kCpu, 0, bytes_dtype(32), nullptr, nullptr, 0};
  const gpukern_tensor index{&position, kCpu, 0, {GPUKERN_INT, 64, 1}, nullptr, nullptr, 0};
  EXPECT_EQ(gpukern_copy(&host, &target, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_scatter(&target, &index, &value, 0, nullptr, nullptr, nullptr), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(gpukern_copy(&target, &host, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(rows[1], row);
  EXPECT_EQ(rows[0], (std::array<std::int32_t, 8>{}));
  EXPECT_EQ(gpukern_release(kCuda, data, nullptr), GPUKERN_SUCCESS);
}

TEST(HostNumberTest, BadOnesAreDeferred) {
  const Numbers target;
  const Numbers out;
  std::int64_t position = 4;
  std::int32_t value = 9;
  const gpukern_tensor to = target.tensor();
  const gpukern_tensor item = out.first();
  const gpukern_tensor values{&value, kCpu, 0, kInt, nullptr, nullptr, 0};
  const gpukern_tensor index{&position, kCpu, 0, {GPUKERN_INT, 64, 1}, nullptr, nullptr, 0};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  ASSERT_EQ(gpukern_index_errors_create(kCuda, &exec.index_errors), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_gather(&to, &index, 0, &item, nullptr, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(gpukern_index_errors_check(exec.index_errors, nullptr), GPUKERN_INDEX_ERROR);
  EXPECT_NE(std::string(gpukern_last_error()).find("index 4 is out of bounds"), std::string::npos)
      << gpukern_last_error();
  position = -5;
  EXPECT_EQ(gpukern_scatter(&to, &index, &values, 0, nullptr, nullptr, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(gpukern_index_errors_check(exec.index_errors, nullptr), GPUKERN_INDEX_ERROR);
  EXPECT_NE(std::string(gpukern_last_error()).find("index -5 is out of bounds"), std::string::npos)
      << gpukern_last_error();
  position = 1;
  EXPECT_EQ(gpukern_scatter(&to, &index, &values, 0, nullptr, nullptr, &exec), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_index_errors_check(exec.index_errors, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(target.values(), (Numbers::Values{0, 9, 2, 3}));
  EXPECT_EQ(out.values(), (Numbers::Values{0, 1, 2, 3}));  // the bad item was filled
  EXPECT_EQ(gpukern_index_errors_destroy(exec.index_errors), GPUKERN_SUCCESS);
}

TEST(HostNumberTest, AnExplanationReadsNone) {
  const Numbers source;
  const Numbers out;
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor to = out.first();
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const gpukern_tensor nowhere{reinterpret_cast<void*>(8), kCpu, 0, kInt, nullptr, nullptr, 0};
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  ASSERT_EQ(gpukern_gather(&from, &nowhere, 0, &to, nullptr, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation.path, GPUKERN_PATH_ITEMS);
  EXPECT_EQ(explanation.bytes_written, 4);
  explanation = GPUKERN_EXPLANATION_INIT;
  ASSERT_EQ(gpukern_scatter(&from, &nowhere, &nowhere, 0, nullptr, nullptr, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation.bytes_to_device, 8);
}

}  // namespace
}  // namespace gpukern_test
