// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather and scatter by an index for each of several axes, against the oracles for one index of
// these axes flattened.

#include <memory>

#include "gpukern/explain.h"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

/// The indexed axes of an array: `axis` and as many after it as there are further indices.
struct Axes {
  Shape shape;
  std::size_t axis;
  std::size_t count;

  [[nodiscard]] std::int64_t size(std::size_t k) const { return shape[axis + k]; }
  [[nodiscard]] std::int64_t positions() const {
    const auto first = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return count_of(Shape(first, first + static_cast<std::ptrdiff_t>(count)));
  }
  /// An array whose dimensions can be merged, with the axes as one.
  [[nodiscard]] View flattened(const View& view) const {
    View flat{view.memory, view.dtype, {}, {}, view.offset};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d > axis && d < axis + count) continue;
      const bool is_axis = d == axis;
      flat.shape.push_back(is_axis ? positions() : shape[d]);
      flat.strides.push_back(view.strides[is_axis ? axis + count - 1 : d]);
    }
    return flat;
  }
};

class MultiIndexTest : public PlacementTest {
 protected:
  /// Random indices, out of bounds unless the mode is raise, and their positions.
  void draw(const Axes& axes, const std::vector<Shape>& shapes, const std::vector<IndexType>& types,
            Layout layout, gpukern_index_mode mode, const Shape& broadcast_shape) {
    indices_.clear();
    positions_ = std::make_unique<Array>(Placement::Cpu, kInt64.dtype, broadcast_shape);
    const auto to = positions_->offsets();
    std::vector<std::int64_t> position(to.size(), 0);
    for (std::size_t k = 0; k < axes.count; ++k) {
      const std::int64_t size = axes.size(k);
      Array& index = *indices_.emplace_back(
          std::make_unique<Array>(placement(), types[k % types.size()].dtype, shapes[k], layout));
      fill_indices(index, random_, size, mode == GPUKERN_INDEX_RAISE ? 0 : size + 2);
      const auto from = broadcast(index, broadcast_shape).offsets();
      for (std::size_t p = 0; p < to.size(); ++p) {
        const auto at = resolve(load_index(index.memory->host, from[p], index.dtype), size, mode);
        position[p] = at && position[p] >= 0 ? position[p] * size + *at : -1;
      }
    }
    for (std::size_t p = 0; p < to.size(); ++p)  // none: out of bounds
      store_index(positions_->memory->host, to[p], kInt64.dtype,
                  position[p] >= 0 ? position[p] : axes.positions());
    for (const auto& index : indices_) index->memory->commit();
    tensors_.clear();
    further_.clear();
    for (const auto& index : indices_) tensors_.push_back(index->tensor());
    for (std::size_t k = 1; k < tensors_.size(); ++k) further_.push_back(&tensors_[k]);
  }

  template <class Options>
  void add_further(Options& options) const {
    options.further_index_count = static_cast<std::int32_t>(further_.size());
    options.further_indices = further_.data();
  }

  void check_gather(const Axes& axes, const Shape& broadcast_shape, gpukern_index_mode mode,
                    Layout layout) {
    const auto axis = static_cast<std::int32_t>(axes.axis);
    Array source(placement(), kFloat32, axes.shape, layout);
    const View flat = axes.flattened(source);
    Array out(placement(), kFloat32, gather_shape(flat.shape, broadcast_shape, axis), layout);
    fill_random(source.storage.host, random_);
    fill_random(out.storage.host, random_);
    const Expected expected = gather_oracle({flat, *positions_, axis, mode, out});
    source.memory->commit();
    out.memory->commit();
    const gpukern_exec exec = exec_at(placement());
    gpukern_gather_options options = gather_options(mode, nullptr);
    add_further(options);
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor to = out.tensor();
    ASSERT_EQ(gpukern_gather(&from, tensors_.data(), axis, &to, &options, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    out.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, out.storage.host));
  }

