// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Results of gather. gather_error_test.cpp tests its errors.

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

class GatherTest : public PlacementTest {
 protected:
  /// Random data, separate memories; indices reach out of bounds unless the mode is raise.
  void check(gpukern_dtype dtype, const Shape& source_shape, gpukern_dtype index_dtype,
             const Shape& index_shape, std::int32_t axis, gpukern_index_mode mode,
             Layout source_layout = Layout::Contiguous, Layout index_layout = Layout::Contiguous,
             Layout out_layout = Layout::Contiguous) {
    Array source(placement(), dtype, source_shape, source_layout);
    Array index(placement(), index_dtype, index_shape, index_layout);
    Array out(placement(), dtype, gather_shape(source_shape, index_shape, axis), out_layout);
    fill_random(source.storage.host, random_);
    fill_random(out.storage.host, random_);
    const std::int64_t size = split_at(source_shape, axis).size;
    fill_indices(index, random_, size, mode == GPUKERN_INDEX_RAISE ? 0 : 2 * size + 3);
    expect_gather({source, index, axis, mode, out}, placement());
  }

  Random random_{20260101};
};

TEST_P(GatherTest, EveryWidthAtEverySize) {
  std::vector<int> widths(17);
  std::iota(widths.begin(), widths.end(), 1);
  widths.insert(widths.end(), {24, 100, 4096});
  for (const int width : widths) {
    for (const std::int64_t size : {0, 1, 31, 32, 33, 65, 4096, 70001}) {
      if (size * width > 1 << 21) continue;
      SCOPED_TRACE("width " + std::to_string(width) + ", size " + std::to_string(size));
      check(bytes_dtype(width), {257}, kInt64.dtype, {size}, 0, GPUKERN_INDEX_RAISE);
    }
  }
}

TEST_P(GatherTest, EveryIndexTypeInEveryMode) {
  for (const IndexType& type : kIndexTypes) {
    for (const gpukern_index_mode mode : kModes) {
      for (const std::int64_t size : {1, 7, 100, 1000}) {
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode) + ", size " +
                     std::to_string(size));
        check(bytes_dtype(4), {size}, type.dtype, {65}, 0, mode);
      }
    }
  }
}

