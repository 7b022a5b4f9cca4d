// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Errors of scatter: every status and message, nothing written. No mode writes outside the target;
// targets of more than 2^31 elements.

#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "gpukern/gpukern.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

class ScatterErrorTest : public PlacementTest {
 protected:
  /// Makes a call with these indices; every byte is as the oracle says, also after an error.
  void check_indices(std::int64_t size, const IndexType& type, const std::vector<Wide>& numbers,
                     gpukern_scatter_options options, bool with_out = false) {
    Array target(placement(), kFloat32, {size});
    Array out(placement(), kFloat32, {size});
    Array index(placement(), type.dtype, {static_cast<std::int64_t>(numbers.size())});
    Array values(placement(), kFloat32, index.shape);
    for (View* view :
         {static_cast<View*>(&target), static_cast<View*>(&out), static_cast<View*>(&values)})
      fill_numbers(*view, random_, true);
    const auto offsets = index.offsets();
    for (std::size_t k = 0; k < numbers.size(); ++k)
      store_index(index.storage.host, offsets[k], type.dtype, numbers[k]);
    expect_scatter({false, target, index, values, 0, options, with_out ? &out : nullptr},
                   placement());
  }

  Random random_{20260104};
};

TEST_P(ScatterErrorTest, RaiseIsAllOrNothing) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    for (const bool with_out : {false, true})
      for (const std::size_t count : {1, 255, 16384, 16385, 70000})
        for (const std::size_t at : {std::size_t{0}, count / 2, count - 1})
          for (const Wide bad : {Wide{1000}, Wide{-1001}, Wide{INT64_MIN}, Wide{INT64_MAX}}) {
            std::vector<Wide> numbers(count);
            for (std::size_t k = 0; k < count; ++k) numbers[k] = static_cast<Wide>(k % 1000);
            numbers[at] = bad;
            numbers.back() = 5000;
            check_indices(1000, kInt64, numbers, scatter_options(GPUKERN_INDEX_RAISE, reduce),
                          with_out);
          }
}

TEST_P(ScatterErrorTest, NamesIndicesOfEveryType) {
  const auto options = scatter_options(GPUKERN_INDEX_RAISE);
  check_indices(5, kIndexTypes[7], {4, UINT64_MAX, 5}, options);
  check_indices(5, kIndexTypes[6], {UINT32_MAX}, options);
  check_indices(200, kIndexTypes[0], {-128, 127, 0}, options);
  check_indices(1, kInt32, {0, -1, 1}, options);
  EXPECT_STREQ(gpukern_last_error(), "index 1 is out of bounds for axis 0 with size 1");
}

TEST_P(ScatterErrorTest, EmptyAxis) {
  for (const gpukern_index_mode mode : kModes) check_indices(0, kInt64, {0}, scatter_options(mode));
}

TEST_P(ScatterErrorTest, ADeviceWorksAfterABadIndex) {
  check_indices(5, kInt64, {7}, scatter_options(GPUKERN_INDEX_RAISE));
  check_indices(5, kInt64, {-1, 4}, scatter_options(GPUKERN_INDEX_RAISE));
}

GPUKERN_INSTANTIATE_PLACEMENTS(ScatterErrorTest);

/// Host arrays of zeros, as arguments that are refused before an element is read.
struct Refused {
  gpukern_dtype dtype = kFloat32;
  Shape target{3, 4};
  gpukern_dtype index_dtype = kInt64.dtype;
  Shape index{2};
  gpukern_dtype values_dtype = kFloat32;
  Shape values{2, 4};
  std::int32_t axis = 0;
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  std::optional<Shape> out = std::nullopt;
  Layout layout = Layout::Contiguous;

  void expect(gpukern_status status, const std::string& beginning) const {
    const Array to(Placement::Cpu, dtype, target, layout);
    const Array at(Placement::Cpu, index_dtype, index);
    const Array from(Placement::Cpu, values_dtype, values);
    const Array result(Placement::Cpu, dtype, out.value_or(Shape{}));
    const Scatter call{false, to, at, from, axis, options, out ? &result : nullptr};
    expect_error(call.run(exec_at(Placement::Cpu)), status, beginning);
  }
};