  void check_scatter(const Axes& axes, const Shape& broadcast_shape, gpukern_index_mode mode,
                     gpukern_reduce reduce, Layout layout) {
    const auto axis = static_cast<std::int32_t>(axes.axis);
    Array target(placement(), kFloat32, axes.shape, layout);
    const View flat = axes.flattened(target);
    Array values(placement(), kFloat32, gather_shape(flat.shape, broadcast_shape, axis), layout);
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    gpukern_scatter_options options = scatter_options(mode, reduce);
    const Expected expected =
        scatter_oracle({false, flat, *positions_, values, axis, options, nullptr});
    target.memory->commit();
    values.memory->commit();
    const gpukern_exec exec = exec_at(placement());
    add_further(options);
    const gpukern_tensor to = target.tensor();
    const gpukern_tensor from = values.tensor();
    ASSERT_EQ(gpukern_scatter(&to, tensors_.data(), &from, axis, nullptr, &options, &exec),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    target.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, target.storage.host));
  }

  void check(const Axes& axes, const std::vector<Shape>& shapes, const Shape& broadcast_shape,
             const std::vector<IndexType>& types, Layout layout = Layout::Contiguous) {
    for (const gpukern_index_mode mode : kModes) {
      SCOPED_TRACE("mode " + std::to_string(mode));
      draw(axes, shapes, types, layout, mode, broadcast_shape);
      check_gather(axes, broadcast_shape, mode, layout);
      check_scatter(axes, broadcast_shape, mode, GPUKERN_REDUCE_NONE, layout);
      check_scatter(axes, broadcast_shape, mode, GPUKERN_REDUCE_ADD, layout);
    }
  }

  Random random_{20260106};
  std::vector<std::unique_ptr<Array>> indices_;
  std::vector<gpukern_tensor> tensors_;
  std::vector<const gpukern_tensor*> further_;
  std::unique_ptr<Array> positions_;  ///< of the flattened axes
};

TEST_P(MultiIndexTest, EveryIndexType) {
  for (const IndexType& type : kIndexTypes) {
    SCOPED_TRACE(type.name);
    check({{20, 30}, 0, 2}, {{500}, {500}}, {500}, {type, kInt64});
  }
}

TEST_P(MultiIndexTest, EveryAxisAndLayout) {
  for (const Layout layout : {Layout::Contiguous, Layout::Reversed})
    for (const std::size_t axis : {0U, 1U, 2U})
      check({{4, 3, 5, 6}, axis, 2}, {{7}, {7}}, {7}, {kInt32}, layout);
}

TEST_P(MultiIndexTest, IndicesBroadcast) {
  check({{4, 3, 5}, 0, 3}, {{6, 1}, {}, {1, 7}}, {6, 7}, {kInt64, kInt32});
  check({{4, 3, 5}, 1, 2}, {{}, {}}, {}, {kInt64});
  check({{4, 3}, 0, 2}, {{2, 1, 1}, {3, 1}}, {2, 3, 1}, {kInt64});
  check({{4, 3}, 0, 2}, {{0, 1}, {3}}, {0, 3}, {kInt64});
}

// More than the GPU combines in one launch.
TEST_P(MultiIndexTest, ManyAxes) {
  check({{4, 3, 5, 2, 3}, 0, 4}, {{40}, {40}, {40}, {40}}, {40}, {kInt64, kInt32});
  check({{2, 3, 2, 3, 2, 3, 2}, 0, 7}, {{9}, {8, 1}, {9}, {}, {9}, {8, 9}, {1}}, {8, 9}, {kInt32});
}

TEST_P(MultiIndexTest, ManyUpdates) {
  check({{300, 200}, 0, 2}, {{70000}, {70000}}, {70000}, {kInt32});
  check({{30, 20, 64}, 0, 2}, {{5000}, {5000}}, {5000}, {kInt64});
}

// The CPU combines the indices in blocks of 256 positions.
TEST_P(MultiIndexTest, EndsOfBlocks) {
  for (const std::int64_t count : {255, 256, 257, 511, 512, 513, 3000}) {
    SCOPED_TRACE(std::to_string(count) + " positions");
    for (const Layout layout : {Layout::Contiguous, Layout::Reversed, Layout::Unaligned})
      check({{20, 30, 4}, 0, 3}, {{count}, {count}, {count}}, {count}, {kInt64, kInt32}, layout);
    check({{6, 20, 30}, 1, 2}, {{count, 1}, {3}}, {count, 3}, {kIndexTypes[7], kIndexTypes[0]});
    check({{9, 7, 11}, 0, 2}, {{count}, {count}}, {count}, {kInt64});
  }
  check({{3, 2, 40000}, 0, 2}, {{5}, {5}}, {5}, {kInt64});  // items that several threads share
  check({{2, 2, 40000}, 0, 2}, {{5}, {5}}, {5}, {kInt32}, Layout::Reversed);
}