TEST_P(GatherTest, EveryIndexTypeAtItsLimits) {
  for (const IndexType& type : kIndexTypes) {
    for (const gpukern_index_mode mode :
         {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
      SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
      Array source(placement(), bytes_dtype(4), {7});
      Array index(placement(), type.dtype, {6});
      Array out(placement(), bytes_dtype(4), {6});
      fill_random(source.storage.host, random_);
      const auto offsets = index.offsets();
      const Wide values[] = {type.lowest,      type.lowest + 1,      type.highest,
                             type.highest - 1, type.highest / 2 + 1, type.highest / 2};
      for (std::size_t k = 0; k < offsets.size(); ++k)
        store_index(index.storage.host, offsets[k], type.dtype, values[k]);
      expect_gather({source, index, 0, mode, out}, placement());
    }
  }
}

TEST_P(GatherTest, EveryAxisAndIndexShape) {
  const Shape shape{3, 4, 5, 6};
  for (const std::int32_t axis : {-4, -3, -2, -1, 0, 1, 2, 3, GPUKERN_AXIS_NONE}) {
    for (const Shape& index_shape : {Shape{}, Shape{7}, Shape{2, 3}, Shape{0}, Shape{1, 0, 2}}) {
      for (const gpukern_index_mode mode : kModes) {
        SCOPED_TRACE("axis " + std::to_string(axis) + ", mode " + std::to_string(mode) +
                     ", index of " + std::to_string(index_shape.size()) + " dimensions");
        check(bytes_dtype(8), shape, kInt32.dtype, index_shape, axis, mode);
      }
    }
  }
}

TEST_P(GatherTest, SingleIndexInHostMemory) {
  for (const std::int32_t axis : {0, 1, -1, GPUKERN_AXIS_NONE})
    for (const gpukern_index_mode mode : kModes)
      for (const std::int32_t value : {0, 2, -1, 100, -100}) {
        SCOPED_TRACE("axis " + std::to_string(axis) + ", mode " + std::to_string(mode) +
                     ", index " + std::to_string(value));
        Array source(placement(), bytes_dtype(6), {3, 4, 5}, Layout::Strided);
        Array index(placement(), kInt32.dtype, {});
        const Shape shape = axis == 0    ? Shape{4, 5}
                            : axis == 1  ? Shape{3, 5}
                            : axis == -1 ? Shape{3, 4}
                                         : Shape{};
        Array out(placement(), bytes_dtype(6), shape, Layout::Reversed);
        Array wanted(placement(), bytes_dtype(6), shape, Layout::Reversed);
        fill_random(source.storage.host, random_);
        store_index(index.storage.host, index.offsets()[0], kInt32.dtype, value);
        for (Memory* memory : {&source.storage, &index.storage, &out.storage, &wanted.storage})
          memory->commit();
        const auto gather = [&](const gpukern_tensor& at, const Array& to) {
          const gpukern_tensor from = source.tensor();
          const gpukern_tensor into = to.tensor();
          gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
          options.mode = mode;
          const gpukern_exec exec = exec_at(placement());
          return gpukern_gather(&from, &at, axis, &into, &options, &exec);
        };
        const gpukern_status status = gather(index.tensor(), wanted);
        const std::string message = gpukern_last_error();
        std::int32_t on_host = value;
        EXPECT_EQ(gather({&on_host, kCpu, 0, kInt32.dtype, nullptr, nullptr, 0}, out), status);
        EXPECT_EQ(gpukern_last_error(), message);
        out.storage.fetch();
        wanted.storage.fetch();
        EXPECT_TRUE(same_bytes(wanted.storage.host, out.storage.host));
      }
}

TEST_P(GatherTest, EveryLayout) {
  for (const Layout source : kInputLayouts) {
    for (const Layout index : kInputLayouts) {
      for (const Layout out : kOutputLayouts) {
        SCOPED_TRACE("layouts " + std::to_string(static_cast<int>(source)) + ", " +
                     std::to_string(static_cast<int>(index)) + ", " +
                     std::to_string(static_cast<int>(out)));
        for (const int width : {1, 4, 6, 16})
          check(bytes_dtype(width), {5, 9, 6}, kInt64.dtype, {4, 3}, 1, GPUKERN_INDEX_RAISE, source,
                index, out);
        check(bytes_dtype(4), {5, 9, 6}, kInt32.dtype, {11, 3}, GPUKERN_AXIS_NONE,
              GPUKERN_INDEX_FILL, source, index, out);
      }
    }
  }
}

TEST_P(GatherTest, RowsOfEveryLength) {
  for (const std::int64_t row : {1, 2, 3, 15, 16, 17, 31, 33, 64, 1000, 5000})
    for (const Layout layout : {Layout::Contiguous, Layout::Unaligned}) {
      SCOPED_TRACE("row " + std::to_string(row) + ", layout " +
                   std::to_string(static_cast<int>(layout)));
      check(bytes_dtype(4), {50, row}, kInt64.dtype, {65}, 0, GPUKERN_INDEX_RAISE, layout);
      check(bytes_dtype(1), {50, row}, kInt64.dtype, {65}, 0, GPUKERN_INDEX_FILL, layout);
    }
}

TEST_P(GatherTest, ManyBlocks) {
  check(bytes_dtype(4), {1000003}, kInt32.dtype, {300001}, 0, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(2), {70001, 3}, kInt64.dtype, {70001}, 0, GPUKERN_INDEX_WRAP);
  check(bytes_dtype(8), {3, 70001}, kInt64.dtype, {40001}, 1, GPUKERN_INDEX_CLIP);
}

TEST_P(GatherTest, ScalarSourceCountsAsOneItem) {
  for (const std::int32_t axis : {0, -1, GPUKERN_AXIS_NONE})
    for (const gpukern_index_mode mode : kModes)
      for (const Shape& shape : {Shape{}, Shape{5}, Shape{0}})
        check(bytes_dtype(8), {}, kInt64.dtype, shape, axis, mode);
}

TEST_P(GatherTest, EmptyAxisWithEmptyResult) {
  for (const gpukern_index_mode mode : kModes) {
    check(bytes_dtype(4), {0, 3}, kInt64.dtype, {0}, 0, mode);
    check(bytes_dtype(4), {3, 0}, kInt64.dtype, {2, 0}, 1, mode);
    check(bytes_dtype(4), {0}, kInt64.dtype, {0}, GPUKERN_AXIS_NONE, mode);
    check(bytes_dtype(4), {4, 0}, kInt64.dtype, {2}, 0, mode);
  }
}

TEST_P(GatherTest, ManyDimensions) {
  Shape source(GPUKERN_MAX_NDIM, 1);
  source[3] = 2;
  source[20] = 3;
  source[40] = 5;
  source[63] = 2;
  check(bytes_dtype(4), source, kInt32.dtype, {4}, 20, GPUKERN_INDEX_RAISE, Layout::Strided,
        Layout::Contiguous, Layout::Strided);
  check(bytes_dtype(4), source, kInt32.dtype, {}, 40, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(4), {7}, kInt32.dtype, Shape(GPUKERN_MAX_NDIM, 1), 0, GPUKERN_INDEX_RAISE);
}

TEST_P(GatherTest, FillValueOfEverySuffixShape) {
  const Shape shape{2, 5, 3, 4};
  for (const Shape& fill_shape : {Shape{}, Shape{4}, Shape{3, 4}}) {
    for (const int width : {1, 3, 4, 16}) {
      SCOPED_TRACE("fill of " + std::to_string(fill_shape.size()) + " dimensions, width " +
                   std::to_string(width));
      Array source(placement(), bytes_dtype(width), shape);
      Array index(placement(), kInt64.dtype, {9});
      Array fill(Placement::Cpu, bytes_dtype(width), fill_shape);
      Array out(placement(), bytes_dtype(width), {2, 9, 3, 4});
      fill_random(source.storage.host, random_);
      fill_random(fill.storage.host, random_);
      fill_indices(index, random_, 5, 8);
      expect_gather({source, index, 1, GPUKERN_INDEX_FILL, out, &fill}, placement());
    }
  }
}

TEST_P(GatherTest, OutMayOverlapTheSource) {
  for (const std::int64_t shift : {-40, -4, -1, 0, 1, 4, 40}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    Array source(placement(), bytes_dtype(4), {6000});
    fill_random(source.storage.host, random_);
    Array index(placement(), kInt64.dtype, {3000});
    fill_indices(index, random_, 6000);
    const View out{&source.storage, source.dtype, {3000}, {1}, kGuard + 40 + shift};
    expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, placement());
  }
}

