// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy of contiguous operands, whose alignment selects the kernel: every combination of
// alignments, memory that ends with the operand, in place and not.

#include "saxpy_oracle.hpp"

namespace gpukern_test {
namespace {

class SaxpyPathTest : public SaxpyTypeTest {
 protected:
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
  // Only edges, the first packs, less than a block, several blocks.
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
          // The memory ends with x and y, so that a sanitizer detects reads beyond them.
          Memory x(placement(), static_cast<std::size_t>(x_shift + count * item()));
          Memory y(placement(), static_cast<std::size_t>(y_shift + count * item()));
          Memory out(placement(), static_cast<std::size_t>(kGuard + out_shift + count * item()));
          expect_saxpy(
              {type(), scalar(), operand(x, x_shift), operand(y, y_shift), operand(out, out_shift)},
              placement());
          if (HasFailure()) return;
        }
  }
}

TEST_P(SaxpyPathTest, InPlaceAtEveryAlignment) {
  for (const std::int64_t out_shift : shifts())
    for (const std::int64_t other_shift : shifts()) {
      SCOPED_TRACE("at " + std::to_string(out_shift) + ", " + std::to_string(other_shift));
      const std::int64_t count = out_shift == other_shift ? 70001 : 9001;
      const Array other = Array(placement(), type().dtype, {count});
      const Array out = Array(placement(), type().dtype, {count + kGuard});
      fill_random(other.memory->host, random_);
      fill_random(out.memory->host, random_);
      const View in{other.memory, type().dtype, {count}, {1}, other_shift};
      const View both{out.memory, type().dtype, {count}, {1}, kGuard + out_shift};
      expect_saxpy({type(), scalar(), both, in, both}, placement());
      expect_saxpy({type(), scalar(), in, both, both}, placement());
      expect_saxpy({type(), scalar(), both, both, both}, placement());
      if (HasFailure()) return;
    }
}

/// Results that exceed the caches of two threads bypass the caches. Rows begin at every offset in a
/// line and are equal, so that the oracle computes one.
TEST_P(SaxpyPathTest, BeyondTheCaches) {
  constexpr std::int64_t kBytes = std::int64_t{40} << 20;
  const std::int64_t length = (std::int64_t{40} << 10) / item() + 1;
  const std::int64_t rows = kBytes / (length * item());
  Array x(placement(), type().dtype, {length});
  Array y(placement(), type().dtype, {length});
  fill_random(x.storage.host, random_);
  fill_random(y.storage.host, random_);
  for (const std::int64_t shift : {std::int64_t{0}, std::int64_t{type().component_bytes}, item()}) {
    Memory memory(placement(), static_cast<std::size_t>(shift + rows * length * item() + kGuard));
    Bytes expected = memory.host;
    const Bytes a = scalar();
    const auto row = expected.begin() + shift;
    for (std::int64_t at = 0; at < length * item(); at += item())
      type().oracle(a.data(), &x.storage.host[at], &y.storage.host[at], &row[at]);
    for (std::int64_t k = 1; k < rows; ++k)
      std::copy_n(row, length * item(), row + k * length * item());

    const View every_x{x.memory, type().dtype, {rows, length}, {0, 1}};
    const View every_y{y.memory, type().dtype, {rows, length}, {0, 1}};
    const View out{&memory, type().dtype, {rows, length}, {length, 1}, shift};
    for (Memory* operand : {x.memory, y.memory, &memory}) operand->commit();
    gpukern_set_num_threads(2);
    const gpukern_status status = Saxpy{type(), a, every_x, every_y, out}.run(placement());
    gpukern_set_num_threads(0);
    ASSERT_EQ(status, GPUKERN_SUCCESS) << gpukern_last_error();
    memory.fetch();
    EXPECT_TRUE(same_bytes(expected, memory.host)) << "at " << shift;
  }
}

GPUKERN_INSTANTIATE_SAXPY_TYPES(SaxpyPathTest, kSaxpyTypes);

}  // namespace
}  // namespace gpukern_test