TEST_P(MultiIndexTest, ABadIndexAtTheEndLeavesOutUnchanged) {
  constexpr std::int64_t kCount = 70000;
  const Axes axes{{400, 300}, 0, 2};
  Array source(placement(), kFloat32, axes.shape);
  Array out(placement(), kFloat32, {kCount});
  fill_random(source.storage.host, random_);
  fill_random(out.storage.host, random_);
  const Bytes before = out.storage.host;
  source.memory->commit();
  out.memory->commit();
  for (const std::size_t bad : {0U, 1U}) {
    draw(axes, {{kCount}, {kCount}}, {kInt64}, Layout::Contiguous, GPUKERN_INDEX_RAISE, {kCount});
    store_index(indices_[bad]->storage.host, kGuard + 8 * (kCount - 1), kInt64.dtype, -401);
    indices_[bad]->memory->commit();
    gpukern_gather_options options = gather_options(GPUKERN_INDEX_RAISE, nullptr);
    add_further(options);
    const gpukern_exec exec = exec_at(placement());
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor to = out.tensor();
    EXPECT_EQ(gpukern_gather(&from, tensors_.data(), 0, &to, &options, &exec), GPUKERN_INDEX_ERROR);
    EXPECT_EQ(std::string(gpukern_last_error()),
              bad == 0 ? "index -401 is out of bounds for axis 0 with size 400"
                       : "index -401 is out of bounds for axis 1 with size 300");
    out.memory->fetch();
    EXPECT_TRUE(same_bytes(before, out.storage.host));
    const std::string message = gpukern_last_error();
    options.out_may_change = 1;
    EXPECT_EQ(gpukern_gather(&from, tensors_.data(), 0, &to, &options, &exec), GPUKERN_INDEX_ERROR);
    EXPECT_EQ(gpukern_last_error(), message);
    out.memory->host = before;
    out.memory->commit();
  }
}

TEST_P(MultiIndexTest, OutMayOverlapAnIndex) {
  constexpr std::int64_t kCount = 1000;
  const Axes axes{{30, 30}, 0, 2};
  for (const unsigned number : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    const gpukern_index_mode mode = number < 4 ? GPUKERN_INDEX_RAISE : GPUKERN_INDEX_WRAP;
    draw(axes, {{kCount}, {kCount}}, {kInt64}, Layout::Contiguous, mode, {kCount});
    Array source(placement(), kInt64.dtype, axes.shape);
    fill_random(source.storage.host, random_);
    source.memory->commit();
    View out = *indices_[number % 2];
    if (number % 4 >= 2) {  // reversed
      out.offset += out.item() * (kCount - 1);
      out.strides = {-1};
    }
    const Expected expected = gather_oracle({axes.flattened(source), *positions_, 0, mode, out});
    gpukern_gather_options options = gather_options(mode, nullptr);
    add_further(options);
    const gpukern_exec exec = exec_at(placement());
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor to = out.tensor();
    ASSERT_EQ(gpukern_gather(&from, tensors_.data(), 0, &to, &options, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    out.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, out.memory->host));
  }
}

