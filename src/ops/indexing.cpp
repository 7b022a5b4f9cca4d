// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexing.hpp"

#include <cstdint>
#include <string>

#include "src/core/environment.hpp"
#include "src/ops/gather_hybrid.hpp"
#include "src/ops/gather_offload.hpp"
#include "src/ops/raveled_index.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

/// $GPUKERN_GATHER.
gpukern_gather_path default_path() {
  const std::string& name = environment().gather;
  if (name.empty() || name == "auto") return GPUKERN_GATHER_AUTO;
  if (name == "direct") return GPUKERN_GATHER_DIRECT;
  if (name == "partitioned") return GPUKERN_GATHER_PARTITIONED;
  fail(GPUKERN_VALUE_ERROR, "GPUKERN_GATHER must be auto, direct or partitioned, got ", name);
}

/// The path for a call with this number of indices.
gpukern_gather_path path_of(const gpukern_gather_options& options, std::int64_t indices) {
  // A small number of indices always takes the direct path.
  constexpr std::int64_t kFew = 4096;
  if (options.path != GPUKERN_GATHER_AUTO) return static_cast<gpukern_gather_path>(options.path);
  return indices < kFew ? GPUKERN_GATHER_DIRECT : default_path();
}

/// Whether a GPU reads the source in host memory: index and out are in its memory.
bool reads_in_place(const IndexedRead& read) {
  return !read.source.tensor.device.cuda && read.index.tensor.device.cuda;
}

/// Where the call runs. Sets `from` to the source as that device accesses it.
Call call_for(const IndexedRead& read, Tensor& from, const gpukern_exec* exec) {
  const auto& [function, source, index, out, axis, make_loop, checks_indices, tuple] = read;
  if (!reads_in_place(read)) return {function, {&source, &index, &out}, exec};
  Call call(function, {&index, &out}, exec);
  from.device = call.device_id;
  if (from.count() == 0) return call;
  from.data = seen_in_place(call.device, source.tensor);
  require(from.data != nullptr, GPUKERN_VALUE_ERROR, source.name, " must be on ",
          device_name(call.device_id),
          " like index, or in page-locked host memory, which the GPU "
          "reads in place (pinned_empty in Python, gpukern_allocate with GPUKERN_CUDA_HOST in C), "
          "got pageable host memory");
  return call;
}

/// The tuple of the call, if the device combines its indices where it reads items.
const IndexTuple* tuple_for(const IndexedRead& read, const Call& call, gpukern_gather_path path,
                            const gpukern_exec* exec) {
  const std::int64_t count = read.index.tensor.count();
  if (read.tuple == nullptr || call.is_offloaded() || reads_in_place(read)) return nullptr;
  const IndexTuple& tuple = read.tuple->tuple(exec);
  const std::int64_t item_bytes = count > 0 ? read.out.tensor.bytes() / count : 0;
  return call.device.takes_tuple(tuple, count, item_bytes, path) ? &tuple : nullptr;
}

/// What mode "raise" does first; returns the mode in which the call goes on.
std::int32_t check(const IndexedRead& read, const Call& call, const gpukern_exec* exec) {
  if (read.tuple != nullptr) return read.tuple->check_bounds(exec);
  const IndexedAxis indexed{&read.index.tensor, read.axis};
  return check_bounds(call, read.function, {&indexed, 1});
}

/// `unchecked`: the indices have not been checked, and the device checks them while it gathers.
void run(const IndexedRead& read, const GatherCall& gather, bool unchecked, bool out_may_change,
         const gpukern_exec* exec, Progress& progress) {
  const Call& call = gather.call;
  if (call.is_offloaded()) return gather_offloaded(gather, device_memory_limit(exec), progress);
  GatherArgs args = gather_args(gather.operands, gather.axis, gather.mode, gather.make_loop);
  args.tuple = gather.tuple;
  args.path = gather.path;
  args.in_place = gather.host_source != nullptr;
  args.out_may_change = out_may_change;
  if (progress.wanted() && !call.device_id.cuda) {
    if (unchecked) check(read, call, exec);
    args.out_may_change = true;  // all indices are in bounds
    return gather_in_parts(call.device, args, progress);
  }
  join_items(args);
  const std::int64_t by_cpu = items_for_cpu(gather, args);
  if (unchecked) {
    if (by_cpu == 0 && call.device.gather_checked(args, call.stream)) return;
    check(read, call, exec);
  }
  if (by_cpu > 0) return hybrid_gather(gather, args, by_cpu);
  call.device.run(args, call.stream);
}

}  // namespace

void run_indexed(const IndexedRead& read, const gpukern_gather_options& options,
                 const gpukern_exec* exec) {
  const auto& [function, source, index, out, axis, make_loop, checks_indices, tuple] = read;
  auto mode = static_cast<gpukern_index_mode>(options.mode);
  Tensor from = source.tensor;
  const Call call = call_for(read, from, exec);
  const gpukern_gather_path path =
      reads_in_place(read) ? GPUKERN_GATHER_DIRECT : path_of(options, index.tensor.count());
  const IndexTuple* const indices = tuple_for(read, call, path, exec);
  Tensor fill;
  if (mode == GPUKERN_INDEX_FILL && options.fill_value != nullptr)
    fill = checked_fill_value(function, options.fill_value, source.tensor, axis);

  const std::int64_t count = out.tensor.count();
  Progress progress(function, exec);
  progress.expect(out.tensor.bytes());
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  const bool has_indices = index.tensor.count() > 0 || tuple != nullptr;
  const bool raises = mode == GPUKERN_INDEX_RAISE && has_indices && checks_indices;
  // As NumPy's indexing, whose message names the index.
  if (tuple != nullptr && raises && axis.n == 0) check(read, call, exec);
  require(axis.n > 0 || count == 0, GPUKERN_INDEX_ERROR,
          "cannot do a non-empty take from an empty axes.");
  const bool may_change = options.out_may_change != 0;
  // The CPU can leave the out of host arrays unchanged, a GPU cannot.
  const bool device_checks = !call.is_offloaded() && (!call.device_id.cuda || may_change);
  const bool unchecked = raises && count > 0 && device_checks && call.index_errors == nullptr;
  if (raises && !unchecked) mode = static_cast<gpukern_index_mode>(check(read, call, exec));
  if (count == 0) return;
  if (tuple != nullptr && indices == nullptr) {
    // Unchecked, the device finds the positions that mode "fill" leaves out.
    const std::int32_t after = tuple->ravel(unchecked ? GPUKERN_INDEX_FILL : mode, exec);
    if (!unchecked) mode = static_cast<gpukern_index_mode>(after);
  }

  const bool apart =
      may_overlap(out.tensor, from) ||
      (tuple == nullptr ? may_overlap(out.tensor, index.tensor)
                        : (indices != nullptr || unchecked) && tuple->overlaps(out.tensor)) ||
      (fill.data != nullptr && may_overlap(out.tensor, fill));
  Output out_here(call, out.tensor, apart);
  const std::byte* const host_source = reads_in_place(read) ? source.tensor.data : nullptr;
  run(read,
      {call,
       {from, index.tensor, out_here.tensor(), fill},
       axis,
       mode,
       path,
       make_loop,
       indices,
       host_source},
      unchecked, may_change, exec, progress);
  out_here.finish();
}

}  // namespace gpukern
