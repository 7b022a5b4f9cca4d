// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "src/cpu/gather_cost.hpp"
#include "src/cpu/gather_run.hpp"
#include "src/cpu/index_tuple.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

// All functions below that return bool return false if mode "raise" rejects an index.

/// Gathers the runs for which each_run(body) calls body(offsets, length).
template <class EachRun>
bool gather_runs(const GatherArgs& args, const GatherFunctions& functions,
                 const EachRun& each_run) {
  const std::int64_t index_step = run_stride(args.loop, kIndex);
  const std::int64_t out_step = run_stride(args.loop, kOut);
  bool good = true;
  each_run([&](const auto& offset, std::int64_t length) {
    const ItemRun run{args.source + offset[kSource],
                      source_step(args),
                      args.index + offset[kIndex],
                      index_step,
                      args.out + offset[kOut],
                      out_step,
                      length,
                      args.n};
    good = gather_run(args, functions, run, offset[kFillValue]) && good;
  });
  return good;
}

bool gather_range(const GatherArgs& args, const GatherFunctions& functions, std::int64_t begin,
                  std::int64_t end) {
  return gather_runs(args, functions,
                     [&](const auto& body) { for_each_run(args.loop, begin, end, body); });
}

bool gather_long_items(const GatherArgs& args, ResolveRun resolve, std::int64_t begin,
                       std::int64_t end) {
  const std::int64_t pieces = pieces_of(args);
  bool good = true;
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t at = p % pieces * kPiece;
    const auto bytes = static_cast<std::size_t>(std::min(kPiece, args.item - at));
    for_each_run(args.loop, p / pieces, p / pieces + 1, [&](const auto& offset, std::int64_t) {
      std::int64_t item = 0;
      good = find_item(args, resolve, args.index + offset[kIndex], item) && good;
      std::byte* out = args.out + offset[kOut] + at;
      const std::byte* source = args.source + offset[kSource] + at;
      if (item == kNoPosition)
        fill_item(args, offset[kFillValue], at, out, bytes);
      else
        std::memcpy(out, source + item, bytes);
    });
  }
  return good;
}

/// Gathers parts concurrently.
template <class Part>
bool gather_parts(std::int64_t count, std::int64_t grain, const Part& part) {
  std::atomic<bool> good{true};
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (!part(begin, end)) good.store(false, std::memory_order_relaxed);
  });
  return good.load(std::memory_order_relaxed);
}

bool gather_long_runs(const GatherArgs& given) {
  GatherArgs args = given;
  const LongRuns runs(args.loop);
  const GatherFunctions functions(args);
  return gather_parts(
      runs.count(), runs.blocks_of(gather_grain(given)), [&](std::int64_t begin, std::int64_t end) {
        return gather_runs(args, functions,
                           [&](const auto& body) { runs.for_each(begin, end, body); });
      });
}

/// Whether to copy a source of several dimensions along the axis first, so that positions are
/// offsets: there are more items to gather than in the source, which the near caches hold.
bool is_worth_packing(const GatherArgs& args) {
  const auto* step = args.loop.stride[kSource];
  return args.axis.ndim > 1 && args.tuple == nullptr && args.loop.count() >= args.n &&
         args.n <= near_cache_bytes() / args.item &&
         std::all_of(step, step + args.loop.ndim, [](std::int64_t bytes) { return bytes == 0; });
}

/// Calls gather(args) with the source copied to one dimension.
template <class Gather>
bool gather_packed(const GatherArgs& args, const Gather& gather) {
  const auto memory =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(args.n * args.item));
  CopyArgs copied{args.source, memory.get(), args.item, {}};
  std::int64_t step = args.n * args.item;
  for (int d = 0; d < args.axis.ndim; ++d) {
    step /= args.axis.extent[d];
    copied.loop.push(args.axis.extent[d], {args.axis.stride[0][d], step});
  }
  copy(copied);
  GatherArgs packed = args;
  packed.source = memory.get();
  packed.axis = {};
  packed.axis.push(args.n, {args.item});
  return gather(packed);
}

