// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The bytes of a fuzz test as values. After the last byte every value is 0, which everywhere means
// the plain choice: a short input is a valid call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gpukern_fuzz {

/// Stops the process with a message: a failed expectation is a finding, as a crash is.
inline void expect(bool holds, const char* message) {
  if (holds) return;
  std::fprintf(stderr, "gpukern fuzz: %s\n", message);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  std::uint8_t byte() { return raw<std::uint8_t>(); }

  template <class T>
  T raw() {
    T value{};
    const std::size_t size = std::min(sizeof value, rest_.size());
    if (size > 0) std::memcpy(static_cast<void*>(&value), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }

  template <class T, std::size_t Size>
  T pick(const T (&table)[Size]) {
    return table[byte() % Size];
  }

  /// Mostly in [0, count), else any number.
  std::int32_t number(int count) {
    const int low = byte();
    return low < 240 ? low % count : raw<std::int32_t>();
  }

  /// A size, a stride or a count that is on the edge of some range, or any number.
  std::int64_t extreme() {
    constexpr std::int64_t kEdges[] = {0,        -1,       INT32_MAX, INT64_MAX, INT64_MIN,
                                       1L << 31, 1L << 32, 1L << 40,  1L << 61,  1L << 62};
    const std::size_t which = byte();
    return which < 2 * std::size(kEdges) ? kEdges[which % std::size(kEdges)] : raw<std::int64_t>();
  }

  /// Bytes whose number is at most `most`.
  std::string text(std::size_t most) {
    const std::size_t size = std::min({std::size_t{byte()}, most, rest_.size()});
    std::string taken(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  [[nodiscard]] std::span<const std::uint8_t> rest() const { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A struct of the ABI that begins with its size: in an allocation of that many bytes, so that a
/// read beyond it is found, or nullptr. The size is what the input says.
template <class T>
class SizedStruct {
 public:
  SizedStruct(Input& input, T value) {
    enum { kPlain, kNull, kLonger, kEdge, kAny, kKinds };
    const int low = input.byte();
    const int kind = low < 240 ? (low % 3) : kPlain + low % kKinds;
    if (kind == kNull) return;
    constexpr std::size_t kEdges[] = {0, 1, sizeof(T) - 1, sizeof(T) - 8, SIZE_MAX};
    value.struct_size = kind == kPlain    ? sizeof(T)
                        : kind == kLonger ? sizeof(T) + 1 + input.byte() % 32
                        : kind == kEdge   ? input.pick(kEdges)
                                          : input.raw<std::size_t>();
    const std::size_t bytes =
        std::clamp(value.struct_size, sizeof value.struct_size, sizeof(T) + 64);
    memory_ = std::make_unique<std::byte[]>(bytes);
    std::memset(memory_.get(), 0xee, bytes);
    std::memcpy(memory_.get(), &value, std::min(bytes, sizeof value));
    size_ = value.struct_size;
  }
  [[nodiscard]] T* get() const { return reinterpret_cast<T*>(memory_.get()); }
  /// Whether there is a struct whose size covers a field that ends at this offset.
  [[nodiscard]] bool covers(std::size_t end) const { return memory_ != nullptr && size_ >= end; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace gpukern_fuzz
