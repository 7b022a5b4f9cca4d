// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tensors that the input of a fuzz test describes. Their memory is in an arena between pages that
// cannot be accessed; under AddressSanitizer, only the memory that the tensors of a call describe
// can be accessed.
#pragma once

#include <deque>
#include <vector>

#include "gpukern/gpukern.h"
#include "tests/fuzz/input.hpp"

namespace gpukern_fuzz {

__extension__ using Wide = __int128;
using Shape = std::vector<std::int64_t>;

inline constexpr std::size_t kArenaBytes = 16384;
/// The most elements of a tensor that is not empty.
inline constexpr std::int64_t kMostElements = 1024;

/// The memory that a tensor describes, by exact arithmetic.
struct Described {
  enum Kind {
    kNothing,  ///< empty, or to be refused: no memory is accessed, whatever the data pointer is
    kMemory,   ///< `below` and `above` bytes from the first element
    kTooMuch   ///< more than the arena holds: must not be passed to a call that computes
  };
  Kind kind = kNothing;
  std::int64_t below = 0;
  std::int64_t above = 0;
  std::int64_t count = 0;
};
Described described(const gpukern_tensor& tensor);

inline std::int64_t bytes_of(gpukern_dtype dtype) { return dtype.bits * dtype.lanes / 8; }

inline std::byte* memory_at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// The address of the first element.
inline std::uintptr_t first_address(const gpukern_tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
}

/// The address of the element at a position.
inline std::uintptr_t address_of(const gpukern_tensor& tensor, const Shape& position) {
  std::int64_t offset = 0;
  std::int64_t contiguous = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    offset += position[d] * (tensor.strides != nullptr ? tensor.strides[d] : contiguous);
    contiguous *= tensor.shape[d];
  }
  return first_address(tensor) + static_cast<std::uintptr_t>(offset * bytes_of(tensor.dtype));
}

/// Calls visit(address) for each element in C order; only for Described::kMemory.
template <class Visit>
void for_each_element(const gpukern_tensor& tensor, Visit&& visit) {
  const std::int64_t count = described(tensor).count;
  Shape position(static_cast<std::size_t>(tensor.ndim));
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t rest = k;
    for (std::size_t d = position.size(); d-- > 0; rest /= tensor.shape[d])
      position[d] = rest % tensor.shape[d];
    visit(address_of(tensor, position));
  }
}

/// The values with which the memory of a tensor is filled.
enum class Contents {
  kBytes,   ///< the input's last bytes, repeated
  kIndex,   ///< indices into an axis, most of them in bounds
  kOffsets  ///< offsets that do not fall
};

/// What a tensor is unless the input says otherwise.
struct Plan {
  Contents contents = Contents::kBytes;
  /// The shape that fits the other arguments; nullptr: the input says.
  const Shape* shape = nullptr;
  /// The tensor with the same dtype; nullptr: the input says.
  const gpukern_tensor* like = nullptr;
  /// For indices and offsets, the length of the axis.
  std::int64_t axis = 0;
};

/// The tensors of one call.
class Tensors {
 public:
  /// A call that only `explains` gets tensors of any size.
  Tensors(Input& input, bool explains) : input_(input), explains_(explains) {}
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors() = default;

  /// Reads a tensor from the input. Valid as long as this object.
  gpukern_tensor& add(const Plan& plan);
  /// Whether the call gets a null pointer in place of a tensor.
  [[nodiscard]] bool is_null(const gpukern_tensor& tensor) const {
    return std::ranges::any_of(
        owned_, [&](const Owned& owned) { return &owned.tensor == &tensor && owned.null; });
  }

  /// Fills the memory with the rest of the input, and makes what is no tensor's inaccessible.
  void ready();
  /// Ends the call. Only elements of `out`, if not nullptr, may have changed.
  void finish(const gpukern_tensor* out);
  /// The memory at an address as it was before the call.
  static const std::byte* before(std::uintptr_t address);

 private:
  struct Owned {
    gpukern_tensor tensor{};
    std::unique_ptr<std::int64_t[]> shape;
    std::unique_ptr<std::int64_t[]> strides;
    Contents contents{};
    std::int64_t axis = 0;
    std::uint8_t seed = 0;
    bool null = false;
  };
  void set_shape(Owned& owned, const Shape* planned, bool other);
  void set_strides(Owned& owned);
  void set_data(gpukern_tensor& tensor, bool null, bool offset);
  static void fill(const Owned& owned);

  Input& input_;
  bool explains_;
  std::int64_t work_ = 1;  ///< the product of the numbers of elements, which bounds a result's
  std::deque<Owned> owned_;
};

}  // namespace gpukern_fuzz
