// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/index_types.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

template <class T>
void ravel(const RavelArgs& args, std::int64_t begin, std::int64_t end) {
  const auto& [index, mode, positions, first] = args;
  const std::int64_t step = run_stride(index.loop, 0);
  std::int64_t* to = positions + begin;
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
  visit_index_type(args.index.index_type, [&](auto tag) {
    parallel_for(args.index.loop.count(), grain_of(sizeof(std::int64_t)),
                 [&](std::int64_t begin, std::int64_t end) {
                   ravel<typename decltype(tag)::type>(args, begin, end);
                 });
  });
}

}  // namespace gpukern::cpu