TEST_P(GatherTest, OutMayOverlapTheIndex) {
  for (const std::int64_t shift : {-16, -8, -3, 0, 8, 64}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    Array source(placement(), kInt64.dtype, {500});
    fill_random(source.storage.host, random_);
    Array room(placement(), kInt64.dtype, {2100});
    View index{&room.storage, room.dtype, {2000}, {1}, kGuard + 64};
    fill_indices(index, random_, 500, 1000);
    const View out{&room.storage, room.dtype, {2000}, {1}, kGuard + 64 + shift};
    expect_gather({source, index, 0, GPUKERN_INDEX_WRAP, out}, placement());
  }
}

TEST_P(GatherTest, OutMayOverlapTheFillValue) {
  if (placement() == Placement::Cuda)
    GTEST_SKIP() << "the fill value is in host memory, out is not";
  for (const std::int64_t row : {0, 1, 2}) {
    Array source(placement(), bytes_dtype(8), {3, 2});
    Array out(placement(), bytes_dtype(8), {3, 2});
    Array index(placement(), kInt64.dtype, {3});
    fill_random(source.storage.host, random_);
    fill_random(out.storage.host, random_);
    for (std::int64_t k = 0; k < 3; ++k)
      store<std::int64_t>(index.storage.host, kGuard + 8 * k, k == 0 ? 1 : 9);
    const View fill{&out.storage, out.dtype, {2}, {1}, kGuard + 16 * row};
    expect_gather({source, index, 0, GPUKERN_INDEX_FILL, out, &fill}, placement());
  }
}

TEST_P(GatherTest, OutMayBeTheSourceItself) {
  Array source(placement(), bytes_dtype(8), {64, 65});
  fill_random(source.storage.host, random_);
  Array index(placement(), kInt32.dtype, {65});
  fill_indices(index, random_, 65);
  expect_gather({source, index, 1, GPUKERN_INDEX_RAISE, source}, placement());
}

TEST_P(GatherTest, RandomCalls) {
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Shape source(static_cast<std::size_t>(between(random_, 1, 4)));
    for (auto& size : source) size = between(random_, 1, 9);
    Shape index(static_cast<std::size_t>(between(random_, 0, 3)));
    for (auto& size : index) size = between(random_, 0, 9);
    const auto ndim = static_cast<std::int64_t>(source.size());
    const auto axis = between(random_, -ndim, ndim) == ndim
                          ? GPUKERN_AXIS_NONE
                          : static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    check(bytes_dtype(static_cast<int>(between(random_, 1, 40))), source,
          kIndexTypes[random_() % std::size(kIndexTypes)].dtype, index, axis,
          kModes[random_() % std::size(kModes)],
          kInputLayouts[random_() % std::size(kInputLayouts)],
          kInputLayouts[random_() % std::size(kInputLayouts)],
          kOutputLayouts[random_() % std::size(kOutputLayouts)]);
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(GatherTest);

}  // namespace
}  // namespace gpukern_test
