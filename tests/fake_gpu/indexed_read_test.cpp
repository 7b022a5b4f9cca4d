// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// An operation of the indexing layer other than gather: one index for each element, and both
// operands broadcast outside the axis. Devices must accept such loops in all modes, whole and in
// chunks.

#include <vector>

#include "fake_gpu.hpp"
#include "gather_oracle.hpp"
#include "src/ops/indexing.hpp"

namespace gpukern_test {
namespace {

using gpukern::Argument;
using gpukern::Axis;

constexpr std::int32_t kFill = -7;

void push_dimensions(const gpukern::GatherOperands& operands, const Axis& axis,
                     gpukern::Loop<4>& loop) {
  const auto& [source, index, out, fill] = operands;
  for (int d = 0; d < out.ndim; ++d)
    loop.push(out.shape[d], {d == axis.number || source.shape[d] == 1 ? 0 : source.stride[d],
                             index.shape[d] == 1 ? 0 : index.stride[d], out.stride[d], 0});
}

/// An array in host memory, pinned or not.
template <class T>
class HostArray {
 public:
  HostArray(gpukern_dtype dtype, Shape shape, bool pinned)
      : shape_(std::move(shape)),
        dtype_(dtype),
        where_{pinned ? GPUKERN_CUDA_HOST : GPUKERN_CPU, 0} {
    void* data = nullptr;
    EXPECT_EQ(gpukern_allocate(where_, sizeof(T) * size(), nullptr, &data), GPUKERN_SUCCESS);
    data_ = static_cast<T*>(data);
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  ~HostArray() { EXPECT_EQ(gpukern_release(where_, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count_of(shape_)); }
  [[nodiscard]] T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] gpukern_tensor tensor() const {
    return {data_,
            where_,
            static_cast<std::int32_t>(shape_.size()),
            dtype_,
            const_cast<std::int64_t*>(shape_.data()),
            nullptr,
            0};
  }
  /// The element at a position of a shape that this one broadcasts to.
  [[nodiscard]] T& at(const Shape& position) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      offset = offset * shape_[d] + (shape_[d] == 1 ? 0 : position[d]);
    return data_[offset];
  }

 private:
  Shape shape_;
  gpukern_dtype dtype_;
  gpukern_device where_;
  T* data_ = nullptr;
};

struct Case {
  Shape source;
  Shape index;
  int axis;
};

std::vector<Case> cases() {
  return {
      {{9}, {700}, 0},
      {{6, 40}, {50, 40}, 0},
      {{6, 40}, {1, 40}, 0},
      {{30, 7}, {30, 20}, 1},
      {{1, 7}, {30, 20}, 1},
      {{5, 6, 7}, {5, 44, 7}, 1},
      {{5, 6, 1}, {1, 44, 7}, 1},
      {{5, 6, 300}, {5, 4, 1}, 1},
      {{5, 1, 7}, {3, 64, 7}, 0},
  };
}

class IndexedReadTest : public testing::TestWithParam<bool> {
 protected:
  /// Runs the operation on a device type and returns the status of the call.
  static gpukern_status run(const Case& c, const HostArray<std::int32_t>& source,
                            const HostArray<std::int64_t>& index,
                            const HostArray<std::int32_t>& out,
                            const gpukern_gather_options& options, std::int32_t device_type) {
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.device.device_type = device_type;
    return gpukern::guard([&] {
      const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
      const Argument from("take", "source", &tensors[0]);
      const Argument at("take", "index", &tensors[1]);
      const Argument to("take", "out", &tensors[2]);
      const Axis axis = gpukern::checked_axis(from.tensor, c.axis);
      gpukern::run_indexed({"take", from, at, to, axis, push_dimensions, true},
                           gpukern::checked_options("take", &options), &exec);
    });
  }

  static Shape result_shape(const Case& c) {
    Shape shape = c.index;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (static_cast<int>(d) != c.axis) shape[d] = std::max(shape[d], c.source[d]);
    return shape;
  }

  static void expect_result(const Case& c, gpukern_index_mode mode,
                            const HostArray<std::int32_t>& source,
                            const HostArray<std::int64_t>& index,
                            const HostArray<std::int32_t>& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      Shape position(out.shape().size());
      for (std::size_t d = position.size(), rest = i; d-- > 0;) {
        position[d] = static_cast<std::int64_t>(rest) % out.shape()[d];
        rest /= static_cast<std::size_t>(out.shape()[d]);
      }
      const auto axis = static_cast<std::size_t>(c.axis);
      const auto found = resolve(index.at(position), c.source[axis], mode);
      if (found) position[axis] = *found;
      ASSERT_EQ(out[i], found ? source.at(position) : kFill) << "at " << i;
    }
  }
};

TEST_P(IndexedReadTest, EveryModeOnEveryDevice) {
  Random random(7);
  for (const Case& c : cases()) {
    const HostArray<std::int32_t> source(kInt32.dtype, c.source, GetParam());
    const HostArray<std::int64_t> index(kInt64.dtype, c.index, GetParam());
    const HostArray<std::int32_t> out(kInt32.dtype, result_shape(c), GetParam());
    const std::int64_t n = c.source[static_cast<std::size_t>(c.axis)];
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int32_t>(random());
    const std::int32_t fill = kFill;
    const gpukern_tensor value{
        const_cast<std::int32_t*>(&fill), kCpu, 0, kInt32.dtype, nullptr, nullptr, 0};
    for (const gpukern_index_mode mode : kModes) {
      const std::int64_t reach = mode == GPUKERN_INDEX_RAISE ? n : 3 * n;
      for (std::size_t i = 0; i < index.size(); ++i) index[i] = between(random, -reach, reach - 1);
      for (const std::int32_t may_change : {0, 1}) {
        gpukern_gather_options options = gather_options(mode, &value);
        options.out_may_change = may_change;
        for (const std::int32_t device : {GPUKERN_CPU, GPUKERN_CUDA}) {
          for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0;
          ASSERT_EQ(run(c, source, index, out, options, device), GPUKERN_SUCCESS)
              << gpukern_last_error();
          expect_result(c, mode, source, index, out);
        }
      }
    }
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = 0;
    index[index.size() - 1] = n;
    for (const std::int32_t device : {GPUKERN_CPU, GPUKERN_CUDA}) {
      const gpukern_gather_options options = gather_options(GPUKERN_INDEX_RAISE);
      expect_error(run(c, source, index, out, options, device), GPUKERN_INDEX_ERROR,
                   "index " + std::to_string(n) + " is out of bounds for axis ");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, IndexedReadTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& parameter) {
                           return parameter.param ? "pinned" : "pageable";
                         });

}  // namespace
}  // namespace gpukern_test