TEST(ScatterArgumentTest, ShapesAndAxes) {
  Refused{.axis = 2}.expect(GPUKERN_AXIS_ERROR, "axis 2 is out of bounds for array of dimension 2");
  Refused{.values = {3, 4}}.expect(GPUKERN_VALUE_ERROR,
                                   "scatter: values must broadcast to shape (2, 4), got (3, 4)");
  Refused{.values = {1, 2, 4}}.expect(
      GPUKERN_VALUE_ERROR, "scatter: values must broadcast to shape (2, 4), got (1, 2, 4)");
  Refused{.out = Shape{4, 3}}.expect(GPUKERN_VALUE_ERROR,
                                     "scatter: out must have shape (3, 4), got (4, 3)");
  Refused{.layout = Layout::Broadcast}.expect(
      GPUKERN_VALUE_ERROR,
      "scatter: target must not have overlapping elements, got stride 0 in dimension 0");
  Refused{.index = Shape(GPUKERN_MAX_NDIM, 1)}.expect(
      GPUKERN_VALUE_ERROR, "scatter: the result must have at most 64 dimensions, got 65");
}

TEST(ScatterArgumentTest, Dtypes) {
  Refused{.index_dtype = kFloat32}.expect(
      GPUKERN_TYPE_ERROR, "scatter: index must be of an integer dtype, got float32");
  Refused{.values_dtype = kFloat64}.expect(
      GPUKERN_TYPE_ERROR, "scatter: values must have the target's dtype float32, got float64");
  const std::pair<gpukern_dtype, gpukern_reduce> without[] = {
      {{GPUKERN_INT, 32, 1}, GPUKERN_REDUCE_MEAN},
      {{GPUKERN_COMPLEX, 64, 1}, GPUKERN_REDUCE_MIN},
      {{GPUKERN_COMPLEX, 128, 1}, GPUKERN_REDUCE_MULTIPLY},
      {{GPUKERN_BOOL, 8, 1}, GPUKERN_REDUCE_ADD},
      {{GPUKERN_FLOAT, 32, 2}, GPUKERN_REDUCE_ADD},
      {bytes_dtype(3), GPUKERN_REDUCE_MAX}};
  for (const auto& [dtype, reduce] : without)
    Refused{.dtype = dtype,
            .values_dtype = dtype,
            .options = scatter_options(GPUKERN_INDEX_RAISE, reduce)}
        .expect(GPUKERN_TYPE_ERROR, "scatter: target must be of a dtype that reduce '");
}

TEST(ScatterArgumentTest, Options) {
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  options.mode = 4;
  Refused{.options = options}.expect(GPUKERN_VALUE_ERROR, "scatter: mode must be one of raise (0)");
  options.mode = GPUKERN_INDEX_RAISE;
  options.reduce = 6;
  Refused{.options = options}.expect(GPUKERN_VALUE_ERROR, "scatter: reduce must be one of none");
  options.reduce = GPUKERN_REDUCE_NONE;
  options.order = 2;
  Refused{.options = options}.expect(GPUKERN_VALUE_ERROR,
                                     "scatter: order must be fixed (0) or any (1), got 2");
  options.struct_size = 8;
  Refused{.options = options}.expect(GPUKERN_VALUE_ERROR, "scatter: options must have struct_size");
}

TEST(ScatterArgumentTest, NullArguments) {
  const Array array(Placement::Cpu, kInt64.dtype, {3});
  const gpukern_tensor tensor = array.tensor();
  EXPECT_EQ(gpukern_scatter(&tensor, &tensor, &tensor, 0, nullptr, nullptr, nullptr),
            GPUKERN_SUCCESS);
  for (const auto& [name, arguments] :
       {std::pair("target", std::array<const gpukern_tensor*, 3>{nullptr, &tensor, &tensor}),
        {"index", {&tensor, nullptr, &tensor}},
        {"values", {&tensor, &tensor, nullptr}}})
    expect_error(
        gpukern_scatter(arguments[0], arguments[1], arguments[2], 0, nullptr, nullptr, nullptr),
        GPUKERN_VALUE_ERROR, std::string("scatter: ") + name + " must not be NULL");
}

TEST(ScatterArgumentTest, DevicesThatDiffer) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  const Array host(Placement::Cpu, kInt64.dtype, {3});
  const Array device(Placement::Cuda, kInt64.dtype, {3});
  const auto options = scatter_options(GPUKERN_INDEX_CLIP);
  const gpukern_exec exec = GPUKERN_EXEC_INIT;
  expect_error(Scatter{false, host, device, device, 0, options}.run(exec), GPUKERN_VALUE_ERROR,
               "scatter: index must be on cpu like target, got cuda:0");
  expect_error(Scatter{false, device, device, host, 0, options}.run(exec), GPUKERN_VALUE_ERROR,
               "scatter: values must be on cuda:0 like target, got cpu");
  expect_error(Scatter{false, device, device, device, 0, options, &host}.run(exec),
               GPUKERN_VALUE_ERROR, "scatter: out must be on cuda:0 like target, got cpu");
}

