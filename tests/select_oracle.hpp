// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Selections by a mask by their definition: a plain loop over its elements, on whole images of all
// memories of the call.
#pragma once

#include <algorithm>
#include <vector>

#include "support.hpp"

namespace gpukern_test {

inline constexpr gpukern_dtype kMaskDtypes[] = {
    {GPUKERN_BOOL, 8, 1},   {GPUKERN_UINT, 8, 1},     {GPUKERN_INT, 8, 1},
    {GPUKERN_UINT, 16, 1},  {GPUKERN_INT, 32, 1},     {GPUKERN_INT, 64, 1},
    {GPUKERN_FLOAT, 16, 1}, {GPUKERN_BFLOAT, 16, 1},  {GPUKERN_FLOAT, 32, 1},
    {GPUKERN_FLOAT, 64, 1}, {GPUKERN_COMPLEX, 64, 1}, {GPUKERN_COMPLEX, 128, 1}};
inline constexpr gpukern_dtype kPositions{GPUKERN_INT, 64, 1};

/// The bytes of a number without a sign: a floating-point one, or a part of a complex one.
inline std::int64_t part_bytes(gpukern_dtype dtype) {
  const std::int64_t item = item_bytes(dtype);
  return dtype.code == GPUKERN_COMPLEX ? item / 2 : item;
}
inline bool has_signed_zero(gpukern_dtype dtype) {
  return dtype.code == GPUKERN_FLOAT || dtype.code == GPUKERN_BFLOAT ||
         dtype.code == GPUKERN_COMPLEX;
}

inline bool is_nonzero(const Bytes& bytes, std::int64_t offset, gpukern_dtype dtype) {
  const std::int64_t part = part_bytes(dtype);
  for (std::int64_t b = 0; b < item_bytes(dtype); ++b) {
    const auto byte = std::to_integer<unsigned>(bytes[static_cast<std::size_t>(offset + b)]);
    const bool has_sign = has_signed_zero(dtype) && b % part == part - 1;
    if ((has_sign ? byte & 0x7fU : byte) != 0) return true;
  }
  return false;
}

/// Stores zeros, for floating-point types with any sign, and others with a probability. Most of
/// these have one bit set: a NaN, a subnormal or a small number.
inline void fill_mask(const View& mask, Random& random, double density) {
  for (const std::int64_t offset : mask.offsets()) {
    const bool set = std::bernoulli_distribution(density)(random);
    const std::int64_t bit = between(random, 0, 8 * mask.item() - 1);
    for (std::int64_t b = 0; b < mask.item(); ++b) {
      const bool has_sign =
          has_signed_zero(mask.dtype) && b % part_bytes(mask.dtype) == part_bytes(mask.dtype) - 1;
      unsigned byte = has_sign && random() % 2 == 0 ? 0x80U : 0U;
      if (set && mask.dtype.code == GPUKERN_BOOL) byte = 1;
      if (set && mask.dtype.code != GPUKERN_BOOL && b == bit / 8) byte |= 1U << (bit % 8);
      mask.memory->host[static_cast<std::size_t>(offset + b)] = static_cast<std::byte>(byte);
    }
  }
}

/// The positions of the nonzero elements in C order.
inline std::vector<std::int64_t> positions_of(const View& mask) {
  std::vector<std::int64_t> found;
  std::int64_t position = 0;
  for (const std::int64_t offset : mask.offsets()) {
    if (is_nonzero(mask.memory->host, offset, mask.dtype)) found.push_back(position);
    ++position;
  }
  return found;
}

inline gpukern_select_options select_options(const gpukern_tensor* fill_value) {
  gpukern_select_options options = GPUKERN_SELECT_OPTIONS_INIT;
  options.fill_value = fill_value;
  return options;
}

inline void expect_count(const View& mask, Placement placement) {
  const auto wanted = static_cast<std::int64_t>(positions_of(mask).size());
  expect_call({}, nullptr, {mask.memory}, placement, [&](const gpukern_exec& exec) {
    const gpukern_tensor from = mask.tensor();
    std::int64_t count = -1;
    const gpukern_status status = gpukern_count_nonzero(&from, &count, &exec);
    EXPECT_EQ(count, wanted);
    return status;
  });
}

inline void expect_nonzero(const View& mask, const View& out, std::int64_t fill,
                           Placement placement) {
  const std::vector<std::int64_t> found = positions_of(mask);
  const std::vector<std::int64_t> places = out.offsets();
  const auto size = static_cast<std::size_t>(out.shape[1]);
  Expected expected{GPUKERN_SUCCESS, "", out.memory->host};
  for (std::size_t d = 0; d < mask.shape.size(); ++d) {
    const std::int64_t inner =
        count_of(Shape(mask.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, mask.shape.end()));
    for (std::size_t k = 0; k < size; ++k)
      store(expected.out, places[d * size + k],
            k < found.size() ? found[k] / inner % mask.shape[d] : fill);
  }
  const auto call = [&](const gpukern_exec& exec) {
    const gpukern_tensor from = mask.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor rest{&fill, kCpu, 0, kPositions, nullptr, nullptr, 0};
    const gpukern_select_options options = select_options(fill != 0 ? &rest : nullptr);
    return gpukern_nonzero(&from, &to, &options, &exec);
  };
  expect_call(expected, out.memory, {mask.memory, out.memory}, placement, call);
}

/// A call of compress; without a fill value, the rest is zero.
struct CompressCall {
  const View& mask;
  const View& x;
  std::int32_t axis;
  const View& out;
  const View* fill = nullptr;  ///< of an item's shape or the end of it, in host memory

