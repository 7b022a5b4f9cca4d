// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bad indices that a GPU records in place of a wait.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gpukern/explain.h"
#include "gpukern/gpukern.hpp"

namespace {

using gpukern::DeviceBuffer;
using gpukern::ExecOptions;
using gpukern::IndexErrors;
using gpukern::Mode;
using Floats = std::vector<float>;
using Indices = std::vector<std::int64_t>;

template <class T>
DeviceBuffer<T> on_gpu(const std::vector<T>& values) {
  DeviceBuffer<T> buffer(values.size());
  buffer.copy_from(values);
  return buffer;
}

template <class T>
std::vector<T> on_host(const DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  buffer.copy_to(values);
  return values;
}

class IndexErrorsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpukern::device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
  static gpukern_bad_index take(IndexErrors& errors) {
    gpukern_bad_index first{};
    first.struct_size = sizeof first;
    EXPECT_EQ(gpukern_index_errors_check(errors, &first), GPUKERN_INDEX_ERROR);
    EXPECT_EQ(gpukern_index_errors_check(errors, &first), GPUKERN_SUCCESS) << "not empty";
    return first;
  }
  /// Gathers one of three items by each index.
  static void gather(const Indices& index, gpukern_index_errors* errors) {
    const auto source = on_gpu(Floats{1, 2, 3});
    const auto at = on_gpu(index);
    DeviceBuffer<float> out(index.size());
    gpukern::gather(source, at, out, {.exec = {.index_errors = errors}});
  }
};

TEST_F(IndexErrorsTest, NamesTheFirstBadIndex) {
  IndexErrors errors;
  errors.check_indices();
  const auto source = on_gpu(Floats{1, 2, 3, 4});
  const auto index = on_gpu(Indices{1, -4, 9, -5, 0});
  auto out = on_gpu(Floats{-1, -1, -1, -1, -1});
  gpukern::gather(source, index, out, {.exec = {.index_errors = errors}});
  EXPECT_EQ(on_host(out), (Floats{2, 1, 0, 0, 1}));
  const gpukern_bad_index first = take(errors);
  EXPECT_STREQ(first.function, "gather");
  EXPECT_EQ(first.call, 0);
  EXPECT_EQ(first.position, 2);
  EXPECT_EQ(first.value, 9);
  EXPECT_EQ(first.axis, 0);
  EXPECT_EQ(first.size, 4);
  EXPECT_STREQ(
      gpukern_last_error(),
      "index 9 is out of bounds for axis 0 with size 4 (call 0, gather, index 2 in C order)");
}

TEST_F(IndexErrorsTest, NamesTheFirstCall) {
  IndexErrors errors;
  gather({0, 1, 2}, errors);
  gather({0, 1, 2, 3}, errors);
  gather({77}, errors);
  EXPECT_EQ(take(errors).call, 1);
  gather({2, -3}, errors);
  errors.check_indices();
  gather({-4}, errors);
  const gpukern_bad_index first = take(errors);
  EXPECT_EQ(first.call, 4);
  EXPECT_EQ(first.value, -4);
}

/// Each operation goes on as in mode fill.
TEST_F(IndexErrorsTest, OfEveryOperation) {
  const auto source = on_gpu(Floats{1, 2, 3, 4, 5, 6});
  const auto values = on_gpu(Floats{10, 20, 30, 40});
  const auto index = on_gpu(Indices{1, 0, 8, 1});
  const auto column = on_gpu(Indices{2, 0, 1, -3});
  const auto offsets = on_gpu(Indices{0, 3, 4});
  const auto table = source.shaped({2, 3});
  auto out = on_gpu(Floats(6));
  using Run = std::function<void(Mode, const ExecOptions&)>;
  const std::vector<std::pair<const char*, Run>> runs{
      {"gather",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::gather(table, index, out.shaped({2, 4}), {.axis = 1, .mode = mode, .exec = exec});
       }},
      {"gather",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::gather(table, std::tie(index, column), out.shaped({4}),
                         {.mode = mode, .exec = exec});
       }},
      {"take_along_axis",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::take_along_axis(table, index.shaped({2, 2}), out.shaped({2, 2}),
                                  {.mode = mode, .exec = exec});
       }},
      {"scatter",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::scatter(out, index, values,
                          {.mode = mode, .reduce = gpukern::Reduction::add, .exec = exec});
       }},
      {"scatter",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::scatter(out.shaped({2, 3}), std::tie(index, column), values,
                          {.mode = mode, .exec = exec});
       }},
      {"put_along_axis",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::put_along_axis(out.shaped({2, 3}), index.shaped({2, 2}), values.shaped({2, 2}),
                                 {.mode = mode, .exec = exec});
       }},
      {"gather_reduce",
       [&](Mode mode, const ExecOptions& exec) {
         gpukern::gather_reduce(source, index, offsets, out.shaped({2}),
                                {.mode = mode, .exec = exec});
       }},
  };
  std::int64_t call = 0;
  IndexErrors errors;
  for (const auto& [name, run] : runs) {
    SCOPED_TRACE(name);
    out = on_gpu(Floats(8));
    run(Mode::fill, {});
    const Floats expected = on_host(out);
    out = on_gpu(Floats(8));
    run(Mode::raise, {.index_errors = errors});
    EXPECT_EQ(on_host(out), expected);
    const gpukern_bad_index first = take(errors);
    EXPECT_STREQ(first.function, name);
    EXPECT_EQ(first.call, call++);
    EXPECT_EQ(first.position, 2);
    EXPECT_EQ(first.value, 8);
  }
}

