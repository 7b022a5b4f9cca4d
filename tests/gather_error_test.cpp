// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Errors of gather: every status and message, and an unchanged out.

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};

class GatherErrorTest : public PlacementTest {
 protected:
  /// Calls gather with the given indices and compares status, message and out with the oracle.
  void check_indices(std::int64_t size, const IndexType& type, const std::vector<Wide>& values,
                     gpukern_index_mode mode = GPUKERN_INDEX_RAISE) {
    Array source(placement(), kFloat32, {size});
    Array index(placement(), type.dtype, {static_cast<std::int64_t>(values.size())});
    Array out(placement(), kFloat32, index.shape);
    fill_random(source.storage.host, random_);
    fill_random(out.storage.host, random_);
    const auto offsets = index.offsets();
    for (std::size_t k = 0; k < values.size(); ++k)
      store_index(index.storage.host, offsets[k], type.dtype, values[k]);
    expect_gather({source, index, 0, mode, out}, placement());
  }

  /// Makes a call whose arguments are invalid.
  void expect_refused(const View& source, const View& index, std::int32_t axis, const View& out,
                      gpukern_status status, const std::string& beginning,
                      gpukern_index_mode mode = GPUKERN_INDEX_CLIP, const View* fill = nullptr) {
    expect_error(Gather{source, index, axis, mode, out, fill}.run(placement()), status, beginning);
  }

  Random random_{7};
};

TEST_P(GatherErrorTest, NamesTheFirstBadIndex) {
  check_indices(5, kInt64, {0, 4, 5, -6, 99});
  check_indices(5, kInt64, {0, -5, -6, 5});
  check_indices(5, kIndexTypes[4], {5});
  check_indices(1, kInt32, {0, -1, 1});
  EXPECT_STREQ(gpukern_last_error(), "index 1 is out of bounds for axis 0 with size 1");
}

TEST_P(GatherErrorTest, NamesIndicesOfEverySize) {
  check_indices(5, kInt64, {INT64_MIN});
  check_indices(5, kInt64, {INT64_MAX});
  check_indices(5, kIndexTypes[7], {4, UINT64_MAX, 5});
  check_indices(5, kIndexTypes[7], {Wide{INT64_MAX} + 1});
  check_indices(5, kIndexTypes[6], {UINT32_MAX});
  check_indices(200, kIndexTypes[0], {-128, 127, 0});
}

TEST_P(GatherErrorTest, NamesTheFirstOfManyInALongIndex) {
  for (const std::int64_t first : {0L, 31L, 4096L, 70000L, 199999L}) {
    SCOPED_TRACE("first " + std::to_string(first));
    std::vector<Wide> values(200000, 3);
    for (auto k = static_cast<std::size_t>(first); k < values.size(); k += 7)
      values[k] = 1000 + static_cast<Wide>(k);
    check_indices(1000, kInt32, values);
  }
}

// Around the number of indices that are read once, into a copy, and the numbers that one block or
// thread takes; without a bad index, with the first or the last bad, and with both signs of good
// ones.
TEST_P(GatherErrorTest, LeavesOutUnchangedForFewAndForManyIndices) {
  for (const std::size_t count : {1, 255, 256, 257, 4096, 24575, 24576, 24577, 70000}) {
    SCOPED_TRACE("count " + std::to_string(count));
    for (const IndexType& type : {kInt32, kInt64}) {
      std::vector<Wide> values(count);
      for (std::size_t k = 0; k < count; ++k) values[k] = static_cast<Wide>(k % 1000);
      check_indices(1000, type, values);
      for (const std::size_t at : {std::size_t{0}, count - 1}) {
        for (const Wide value : {-1, -1000, -1001, 1000, INT32_MAX, INT32_MIN}) {
          std::vector<Wide> changed = values;
          changed[at] = value;
          check_indices(1000, type, changed);
        }
      }
    }
    // The low 32 bits are in bounds.
    std::vector<Wide> high(count, 5);
    high[count / 2] = (Wide{1} << 32) + 5;
    check_indices(1000, kInt64, high);
  }
}