  [[nodiscard]] gpukern_status run(const gpukern_exec& exec) const {
    const gpukern_tensor by = mask.tensor();
    const gpukern_tensor from = x.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor rest = fill != nullptr ? fill->tensor() : gpukern_tensor{};
    const gpukern_select_options options = select_options(fill != nullptr ? &rest : nullptr);
    return gpukern_compress(&by, &from, axis, &to, &options, &exec);
  }
};

inline void expect_compressed(const CompressCall& call, Placement placement) {
  const auto& [mask, x, axis, out, fill] = call;
  const std::vector<std::int64_t> found = positions_of(mask);
  const std::vector<std::int64_t> from = x.offsets();
  const std::vector<std::int64_t> to = out.offsets();
  const std::vector<std::int64_t> rest =
      fill != nullptr ? fill->offsets() : std::vector<std::int64_t>{};
  const auto ndim = static_cast<std::int32_t>(x.shape.size());
  const bool flat = axis == GPUKERN_AXIS_NONE || ndim == 0;
  const auto at = static_cast<std::size_t>(flat ? 0 : axis < 0 ? axis + ndim : axis);
  const std::int64_t n = flat ? x.count() : x.shape[at];
  const std::int64_t size = out.shape[at];
  const std::int64_t inner =
      flat ? 1
           : count_of(Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, x.shape.end()));
  const auto item = static_cast<std::ptrdiff_t>(x.item());
  Expected expected{GPUKERN_SUCCESS, "", out.memory->host};
  for (std::size_t e = 0; e < to.size(); ++e) {
    const auto place = static_cast<std::int64_t>(e);
    const auto k = static_cast<std::size_t>(place / inner % size);
    const auto target = expected.out.begin() + to[e];
    if (k < found.size() && found[k] < n) {
      const std::int64_t position = (place / inner / size * n + found[k]) * inner + place % inner;
      std::copy_n(x.memory->host.begin() + from[static_cast<std::size_t>(position)], item, target);
    } else if (fill != nullptr) {
      std::copy_n(fill->memory->host.begin() + rest[e % rest.size()], item, target);
    } else {
      std::fill_n(target, item, std::byte{});
    }
  }
  expect_call(expected, out.memory, {mask.memory, x.memory, out.memory}, placement,
              [&](const gpukern_exec& exec) { return call.run(exec); });
}

}  // namespace gpukern_test