TEST(MultiIndexMemoryTest, TheCpuNeedsNone) {
  std::int64_t shape[] = {3, 4};
  std::int64_t count = 1000000;
  std::vector<std::int64_t> index(static_cast<std::size_t>(count));
  float data[12]{};
  std::vector<float> result(static_cast<std::size_t>(count));
  const gpukern_tensor source{data, kCpu, 2, kFloat32, shape, nullptr, 0};
  const gpukern_tensor at{index.data(), kCpu, 1, kInt64.dtype, &count, nullptr, 0};
  const gpukern_tensor out{result.data(), kCpu, 1, kFloat32, &count, nullptr, 0};
  const gpukern_tensor* const further[] = {&at};
  gpukern_gather_options options = gather_options(GPUKERN_INDEX_CLIP, nullptr);
  options.further_index_count = 1;
  options.further_indices = further;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = exec_at(Placement::Cpu);
  exec.explanation = &explanation;
  ASSERT_EQ(gpukern_gather(&source, &at, 0, &out, &options, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation.bytes_allocated, 0);
  EXPECT_EQ(explanation.bytes_read, (16 + 4) * count);
  EXPECT_EQ(explanation.bytes_written, 4 * count);
}

TEST_P(MultiIndexTest, TheFirstBadIndexIsNamedAndNothingIsWritten) {
  const Axes axes{{4, 3}, 0, 2};
  for (const std::size_t bad : {0U, 1U}) {
    draw(axes, {{5}, {5}}, {kInt64}, Layout::Contiguous, GPUKERN_INDEX_RAISE, {5});
    store_index(indices_[bad]->storage.host, kGuard + 24, kInt64.dtype, 4 - static_cast<Wide>(bad));
    indices_[bad]->memory->commit();
    Array target(placement(), kFloat32, axes.shape);
    Array values(placement(), kFloat32, {5});
    fill_random(target.storage.host, random_);
    const Bytes before = target.storage.host;
    target.memory->commit();
    values.memory->commit();
    const gpukern_exec exec = exec_at(placement());
    gpukern_scatter_options scatter = scatter_options(GPUKERN_INDEX_RAISE);
    gpukern_gather_options gather = gather_options(GPUKERN_INDEX_RAISE, nullptr);
    add_further(scatter);
    add_further(gather);
    const gpukern_tensor to = target.tensor();
    const gpukern_tensor from = values.tensor();
    const std::string message = bad == 0 ? "index 4 is out of bounds for axis 0 with size 4"
                                         : "index 3 is out of bounds for axis 1 with size 3";
    EXPECT_EQ(gpukern_scatter(&to, tensors_.data(), &from, 0, nullptr, &scatter, &exec),
              GPUKERN_INDEX_ERROR);
    EXPECT_EQ(gpukern_last_error(), message);
    EXPECT_EQ(gpukern_gather(&to, tensors_.data(), 0, &from, &gather, &exec), GPUKERN_INDEX_ERROR);
    EXPECT_EQ(gpukern_last_error(), message);
    target.memory->fetch();
    EXPECT_TRUE(same_bytes(before, target.storage.host));
  }
}

TEST_P(MultiIndexTest, RefusesWhatDoesNotFit) {
  Array source(placement(), kFloat32, {4, 3});
  Array out(placement(), kFloat32, {5});
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor to = out.tensor();
  const gpukern_exec exec = exec_at(placement());
  const auto refused = [&](const std::vector<Shape>& shapes, std::int32_t axis,
                           gpukern_dtype dtype = kInt64.dtype) -> std::string {
    std::vector<std::unique_ptr<Array>> arrays;
    std::vector<gpukern_tensor> tensors;
    for (const Shape& shape : shapes) {
      arrays.push_back(std::make_unique<Array>(placement(), dtype, shape));
      tensors.push_back(arrays.back()->tensor());
    }
    tensors[0].dtype = kInt64.dtype;
    std::vector<const gpukern_tensor*> further;
    for (std::size_t k = 1; k < tensors.size(); ++k) further.push_back(&tensors[k]);
    gpukern_gather_options options = gather_options(GPUKERN_INDEX_CLIP, nullptr);
    options.further_index_count = static_cast<std::int32_t>(further.size());
    options.further_indices = further.data();
    EXPECT_NE(gpukern_gather(&from, tensors.data(), axis, &to, &options, &exec), GPUKERN_SUCCESS);
    return gpukern_last_error();
  };
  EXPECT_EQ(refused({{5}, {5}, {5}}, 0),
            "too many indices for array: array is 2-dimensional, but 3 were indexed");
  EXPECT_EQ(refused({{5}, {5}}, 1),
            "too many indices for array: array is 2-dimensional, but 3 were indexed");
  EXPECT_EQ(refused({{5}, {4}}, 0),
            "gather: shape mismatch: index arrays could not be broadcast together with shapes "
            "(5,) (4,)");
  EXPECT_EQ(refused({{5}, {5}}, GPUKERN_AXIS_NONE),
            "gather: axis must not be none with several index arrays");
  EXPECT_EQ(refused({{5}, {5}}, 0, {GPUKERN_FLOAT, 64, 1}),
            "gather: index[1] must be of an integer dtype, got float64");
  EXPECT_EQ(refused({{4}, {4}}, 0), "gather: out must have shape (4,), got (5,)");

  gpukern_gather_options options = gather_options(GPUKERN_INDEX_CLIP, nullptr);
  options.further_index_count = 1;
  Array index(placement(), kInt64.dtype, {5});
  const gpukern_tensor at = index.tensor();
  EXPECT_EQ(gpukern_gather(&from, &at, 0, &to, &options, &exec), GPUKERN_VALUE_ERROR);
  EXPECT_STREQ(gpukern_last_error(),
               "gather: further_indices must not be NULL, since further_index_count is 1");
  options.further_index_count = INT32_MAX;
  EXPECT_EQ(gpukern_gather(&from, &at, 0, &to, &options, &exec), GPUKERN_VALUE_ERROR);
  EXPECT_STREQ(gpukern_last_error(),
               "gather: further_index_count must be in [0, 64), got 2147483647");
  options.further_index_count = 1;
  const gpukern_tensor* const further[] = {&at};
  options.further_indices = further;
  EXPECT_EQ(gpukern_take_along_axis(&from, &at, 0, &to, &options, &exec), GPUKERN_VALUE_ERROR);
  EXPECT_STREQ(gpukern_last_error(), "take_along_axis: further_index_count must be 0, got 1");
}

GPUKERN_INSTANTIATE_PLACEMENTS(MultiIndexTest);

}  // namespace
}  // namespace gpukern_test