// Enough indices for several threads, which check the part that they gather; index layouts with
// runs that the output does not have, and the reverse.
TEST_P(GatherErrorTest, LeavesOutUnchangedInEveryLayout) {
  Array source(placement(), kFloat32, {1000});
  fill_random(source.storage.host, random_);
  for (const Layout index_layout : kInputLayouts) {
    for (const Layout out_layout : kOutputLayouts) {
      Array index(placement(), kInt64.dtype, {30000, 2}, index_layout);
      Array out(placement(), kFloat32, {30000, 2}, out_layout);
      fill_random(out.storage.host, random_);
      const auto offsets = index.offsets();
      for (std::size_t k = 0; k < offsets.size(); ++k)
        store_index(index.storage.host, offsets[k], kInt64.dtype, static_cast<Wide>(k % 1000));
      expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, placement());
      for (const std::size_t bad : {std::size_t{0}, offsets.size() / 2, offsets.size() - 1}) {
        store_index(index.storage.host, offsets[bad], kInt64.dtype, 1000);
        expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, placement());
        store_index(index.storage.host, offsets[bad], kInt64.dtype, 0);
      }
    }
  }
}

TEST_P(GatherErrorTest, NamesTheAxisOfTheSource) {
  Array source(placement(), kFloat32, {2, 3, 4});
  Array index(placement(), kInt32.dtype, {2, 2}, Layout::Fortran);
  for (const std::int32_t axis : {0, 1, 2, -1, -2, -3, GPUKERN_AXIS_NONE}) {
    const std::int64_t size = split_at(source.shape, axis).size;
    const auto offsets = index.offsets();
    store_index(index.storage.host, offsets[1], kInt32.dtype, size + 1);
    store_index(index.storage.host, offsets[2], kInt32.dtype, size + 2);
    Array out(placement(), kFloat32, gather_shape(source.shape, index.shape, axis));
    fill_random(out.storage.host, random_);
    expect_gather({source, index, axis, GPUKERN_INDEX_RAISE, out}, placement());
  }
}

TEST_P(GatherErrorTest, LeavesOutUnchangedIfItOverlaps) {
  Array source(placement(), kFloat32, {5000});
  fill_random(source.storage.host, random_);
  Array index(placement(), kInt64.dtype, {4000});
  store_index(index.storage.host, index.offsets().back(), kInt64.dtype, 5000);
  const View out{&source.storage, kFloat32, {4000}, {1}, kGuard + 4};
  expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, placement());
}

TEST_P(GatherErrorTest, EmptyAxisInEveryMode) {
  for (const gpukern_index_mode mode : kModes) check_indices(0, kInt64, {0}, mode);
}

TEST_P(GatherErrorTest, RaisesForAnEmptyResult) {
  for (const std::int64_t size : {0, 3}) {
    Array source(placement(), kFloat32, {size, 0});
    Array index(placement(), kInt64.dtype, {1});
    Array out(placement(), kFloat32, {1, 0});
    store_index(index.storage.host, index.offset, kInt64.dtype, 3);
    expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, placement());
    expect_gather({source, index, 0, GPUKERN_INDEX_WRAP, out}, placement());
  }
}

TEST_P(GatherErrorTest, LeavesTheIndexUnreadWithoutPositionsBeforeTheAxis) {
  Array source(placement(), kFloat32, {0, 3});
  Array index(placement(), kInt64.dtype, {1});
  Array out(placement(), kFloat32, {0, 1});
  store_index(index.storage.host, index.offset, kInt64.dtype, 3);
  expect_gather({source, index, 1, GPUKERN_INDEX_RAISE, out}, placement());
}

TEST_P(GatherErrorTest, CallsSucceedAfterAnError) {
  for (int round = 0; round < 20; ++round) {
    check_indices(5, kInt64, {5 + round});
    check_indices(5, kInt64, {4, -5, 0});
  }
}

TEST_P(GatherErrorTest, AxisOutOfRange) {
  Array source(placement(), kFloat32, {2, 3});
  Array scalar(placement(), kFloat32, {});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4, 3});
  for (const std::int32_t axis : {2, -3, 64, INT32_MAX, INT32_MIN + 1})
    expect_refused(source, index, axis, out, GPUKERN_AXIS_ERROR,
                   "axis " + std::to_string(axis) + " is out of bounds for array of dimension 2");
  for (const std::int32_t axis : {1, -2})
    expect_refused(scalar, index, axis, out, GPUKERN_AXIS_ERROR, "axis ");
}