TEST_F(IndexErrorsTest, OfTheFirstAxisThatHasOne) {
  IndexErrors errors;
  const auto source = on_gpu(Floats{1, 2, 3, 4, 5, 6});
  const auto row = on_gpu(Indices{0, 1, 2});
  const auto column = on_gpu(Indices{9, 0, 0});
  DeviceBuffer<float> out(3);
  gpukern::gather(source.shaped({2, 3}), std::tie(row, column), out,
                  {.exec = {.index_errors = errors}});
  const gpukern_bad_index first = take(errors);
  EXPECT_EQ(first.axis, 0);
  EXPECT_EQ(first.position, 2);
}

TEST_F(IndexErrorsTest, OfManyBadIndicesTheFirst) {
  IndexErrors errors;
  for (const std::size_t bad : {0U, 1U, 17U, 4096U, 70'000U, 399'998U}) {
    Indices index(400'000);
    for (std::size_t k = bad; k < index.size(); ++k) index[k] = 3 + static_cast<std::int64_t>(k);
    gather(index, errors);
    const gpukern_bad_index first = take(errors);
    EXPECT_EQ(first.position, static_cast<std::int64_t>(bad));
    EXPECT_EQ(first.value, static_cast<std::int64_t>(bad) + 3);
    // Every other index.
    const auto source = on_gpu(Floats{1, 2, 3});
    const auto at = on_gpu(index);
    DeviceBuffer<float> out(index.size() / 2);
    const auto strided = at.shaped({out.size()}).strided({2});
    gpukern::gather(source, strided, out, {.exec = {.index_errors = errors}});
    EXPECT_EQ(take(errors).position, static_cast<std::int64_t>((bad + 1) / 2));
  }
}

TEST_F(IndexErrorsTest, UnsignedIndicesKeepTheirValue) {
  IndexErrors errors;
  const auto source = on_gpu(Floats{1, 2, 3});
  const auto index = on_gpu(std::vector<std::uint64_t>{0, UINT64_MAX});
  DeviceBuffer<float> out(2);
  gpukern::gather(source, index, out, {.exec = {.index_errors = errors}});
  EXPECT_EQ(take(errors).value, -1);
  EXPECT_EQ(std::string(gpukern_last_error()).find("index 18446744073709551615 is out of"), 0U);
}

TEST_F(IndexErrorsTest, HostArraysRaiseAtOnce) {
  IndexErrors errors;
  const Floats source{1, 2, 3};
  const Indices index{0, 3};
  for (const gpukern::Device device : {gpukern::kCpu, gpukern::cuda_device()}) {
    Floats out{7, 7};
    EXPECT_THROW(
        gpukern::gather(source, index, out, {.exec = {.device = device, .index_errors = errors}}),
        gpukern::IndexError);
    EXPECT_EQ(out, (Floats{7, 7}));
  }
  errors.check_indices();
}

TEST_F(IndexErrorsTest, OtherModesAndExplanationsRecordNothing) {
  IndexErrors errors;
  const auto source = on_gpu(Floats{1, 2, 3});
  const auto index = on_gpu(Indices{0, 3});
  DeviceBuffer<float> out(2);
  gpukern::gather(source, index, out, {.mode = Mode::clip, .exec = {.index_errors = errors}});
  gpukern_explanation explanation{};
  explanation.struct_size = sizeof explanation;
  gpukern::gather(source, index, out,
                  {.exec = {.explanation = &explanation, .index_errors = errors}});
  errors.check_indices();
  gather({3}, errors);
  EXPECT_EQ(take(errors).call, 0);
}

/// A program that was compiled before the member existed.
TEST_F(IndexErrorsTest, OldExecIsReadToItsSize) {
  const auto source = on_gpu(Floats{1, 2, 3});
  const auto index = on_gpu(Indices{0, 3});
  DeviceBuffer<float> out(2);
  const gpukern::TensorRef from(source);
  const gpukern::TensorRef at(index);
  const gpukern::TensorRef to(out);
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.struct_size = offsetof(gpukern_exec, index_errors);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  exec.index_errors = reinterpret_cast<gpukern_index_errors*>(std::uintptr_t{1});
  const gpukern_tensor c_from = from.c_tensor();
  const gpukern_tensor c_at = at.c_tensor();
  const gpukern_tensor c_to = to.c_tensor();
  EXPECT_EQ(gpukern_gather(&c_from, &c_at, 0, &c_to, nullptr, &exec), GPUKERN_INDEX_ERROR);
}

TEST_F(IndexErrorsTest, BadArguments) {
  gpukern_index_errors* errors = nullptr;
  EXPECT_EQ(gpukern_index_errors_create(gpukern::kCpu, &errors), GPUKERN_VALUE_ERROR);
  EXPECT_STREQ(gpukern_last_error(), "index_errors_create: device must be a CUDA device, got cpu");
  EXPECT_EQ(errors, nullptr);
  EXPECT_EQ(gpukern_index_errors_create({GPUKERN_CUDA, 99}, &errors), GPUKERN_DEVICE_ERROR);
  EXPECT_EQ(gpukern_index_errors_create(gpukern::cuda_device(), nullptr), GPUKERN_VALUE_ERROR);
  EXPECT_EQ(gpukern_index_errors_check(nullptr, nullptr), GPUKERN_VALUE_ERROR);
  EXPECT_EQ(gpukern_index_errors_destroy(nullptr), GPUKERN_SUCCESS);
  IndexErrors some;
  gpukern_bad_index first{};
  EXPECT_EQ(gpukern_index_errors_check(some, &first), GPUKERN_VALUE_ERROR);
  IndexErrors moved(std::move(some));
  moved = IndexErrors();
  moved.check_indices();
}

}  // namespace
