// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/bag_rows.hpp"

#include <cstring>
#include <type_traits>

#include "src/cpu/runs.hpp"

namespace gpukern::cpu {
namespace {

constexpr std::int64_t kMostPrefetched = 1024;  // bytes of a row

void rows_in_order(const GatherReduceArgs& args, Items items, const std::byte** rows) {
  for (std::int64_t item = items.begin; item < items.end; ++item)
    *rows++ = args.source + offset_of(args.axis, item);
}

template <class T>
void rows_by_index(const GatherReduceArgs& args, Items items, const std::byte** rows) {
  const bool is_flat = args.axis.ndim > 1;
  const std::int64_t step = run_stride(args.axis, 0);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t position = resolve_index(
        args.mode, load<T>(args.index + item * args.index_step), std::is_signed_v<T>, args.n);
    const std::byte* row = nullptr;
    if (position >= 0)
      row = args.source + (is_flat ? offset_of(args.axis, position) : position * step);
    *rows++ = row;
  }
}

}  // namespace

RowWindow::RowWindow(const GatherReduceArgs& args, std::int64_t row_bytes,
                     const WeightReader* weights)
    : args_(args),
      weights_(weights),
      prefetched_(std::min(row_bytes, kMostPrefetched)),
      find_(rows_in_order) {
  if (args.index == nullptr) return;
  visit_index_type(args.index_type,
                   [&](auto tag) { find_ = rows_by_index<typename decltype(tag)::type>; });
}

void RowWindow::load(Items items) {
  begin_ = items.begin;
  end_ = std::max(items.end, std::min(begin_ + kBlockValues, args_.count));
  find_(args_, {begin_, end_}, row_.data());
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
  const std::byte* const weight = weights_ == nullptr ? nullptr : present_weight_.bytes;
  return {present_row_.data(), weight, static_cast<std::int64_t>(count)};
}

}  // namespace gpukern::cpu
