// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/scatter_updates.hpp"

#include <type_traits>
#include <utility>

#include "src/threading/thread_limit.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

template <class T>
std::int64_t resolve(const ScatterArgs& args, std::int64_t begin, std::int64_t end, Update* to) {
  const Update* const first = to;
  const std::int64_t index_step = run_stride(args.updates, kUpdateIndex);
  const std::int64_t value_step = run_stride(args.updates, kUpdateValue);
  const std::int64_t key_step = run_stride(args.updates, kKey);
  for_each_run(args.updates, begin, end, [&](const auto& offset, std::int64_t length) {
    const std::byte* index = args.index + offset[kUpdateIndex];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t position =
          resolve_index(args.mode, load<T>(index + i * index_step), std::is_signed_v<T>, args.n);
      *to = {position * args.key_step + offset[kKey] + i * key_step,
             offset[kUpdateValue] + i * value_step};
      to += position >= 0 ? 1 : 0;
    }
  });
  return to - first;
}

}  // namespace

void for_each_column_run(const Loop<2>& columns, const ColumnRunVisitor& visit) {
  for_each_run(columns, 0, columns.count(), visit);
}

std::int64_t resolve_updates(const ScatterArgs& args, std::int64_t begin, std::int64_t end,
                             Update* to) {
  std::int64_t count = 0;
  visit_index_type(args.index_type, [&](auto tag) {
    count = resolve<typename decltype(tag)::type>(args, begin, end, to);
  });
  return count;
}

SlicedUpdates slice_updates(const ScatterArgs& args, int shift) {
  SlicedUpdates sliced;
  const std::int64_t count = args.updates.count();
  const std::int64_t parts = std::int64_t{2} * thread_limit();
  const auto begin_of = [&](std::int64_t part) { return count / parts * part; };
  const auto end_of = [&](std::int64_t part) {
    return part + 1 < parts ? begin_of(part + 1) : count;
  };
  const auto slices = static_cast<std::size_t>(((args.keys.count() - 1) >> shift) + 1);
  // [part][slice]: first the number of updates, then where the next one goes.
  std::vector<std::int64_t> next(static_cast<std::size_t>(parts) * slices);
  const auto each_part = [&](const auto& visit) {
    parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part)
        visit(part, next.data() + static_cast<std::size_t>(part) * slices);
    });
  };
  // The indices are read once: another thread may change them.
  const auto unsorted = std::make_unique_for_overwrite<Update[]>(static_cast<std::size_t>(count));
  std::vector<std::int64_t> resolved(static_cast<std::size_t>(parts));
  each_part([&](std::int64_t part, std::int64_t* numbers) {
    const std::int64_t begin = begin_of(part);
    std::int64_t number = 0;
    constexpr std::int64_t kBlock = std::int64_t{1} << 14;
    for (std::int64_t at = begin; at < end_of(part) && !is_stopped(); at += kBlock)
      number += resolve_updates(args, at, std::min(at + kBlock, end_of(part)),
                                unsorted.get() + begin + number);
    resolved[static_cast<std::size_t>(part)] = number;
    for (std::int64_t u = begin; u < begin + number; ++u) ++numbers[unsorted[u].key >> shift];
  });
  sliced.begin.resize(slices + 1);
  std::int64_t at = 0;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    sliced.begin[slice] = at;
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part)
      at += std::exchange(next[part * slices + slice], at);
  }
  sliced.begin[slices] = at;
  sliced.updates = std::make_unique_for_overwrite<Update[]>(static_cast<std::size_t>(at));
  each_part([&](std::int64_t part, std::int64_t* to) {
    const std::int64_t begin = begin_of(part);
    for_each_part({unsorted.get() + begin, resolved[static_cast<std::size_t>(part)]}, 1,
                  [&](const Updates& some) {
                    for (std::int64_t u = 0; u < some.count; ++u)
                      sliced.updates[to[some.first[u].key >> shift]++] = some.first[u];
                  });
  });
  return sliced;
}

}  // namespace gpukern::cpu
