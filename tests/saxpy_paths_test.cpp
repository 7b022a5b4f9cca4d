// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy of contiguous operands, where size and alignment choose the kernel: every pair of
// alignments, memory that ends with the operand, arrays long enough for bulk copies.

#include <array>

#include "saxpy_oracle.hpp"

namespace gpukern_test {
namespace {

class SaxpyPathTest : public testing::TestWithParam<std::tuple<Place, SaxpyType>> {
 protected:
  void SetUp() override {
    if (place() != Place::Cpu && cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
  [[nodiscard]] Place place() const { return std::get<Place>(GetParam()); }
  [[nodiscard]] const SaxpyType& type() const { return std::get<SaxpyType>(GetParam()); }
  [[nodiscard]] std::int64_t item() const { return item_bytes(type().dtype); }

  /// Byte offsets from a pack: none, parts of an item, whole items.
  [[nodiscard]] std::vector<std::int64_t> shifts() const {
    return {0, 1, type().component_bytes, item(), 3 * item(), 12};
  }

  Bytes scalar() {
    Bytes a(static_cast<std::size_t>(item()));
    fill_random(a, random_);
    return a;
  }

  Random random_{7};
};

TEST_P(SaxpyPathTest, EveryAlignmentOfEachOperand) {
  // Around the first pack, the threads of a block, and the packs that these take.
  for (const std::int64_t count : {1, 40, 90, 259, 5000}) {
    for (const std::int64_t x_shift : shifts())
      for (const std::int64_t y_shift : shifts())
        for (const std::int64_t out_shift : shifts()) {
          SCOPED_TRACE(std::to_string(count) + " items at " + std::to_string(x_shift) + ", " +
                       std::to_string(y_shift) + ", " + std::to_string(out_shift));
          const auto operand = [&](Memory& memory, std::int64_t shift) {
            fill_random(memory.host, random_);
            return View{&memory, type().dtype, {count}, {1}, shift};
          };
          // Nothing lies behind x and y: a sanitizer sees a read too far.
          Memory x(place(), static_cast<std::size_t>(x_shift + count * item()));
          Memory y(place(), static_cast<std::size_t>(y_shift + count * item()));
          Memory out(place(), static_cast<std::size_t>(kGuard + out_shift + count * item()));
          expect_saxpy(
              {type(), scalar(), operand(x, x_shift), operand(y, y_shift), operand(out, out_shift)},
              place());
          if (HasFailure()) return;
        }
  }
}

TEST_P(SaxpyPathTest, InPlaceAtEveryAlignment) {
  for (const std::int64_t out_shift : shifts())
    for (const std::int64_t other_shift : shifts()) {
      SCOPED_TRACE("at " + std::to_string(out_shift) + ", " + std::to_string(other_shift));
      const Array other = Array(place(), type().dtype, {70001});
      const Array out = Array(place(), type().dtype, {70001 + kGuard});
      fill_random(other.memory->host, random_);
      fill_random(out.memory->host, random_);
      const View in{other.memory, type().dtype, {70001}, {1}, other_shift};
      const View both{out.memory, type().dtype, {70001}, {1}, kGuard + out_shift};
      expect_saxpy({type(), scalar(), both, in, both}, place());
      expect_saxpy({type(), scalar(), in, both, both}, place());
      expect_saxpy({type(), scalar(), both, both, both}, place());
      if (HasFailure()) return;
    }
}

/// Arrays of many megabytes whose items repeat with a prime period: what is expected of them is
/// computed once for the period. On the GPU alone: only there length chooses the kernel.
class SaxpyLongTest : public SaxpyPathTest {
 protected:
  static constexpr std::int64_t kPeriod = 4099;

  /// Repeats the first period of items from an offset on, to the end.
  void repeat(Bytes& bytes, std::int64_t offset) const {
    const auto first = static_cast<std::size_t>(offset);
    for (std::size_t at = first + static_cast<std::size_t>(kPeriod * item()); at < bytes.size();) {
      const std::size_t step = std::min(at - first, bytes.size() - at);
      std::memcpy(&bytes[at], &bytes[first], step);
      at += step;
    }
  }

  void check(std::int64_t count, const std::array<std::int64_t, 3>& shift, bool in_place) {
    const auto bytes = [&](std::int64_t at) {
      return static_cast<std::size_t>(at + count * item());
    };
    Memory x(place(), bytes(shift[0]));
    Memory y(place(), bytes(shift[1]));
    Memory out(place(), bytes(shift[2]));
    const Bytes a = scalar();
    for (Memory* memory : {&x, &y}) {
      memory->host.resize(static_cast<std::size_t>(64 + kPeriod * item()));
      fill_random(memory->host, random_);
    }
    Bytes expected(bytes(shift[2]));
    for (std::int64_t k = 0; k < kPeriod; ++k)
      type().oracle(a.data(), &x.host[static_cast<std::size_t>(shift[0] + k * item())],
                    &y.host[static_cast<std::size_t>(shift[1] + k * item())],
                    &expected[static_cast<std::size_t>(shift[2] + k * item())]);
    x.host.resize(bytes(shift[0]));
    y.host.resize(bytes(shift[1]));
    repeat(x.host, shift[0]);
    repeat(y.host, shift[1]);
    repeat(expected, shift[2]);
    for (Memory* memory : {&x, &y, &out}) memory->commit();
    const auto view = [&](Memory& memory, std::int64_t at) {
      return View{&memory, type().dtype, {count}, {1}, at};
    };
    Memory& result = in_place ? x : out;
    const std::int64_t result_shift = in_place ? shift[0] : shift[2];
    ASSERT_EQ(
        (Saxpy{type(), a, view(x, shift[0]), view(y, shift[1]), view(result, result_shift)}.run(
            place())),
        GPUKERN_SUCCESS)
        << gpukern_last_error();
    result.fetch();
    EXPECT_EQ(std::memcmp(&expected[static_cast<std::size_t>(shift[2])],
                          &result.host[static_cast<std::size_t>(result_shift)],
                          static_cast<std::size_t>(count * item())),
              0);
  }
};

TEST_P(SaxpyLongTest, OfEveryAlignment) {
  const std::int64_t count = (std::int64_t{40} << 20) / item() + 5;
  check(count, {0, 0, 0}, false);
  check(count, {0, 0, 0}, true);
  for (const std::int64_t shift : {item(), std::int64_t{type().component_bytes}, std::int64_t{1}}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    check(count, {shift, 0, 0}, false);
    check(count, {0, 3 * shift, shift}, false);
    check(count, {shift, shift, shift}, false);
    check(count, {shift, 0, 0}, true);
  }
}

std::string path_name(const testing::TestParamInfo<std::tuple<Place, SaxpyType>>& parameter) {
  return place_name(std::get<Place>(parameter.param)) + "_" +
         std::get<SaxpyType>(parameter.param).name;
}

INSTANTIATE_TEST_SUITE_P(Places, SaxpyPathTest,
                         testing::Combine(testing::ValuesIn(kPlaces),
                                          testing::ValuesIn(kSaxpyTypes)),
                         path_name);
INSTANTIATE_TEST_SUITE_P(Places, SaxpyLongTest,
                         testing::Combine(testing::Values(Place::Cuda),
                                          testing::ValuesIn(kSaxpyTypes)),
                         path_name);

}  // namespace
}  // namespace gpukern_test