/// Memory that begins, and ends, at a page without access.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t pages = 1)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), size_(pages * page_) {
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(pages_ + page_, size_, PROT_READ | PROT_WRITE), 0);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(pages_, size_ + 2 * page_); }

  [[nodiscard]] std::byte* first() const { return pages_ + page_; }
  [[nodiscard]] std::byte* last(std::size_t bytes) const { return pages_ + page_ + size_ - bytes; }

 private:
  std::size_t page_;
  std::size_t size_;
  std::byte* pages_;
};

/// A call whose indices are mostly out of bounds.
struct WildCall {
  enum class By { Index, AlongAxis, Tuple };

  gpukern_dtype dtype;
  Shape target;
  Shape index;
  gpukern_reduce reduce = GPUKERN_REDUCE_NONE;
  By by = By::Index;
  bool unique = false;

  /// With a target at the beginning and at the end of memory, in every mode. A tuple indexes both
  /// axes of the target, the other calls its first one, or the last one along an axis.
  void run(const GuardedMemory& memory) const {
    const std::size_t axis = by == By::AlongAxis ? target.size() - 1 : 0;
    const std::vector<std::int64_t> numbers = indices(target[axis]);
    const std::vector<std::int64_t> further = indices(target.back());
    Shape shape = update_shape(by == By::AlongAxis, target, index, static_cast<std::int32_t>(axis));
    if (by == By::Tuple) shape = index;
    const std::vector<std::byte> values(bytes(shape));
    const auto tensor = [](const void* data, gpukern_dtype of, const Shape& sizes) {
      return gpukern_tensor{const_cast<void*>(data),
                            kCpu,
                            static_cast<std::int32_t>(sizes.size()),
                            of,
                            const_cast<std::int64_t*>(sizes.data()),
                            nullptr,
                            0};
    };
    const gpukern_tensor at = tensor(numbers.data(), kInt64.dtype, index);
    const gpukern_tensor also = tensor(further.data(), kInt64.dtype, index);
    const gpukern_tensor* const others = &also;
    const gpukern_tensor from = tensor(values.data(), dtype, shape);
    const gpukern_exec exec = exec_at(Placement::Cpu);
    const auto operation = by == By::AlongAxis ? gpukern_put_along_axis : gpukern_scatter;
    for (const gpukern_index_mode mode : kModes)
      for (std::byte* const data : {memory.first(), memory.last(bytes(target))}) {
        const gpukern_tensor to = tensor(data, dtype, target);
        gpukern_scatter_options options = scatter_options(mode, reduce);
        options.unique = unique ? 1 : 0;
        options.further_index_count = by == By::Tuple ? 1 : 0;
        options.further_indices = &others;
        EXPECT_EQ(
            operation(&to, &at, &from, static_cast<std::int32_t>(axis), nullptr, &options, &exec),
            mode == GPUKERN_INDEX_RAISE ? GPUKERN_INDEX_ERROR : GPUKERN_SUCCESS);
      }
  }

 private:
  [[nodiscard]] std::size_t bytes(const Shape& shape) const {
    return static_cast<std::size_t>(count_of(shape) * item_bytes(dtype));
  }
  [[nodiscard]] std::vector<std::int64_t> indices(std::int64_t size) const {
    const std::int64_t extremes[] = {INT64_MIN, INT64_MAX, -size - 1, size, 1 << 20, -1, size / 2};
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count_of(index)));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = extremes[k % std::size(extremes)];
    return numbers;
  }
};

constexpr gpukern_dtype kBFloat16{GPUKERN_BFLOAT, 16, 1};

TEST(ScatterGuardPageTest, NoModeWritesOutsideTheTarget) {
  const GuardedMemory memory;
  for (const bool unique : {false, true})
    for (const std::int64_t count : {7, 6000}) {
      for (const int width : {1, 2, 3, 4, 8, 16, 40})
        WildCall{bytes_dtype(width), {7}, {count}, GPUKERN_REDUCE_NONE, WildCall::By::Index, unique}
            .run(memory);
      for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
        for (const gpukern_dtype dtype : {kInt64.dtype, kFloat32, kBFloat16})
          WildCall{dtype, {7}, {count}, reduce, WildCall::By::Index, unique}.run(memory);
        WildCall{kFloat32, {5, 7}, {5, count}, reduce, WildCall::By::AlongAxis, unique}.run(memory);
        WildCall{kFloat32, {5, 7}, {count}, reduce, WildCall::By::Tuple, unique}.run(memory);
      }
    }
}