TEST_P(GatherErrorTest, IndexMustBeOfAnIntegerType) {
  Array source(placement(), kFloat32, {2});
  Array out(placement(), kFloat32, {4});
  const std::pair<gpukern_dtype, std::string> cases[] = {
      {{GPUKERN_FLOAT, 32, 1}, "float32"},     {{GPUKERN_BOOL, 8, 1}, "bool"},
      {{GPUKERN_COMPLEX, 64, 1}, "complex64"}, {{GPUKERN_BFLOAT, 16, 1}, "bfloat16"},
      {{GPUKERN_INT, 32, 2}, "int32x2"},       {{GPUKERN_INT, 128, 1}, "int128"},
  };
  for (const auto& [dtype, name] : cases) {
    Array index(placement(), dtype, {4});
    expect_refused(source, index, 0, out, GPUKERN_TYPE_ERROR,
                   "gather: index must be of an integer dtype, got " + name);
  }
}

TEST_P(GatherErrorTest, OutMustMatch) {
  Array source(placement(), kFloat32, {2, 3});
  Array index(placement(), kInt64.dtype, {4});
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{4, 2}, Shape{4, 3, 1}, Shape{}}) {
    Array out(placement(), kFloat32, shape);
    expect_refused(source, index, 0, out, GPUKERN_VALUE_ERROR, "gather: out ");
  }
  for (const gpukern_dtype dtype : {gpukern_dtype{GPUKERN_INT, 32, 1}, {GPUKERN_FLOAT, 64, 1}}) {
    Array out(placement(), dtype, {4, 3});
    expect_refused(source, index, 0, out, GPUKERN_TYPE_ERROR, "gather: out ");
  }
  Array repeated(placement(), kFloat32, {4, 3}, Layout::Broadcast);
  expect_refused(source, index, 0, repeated, GPUKERN_VALUE_ERROR, "gather: out ");
}

TEST_P(GatherErrorTest, FillValueMustMatch) {
  Array source(placement(), kFloat32, {2, 3});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4, 3});
  for (const Shape& shape : {Shape{2}, Shape{2, 3}, Shape{1, 3}}) {
    Array fill(Placement::Cpu, kFloat32, shape);
    expect_refused(source, index, 0, out, GPUKERN_VALUE_ERROR, "gather: fill_value ",
                   GPUKERN_INDEX_FILL, &fill);
  }
  Array fill(Placement::Cpu, {GPUKERN_INT, 32, 1}, {});
  expect_refused(source, index, 0, out, GPUKERN_TYPE_ERROR, "gather: fill_value ",
                 GPUKERN_INDEX_FILL, &fill);
}

TEST_P(GatherErrorTest, ModeMustBeKnown) {
  if (under_address_sanitizer())
    GTEST_SKIP() << "UndefinedBehaviorSanitizer refuses a number that no enum of C++ may hold";
  Array source(placement(), kFloat32, {2});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4});
  for (const int mode : {-1, 4})
    expect_refused(source, index, 0, out, GPUKERN_VALUE_ERROR, "gather: mode ",
                   static_cast<gpukern_index_mode>(mode));
}

TEST_P(GatherErrorTest, PathMustBeKnown) {
  Array source(placement(), kFloat32, {2});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4});
  const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
  const gpukern_exec exec = exec_at(placement());
  for (const int path : {-1, 3}) {
    gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
    options.path = path;
    expect_error(gpukern_gather(&tensors[0], &tensors[1], 0, &tensors[2], &options, &exec),
                 GPUKERN_VALUE_ERROR, "gather: path must be one of ");
  }
}

