// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

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
    visit_width(args.item, [&](auto width) {
      for_each_run(loop, begin, end, [&](const auto& offset, std::int64_t length) {
        copy_items(args.source + offset[0], from_step, args.destination + offset[1], to_step,
                   length, width);
      });
    });
  });
}

}  // namespace gpukern::cpu