TEST(ScatterGuardPageTest, NoThreadWritesOutsideTheTarget) {
  constexpr std::int64_t kCount = (1 << 17) + 1;
  const GuardedMemory memory(400);
  EXPECT_EQ(gpukern_set_num_threads(4), GPUKERN_SUCCESS);
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    WildCall{kInt64.dtype, {7}, {kCount}, reduce}.run(memory);    // tables
    WildCall{kFloat32, {7, 3}, {kCount}, reduce}.run(memory);     // ranges of keys
    WildCall{kFloat32, {300001}, {kCount}, reduce}.run(memory);   // ranges of keys
    WildCall{kBFloat16, {700001}, {kCount}, reduce}.run(memory);  // slices of keys
    WildCall{kFloat32, {9, 7}, {9, 15000}, reduce, WildCall::By::AlongAxis}.run(memory);
    WildCall{kFloat32, {1, 7}, {1, kCount}, reduce, WildCall::By::AlongAxis}.run(memory);
    WildCall{kFloat32, {5, 11}, {kCount}, reduce, WildCall::By::Tuple}.run(memory);
  }
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

TEST(ScatterFarTest, TargetsOfMoreThan2To31Elements) {
  // Memory of which only the pages that are written exist.
  const std::size_t bytes = std::size_t{1} << 33;
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) GTEST_SKIP() << "no room for 8 GiB of addresses";
  auto* const elements = static_cast<std::uint8_t*>(data);
  std::int64_t length = std::int64_t{1} << 33;
  const std::int64_t far[] = {(std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32) - 1, length - 1,
                              length - 7, 0};
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    for (std::int64_t count : {5, 5000}) {
      std::vector<std::int64_t> index(static_cast<std::size_t>(count));
      for (std::size_t k = 0; k < index.size(); ++k)
        index[k] = far[k % 5] - (k % 2 == 0 ? length : 0);
      for (const std::int64_t place : far) elements[place] = 1;
      std::uint8_t value = 3;
      const gpukern_dtype byte{GPUKERN_UINT, 8, 1};
      const gpukern_tensor target{data, kCpu, 1, byte, &length, nullptr, 0};
      const gpukern_tensor at{index.data(), kCpu, 1, kInt64.dtype, &count, nullptr, 0};
      const gpukern_tensor from{&value, kCpu, 0, byte, nullptr, nullptr, 0};
      const auto options = scatter_options(GPUKERN_INDEX_RAISE, reduce);
      const gpukern_exec exec = exec_at(Placement::Cpu);
      ASSERT_EQ(gpukern_scatter(&target, &at, &from, 0, nullptr, &options, &exec), GPUKERN_SUCCESS)
          << gpukern_last_error();
      for (const std::int64_t place : far) {
        EXPECT_EQ(elements[place], reduce == GPUKERN_REDUCE_NONE ? 3 : (1 + 3 * count / 5) % 256);
        EXPECT_EQ(elements[place + (place == 0 ? 1 : -1)], 0);
      }
    }
  munmap(data, bytes);
}

TEST(ScatterHppTest, OptionsAndShapes) {
  std::vector<float> target{1, 2, 3, 4};
  gpukern::scatter(target, std::vector{1, -1, 1}, std::vector<float>{5, 6, 7});
  EXPECT_EQ(target, (std::vector<float>{1, 7, 3, 6}));
  gpukern::scatter(target, std::vector{1, 9}, std::vector<float>{1, 1},
                   {.mode = gpukern::Mode::fill,
                    .reduce = gpukern::Reduction::add,
                    .exec = {.device = gpukern::kCpu}});
  EXPECT_EQ(target, (std::vector<float>{1, 8, 3, 6}));
  std::vector<float> out(4);
  gpukern::scatter(gpukern::TensorRef(target, {2, 2}), std::vector{0}, std::vector<float>{0},
                   gpukern::TensorRef(out, {2, 2}), {.axis = 1});
  EXPECT_EQ(out, (std::vector<float>{0, 8, 0, 6}));
  EXPECT_EQ(target, (std::vector<float>{1, 8, 3, 6}));
  EXPECT_THROW(gpukern::scatter(target, std::vector{4}, std::vector<float>{0}),
               gpukern::IndexError);
}

}  // namespace
}  // namespace gpukern_test