TEST_P(GatherErrorTest, OptionsAreOptionalAndSized) {
  Array source(placement(), kFloat32, {2});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4});
  for (std::int64_t k = 0; k < 4; ++k) store<std::int64_t>(index.storage.host, kGuard + 8 * k, 2);
  source.storage.commit();
  index.storage.commit();
  const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
  const gpukern_exec exec = exec_at(placement());
  const auto run = [&](const gpukern_gather_options* options) {
    return gpukern_gather(&tensors[0], &tensors[1], 0, &tensors[2], options, &exec);
  };
  expect_error(run(nullptr), GPUKERN_INDEX_ERROR, "index 2 is out of bounds for axis 0");
  gpukern_gather_options options = gather_options(GPUKERN_INDEX_CLIP);
  EXPECT_EQ(run(&options), GPUKERN_SUCCESS) << gpukern_last_error();
  options.struct_size = offsetof(gpukern_gather_options, out_may_change);
  expect_error(run(&options), GPUKERN_VALUE_ERROR, "gather: options must have struct_size = ");
}

// One layout per kernel: items, rows, an inner axis, strided, misaligned, partitioned.
TEST_P(GatherErrorTest, BadIndexIsFoundWhileGathering) {
  const auto run = [&](const Shape& shape, int axis, std::int64_t count, gpukern_dtype dtype,
                       Layout layout = Layout::Contiguous) {
    Array source(placement(), dtype, shape);
    Array index(placement(), kInt32.dtype, {count}, layout);
    const Array out(placement(), dtype, gather_shape(shape, {count}, axis));
    source.storage.commit();
    const auto offsets = index.offsets();
    for (std::size_t i = 0; i < offsets.size(); ++i)
      store_index(index.storage.host, offsets[i], kInt32.dtype,
                  i + 2 == offsets.size() ? -8 : static_cast<Wide>(i % 7) - 3);
    index.storage.commit();
    const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
    const gpukern_exec exec = exec_at(placement());
    gpukern_gather_options options = gather_options(GPUKERN_INDEX_RAISE);
    options.out_may_change = 1;
    for (const gpukern_gather_path path : {GPUKERN_GATHER_DIRECT, GPUKERN_GATHER_PARTITIONED}) {
      options.path = path;
      expect_error(gpukern_gather(&tensors[0], &tensors[1], axis, &tensors[2], &options, &exec),
                   GPUKERN_INDEX_ERROR, "index -8 is out of bounds for axis ");
    }
  };
  for (const std::int64_t count : {3, 5000, 200000}) {
    run({7}, 0, count, kFloat32);
    run({7, 5}, 0, count, kFloat32);
    run({7, 33}, 0, count, bytes_dtype(3));
    run({9, 7}, 1, count, kFloat32);
    run({300, 7}, 1, count / 100 + 3, kFloat32);
    run({7}, 0, count, kFloat32, Layout::Strided);
    run({7}, 0, count, kFloat32, Layout::Unaligned);
  }
  run({7, 70000}, 0, 3, kFloat32);  // items that several threads share
}

TEST_P(GatherErrorTest, TooManyDimensions) {
  Array source(placement(), kFloat32, Shape(40, 1));
  Array index(placement(), kInt64.dtype, Shape(40, 1));
  Array out(placement(), kFloat32, Shape(GPUKERN_MAX_NDIM, 1));
  expect_refused(source, index, 0, out, GPUKERN_VALUE_ERROR, "gather: ");
}

TEST_P(GatherErrorTest, EachTensorIsRequired) {
  Array source(placement(), kFloat32, {2});
  Array index(placement(), kInt64.dtype, {4});
  Array out(placement(), kFloat32, {4});
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor to = out.tensor();
  const auto call = [](const gpukern_tensor* a, const gpukern_tensor* b, const gpukern_tensor* c) {
    return call_gather(a, b, 0, c, gather_options(GPUKERN_INDEX_CLIP), nullptr);
  };
  expect_error(call(nullptr, &at, &to), GPUKERN_VALUE_ERROR, "gather: source must not be NULL");
  expect_error(call(&from, nullptr, &to), GPUKERN_VALUE_ERROR, "gather: index must not be NULL");
  expect_error(call(&from, &at, nullptr), GPUKERN_VALUE_ERROR, "gather: out must not be NULL");
}

GPUKERN_INSTANTIATE_PLACEMENTS(GatherErrorTest);

}  // namespace
}  // namespace gpukern_test
