// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstring>
#include <type_traits>

#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Copies one item to contiguous ones.
template <class Width>
void repeat_item(const std::byte* from, std::byte* to, std::int64_t count, Width width) {
  std::array<std::byte, Width{}> item;
  std::memcpy(item.data(), from, width);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(Width{}), item.data(), width);
}

}  // namespace

void copy(const CopyArgs& args) {
  const Loop<2>& loop = args.loop;
  // Bytes that are contiguous on both sides are divided among the threads at any position.
  if (loop.contiguous(0, args.item) && loop.contiguous(1, args.item)) {
    parallel_for(loop.count() * args.item, std::int64_t{256} << 10,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(args.destination + begin, args.source + begin,
                               static_cast<std::size_t>(end - begin));
                 });
    return;
  }
  const std::int64_t from_step = run_stride(loop, 0);
  const std::int64_t to_step = run_stride(loop, 1);
  parallel_for(loop.count(), grain_of(args.item), [&](std::int64_t begin, std::int64_t end) {
    visit_width(args.item, [&]<class Width>(Width width) {
      for_each_run(loop, begin, end, [&](const auto& offset, std::int64_t length) {
        const std::byte* const from = args.source + offset[0];
        std::byte* const to = args.destination + offset[1];
        if (to_step == args.item && from_step == args.item) {
          std::memcpy(to, from, static_cast<std::size_t>(length * args.item));
          return;
        }
        if constexpr (!std::is_same_v<Width, std::size_t>)
          if (to_step == args.item && from_step == 0) return repeat_item(from, to, length, width);
        copy_items(from, from_step, to, to_step, length, width);
      });
    });
  });
}

}  // namespace gpukern::cpu
