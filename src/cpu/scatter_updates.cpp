// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/scatter_updates.hpp"

#include <algorithm>
#include <utility>

#include "src/cpu/gather_items.hpp"
#include "src/threading/thread_limit.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

template <class T, gpukern_index_mode mode>
std::int64_t resolve(const ScatterArgs& args, std::int64_t begin, std::int64_t end, Update* to) {
  const Update* const first = to;
  // In local variables: stores to `to` could change those of args.
  const std::int64_t n = args.n;
  const std::int64_t scale = args.key_step;
  const std::int64_t index_step = run_stride(args.updates, kUpdateIndex);
  const std::int64_t value_step = run_stride(args.updates, kUpdateValue);
  const std::int64_t key_step = run_stride(args.updates, kKey);
  std::int64_t bad = 0;  // was checked before; position 0 stands for an index that changed since
  for_each_run(args.updates, begin, end, [&](const auto& offset, std::int64_t length) {
    const std::byte* const index = args.index + offset[kUpdateIndex];
    const std::int64_t key = offset[kKey];
    const std::int64_t value = offset[kUpdateValue];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t position = Resolve<T, mode>::position(index + i * index_step, n, bad);
      const bool is_kept = mode != GPUKERN_INDEX_FILL || position != kNoPosition;
      *to = {(is_kept ? position : 0) * scale + key + i * key_step, value + i * value_step};
      to += is_kept ? 1 : 0;
    }
  });
  return to - first;
}

template <class T>
std::int64_t resolve_in_mode(const ScatterArgs& args, std::int64_t begin, std::int64_t end,
                             Update* to) {
  switch (args.mode) {
    case GPUKERN_INDEX_WRAP:
      return resolve<T, GPUKERN_INDEX_WRAP>(args, begin, end, to);
    case GPUKERN_INDEX_CLIP:
      return resolve<T, GPUKERN_INDEX_CLIP>(args, begin, end, to);
    case GPUKERN_INDEX_FILL:
      return resolve<T, GPUKERN_INDEX_FILL>(args, begin, end, to);
    case GPUKERN_INDEX_RAISE:
      break;
  }
  return resolve<T, GPUKERN_INDEX_RAISE>(args, begin, end, to);
}

}  // namespace

void for_each_column_run(const Loop<2>& columns, const ColumnRunVisitor& visit) {
  for_each_run(columns, 0, columns.count(), visit);
}

std::int64_t resolve_updates(const ScatterArgs& args, std::int64_t begin, std::int64_t end,
                             Update* to) {
  std::int64_t count = 0;
  visit_index_type(args.index_type, [&](auto tag) {
    count = resolve_in_mode<typename decltype(tag)::type>(args, begin, end, to);
  });
  return count;
}

UpdateReader::UpdateReader(const ScatterArgs& args)
    : args_(args), resolve_(resolve_for(args.index_type, args.mode)) {
  constexpr std::int64_t kShort = 64;
  const Loop<3>& loop = args.updates;
  run_ = loop.ndim == 0 ? 1 : loop.extent[loop.ndim - 1];
  if (run_ < kShort) run_ = 0;
}

Updates UpdateReader::read(std::int64_t& begin, std::int64_t end) {
  if (run_ > 0) end = std::min(end, begin + run_ - begin % run_);
  const Updates updates =
      run_ > 0 ? read_run(begin, end)
               : Updates{list_.data(), resolve_updates(args_, begin, end, list_.data())};
  begin = end;
  return updates;
}

Updates UpdateReader::read_run(std::int64_t begin, std::int64_t end) {
  const std::int64_t step = run_stride(args_.updates, kUpdateIndex);
  const std::int64_t key_step = run_stride(args_.updates, kKey);
  const std::int64_t value_step = run_stride(args_.updates, kUpdateValue);
  std::int64_t* const keys = keys_.data();
  Updates updates{list_.data(), 0};
  for_each_run(args_.updates, begin, end, [&](const auto& offset, std::int64_t length) {
    const std::byte* const index = args_.index + offset[kUpdateIndex];
    const std::int64_t value = offset[kUpdateValue];
    resolve_(index, step, length, args_.n, keys);
    // Of a missing position the key is not used, and may wrap.
    const auto key_of = [&](std::int64_t i) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(keys[i]) *
                                           static_cast<std::uint64_t>(args_.key_step) +
                                       static_cast<std::uint64_t>(offset[kKey] + i * key_step));
    };
    if (args_.mode == GPUKERN_INDEX_FILL &&
        std::find(keys, keys + length, kNoPosition) != keys + length) {
      std::int64_t count = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t is_kept = keys[i] != kNoPosition ? 1 : 0;
        list_[static_cast<std::size_t>(count)] = {key_of(i), value + i * value_step};
        count += is_kept;
      }
      updates.count = count;
      return;
    }
    if (args_.key_step != 1 || key_step != 0)
      for (std::int64_t i = 0; i < length; ++i) keys[i] = key_of(i);
    else if (offset[kKey] != 0)
      for (std::int64_t i = 0; i < length; ++i) keys[i] += offset[kKey];
    updates = {nullptr, length, keys, value, value_step};
  });
  return updates;
}

SlicedUpdates slice_updates(const ScatterArgs& args, int shift) {
  SlicedUpdates sliced;
  const std::int64_t count = args.updates.count();
  const std::int64_t parts = std::int64_t{2} * thread_limit();
  const auto begin_of = [&](std::int64_t part) { return begin_of_part(count, parts, part); };
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
    for (std::int64_t at = begin; at < begin_of(part + 1) && !is_stopped(); at += kBlock)
      number += resolve_updates(args, at, std::min(at + kBlock, begin_of(part + 1)),
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
