// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/resolve_run.hpp"

#include <array>
#include <limits>
#include <type_traits>

#include "src/cpu/gather_items.hpp"
#include "src/cpu/index_types.hpp"

namespace gpukern::cpu {
namespace {

template <class T, gpukern_index_mode mode>
bool resolve_run(const std::byte* index, std::int64_t step, std::int64_t count, std::int64_t n,
                 std::int64_t* position) {
  // Of an unsigned type, numbers that are negative as signed ones are resolved below.
  using Signed = std::make_signed_t<T>;
  if constexpr (sizeof(T) >= 4)
    if (step == sizeof(T) && n <= std::numeric_limits<Signed>::max() / 4 &&
        copy_positions<Signed>(index, count, n, position))
      return true;
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (mode == GPUKERN_INDEX_FILL) {
      // By bits: compilers make a branch of a choice, and any number may be missing.
      const std::int64_t value = load<T>(index + i * step);
      const std::int64_t found = value + (std::is_signed_v<T> ? n & (value >> 63) : 0);
      const bool inside = static_cast<std::uint64_t>(found) < static_cast<std::uint64_t>(n);
      const std::int64_t outside = static_cast<std::int64_t>(inside) - 1;
      position[i] = (found & ~outside) | (kNoPosition & outside);
    } else {
      position[i] = Resolve<T, mode>::position(index + i * step, n, bad);
    }
  }
  return bad == 0;
}

}  // namespace

ResolveRun resolve_for(IndexType type, gpukern_index_mode mode) {
  ResolveRun chosen = nullptr;
  visit_index_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    static constexpr std::array<ResolveRun, 4> by_mode{
        resolve_run<T, GPUKERN_INDEX_RAISE>, resolve_run<T, GPUKERN_INDEX_WRAP>,
        resolve_run<T, GPUKERN_INDEX_CLIP>, resolve_run<T, GPUKERN_INDEX_FILL>};
    chosen = by_mode[static_cast<std::size_t>(mode)];
  });
  return chosen;
}

}  // namespace gpukern::cpu