/// The same of rows whose elements are not adjacent in the source.
bool is_worth_packing_rows(const GatherArgs& args) {
  const Loop<4>& loop = args.loop;
  const int inner = loop.ndim - 1;
  if (inner < 1 || args.axis.ndim != 1 || args.tuple != nullptr ||
      args.mode == GPUKERN_INDEX_FILL || loop.stride[kIndex][inner] != 0 ||
      loop.stride[kSource][inner] == 0 || loop.stride[kOut][inner] != args.item)
    return false;
  const auto* step = loop.stride[kSource];
  const std::int64_t row = loop.extent[inner] * args.item;
  return loop.count() / loop.extent[inner] / 2 >= args.n && args.n <= near_cache_bytes() / row &&
         std::all_of(step, step + inner, [](std::int64_t bytes) { return bytes == 0; });
}

bool gather_packed_rows(const GatherArgs& args) {
  const int inner = args.loop.ndim - 1;
  const std::int64_t columns = args.loop.extent[inner];
  const std::int64_t row = columns * args.item;
  const auto memory =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(args.n * row));
  CopyArgs copied{args.source, memory.get(), args.item, {}};
  copied.loop.push(args.n, {args.axis.stride[0][0], row});
  copied.loop.push(columns, {args.loop.stride[kSource][inner], args.item});
  copy(copied);
  GatherArgs packed = args;
  packed.source = memory.get();
  packed.item = row;
  packed.axis = {};
  packed.axis.push(args.n, {row});
  packed.loop.ndim = inner;
  return gather(packed);
}

}  // namespace

bool gather(const GatherArgs& args) {
  if (is_worth_packing(args))
    return gather_packed(args, [](const GatherArgs& packed) { return gather(packed); });
  if (is_worth_packing_rows(args)) return gather_packed_rows(args);
  if (is_long(args)) {
    const ResolveRun resolve = resolve_for(args.index_type, args.mode);
    return gather_parts(args.loop.count() * pieces_of(args), 1,
                        [&](std::int64_t begin, std::int64_t end) {
                          return gather_long_items(args, resolve, begin, end);
                        });
  }
  if (args.tuple == nullptr && has_long_runs(args.loop)) return gather_long_runs(args);
  const GatherFunctions functions(args);
  return gather_parts(args.loop.count(), gather_grain(args),
                      [&](std::int64_t begin, std::int64_t end) {
                        return gather_range(args, functions, begin, end);
                      });
}

bool gather_if_in_bounds(const GatherArgs& args, const IndexArgs& indices) {
  if (is_worth_packing(args))
    return gather_packed(
        args, [&](const GatherArgs& packed) { return gather_if_in_bounds(packed, indices); });
  const GatherFunctions functions(args);
  std::atomic<bool> good{true};  // cleared if another thread changes the indices during the call
  auto check = [&](std::int64_t begin, std::int64_t end) {
    return args.tuple != nullptr ? all_in_bounds(*args.tuple, begin, end)
                                 : all_in_bounds(indices, begin, end);
  };
  auto move = [&](std::int64_t begin, std::int64_t end) {
    if (!gather_range(args, functions, begin, end)) good.store(false, std::memory_order_relaxed);
  };
  return parallel_for_if_all(args.loop.count(), gather_grain(args, true), check, move) &&
         good.load(std::memory_order_relaxed);
}

Strategy gather_strategy(const GatherArgs& args) {
  constexpr std::int64_t kOneAccess = 16;
  const std::int64_t count = args.loop.count();
  return {.path = args.item <= kOneAccess ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS,
          .threads = is_long(args)
                         ? threads_for(count * pieces_of(args), 1)
                         : threads_for(count, gather_grain(args, is_checked_by_threads(args)))};
}

}  // namespace gpukern::cpu
