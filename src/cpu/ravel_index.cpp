// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/index_types.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// positions[p] = positions[p] * n + index[p], or index[p] of the first index.
template <class T>
void ravel(const IndexArgs& index, gpukern_index_mode mode, bool first, std::int64_t* to,
           std::int64_t begin, std::int64_t end) {
  const std::int64_t step = run_stride(index.loop, 0);
  to += begin;
  for_each_run(index.loop, begin, end, [&](const auto& offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i, ++to) {
      const std::int64_t position = resolve_index(mode, load<T>(index.index + offset[0] + i * step),
                                                  std::is_signed_v<T>, index.n);
      const std::int64_t before = first ? 0 : *to;
      *to = position < 0 || before < 0 ? kNoPosition : before * index.n + position;
    }
  });
}

}  // namespace

void ravel_index(const RavelArgs& args) {
  parallel_for(args.indices.front().loop.count(), grain_of(sizeof(std::int64_t)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (const IndexArgs& index : args.indices)
                   visit_index_type(index.index_type, [&](auto tag) {
                     ravel<typename decltype(tag)::type>(index, args.mode,
                                                         &index == args.indices.data(),
                                                         args.positions, begin, end);
                   });
               });
}

}  // namespace gpukern::cpu
