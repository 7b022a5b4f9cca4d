// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/bag_rows.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "src/cpu/cache.hpp"
#include "src/cpu/gather_items.hpp"
#include "src/cpu/runs.hpp"

namespace gpukern::cpu {

RowWindow::RowWindow(const GatherReduceArgs& args, std::int64_t row_bytes,
                     const WeightReader* weights)
    : args_(args),
      weights_(weights),
      fetched_(args.index != nullptr && args.n > core_cache_bytes() / row_bytes) {
  if (args.index != nullptr) resolve_ = resolve_for(args.index_type, args.mode);
}

void RowWindow::find(Items items) {
  std::array<std::int64_t, kBlockValues + kRowsAhead> position;
  const std::int64_t count = items.count();
  if (resolve_ != nullptr)
    resolve_(args_.index + items.begin * args_.index_step, args_.index_step, count, args_.n,
             position.data());
  else
    std::iota(position.begin(), position.begin() + count, items.begin);
  const std::byte* const source = args_.source;
  if (args_.axis.ndim <= 1 && args_.mode != GPUKERN_INDEX_FILL) {
    const std::int64_t step = run_stride(args_.axis, 0);
    for (std::int64_t k = 0; k < count; ++k) row_[k] = source + position[k] * step;
    return;
  }
  for (std::int64_t k = 0; k < count; ++k)
    row_[k] = position[k] == kNoPosition ? nullptr : source + offset_of(args_.axis, position[k]);
}

void RowWindow::load(Items items) {
  begin_ = items.begin;
  end_ = std::max(items.end, std::min(begin_ + kBlockValues, args_.count));
  const std::int64_t found = std::min(end_ + kRowsAhead, args_.count);
  find({begin_, found});
  std::fill(row_.begin() + (found - begin_), row_.end(), args_.source);
  if (weights_ != nullptr) weights_->load(args_, {begin_, end_}, weight_.bytes);
}

BlockRows RowWindow::present(std::size_t at, std::int64_t items) {
  const std::size_t size = weights_ == nullptr ? 0 : static_cast<std::size_t>(weights_->bytes);
  std::size_t count = 0;
  for (const std::size_t end = at + static_cast<std::size_t>(items); at < end; ++at) {
    if (row_[at] == nullptr) continue;
    present_row_[count] = row_[at];
    std::memcpy(present_weight_.at(count, size), weight_.at(at, size), size);
    ++count;
  }
  for (std::size_t k = 0; k < kRowsAhead; ++k)
    present_row_[count + k] = row_[at + k] != nullptr ? row_[at + k] : args_.source;
  const std::byte* const weight = weights_ == nullptr ? nullptr : present_weight_.bytes;
  return {present_row_.data(), weight, static_cast<std::int64_t>(count), fetched_};
}

}  // namespace gpukern::cpu
