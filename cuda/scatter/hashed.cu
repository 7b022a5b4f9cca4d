// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Too few updates for a sort, in four kernels:
//   group         finds the slots of the keys, and collects the updates of each,
//   combine       orders the updates of short groups and combines their values,
//   place         collects the updates of long groups,
//   combine_long  orders them by a bitmap, combines their blocks of values and joins these.

#include <cub/block/block_scan.cuh>

#include "cuda/common/join.cuh"
#include "cuda/scatter/combine_columns.cuh"
#include "cuda/scatter/hashed.cuh"
#include "cuda/scatter/key_of.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

// These kernels wait for memory most of the time. Inlined functions and unrolled loops would double
// the code of each type.
template <class T>
__device__ __noinline__ Accumulator<T> load_value(const std::byte* from, bool aligned) {
  return widened(load_element<T>(from, aligned));
}
template <class T>
__device__ __noinline__ void store_result(std::byte* to, bool aligned, gpukern_reduce reduce,
                                          std::int64_t count, Accumulator<T> sum) {
  store_element(to, finished<T>(reduce, sum, count), aligned);
}

constexpr int kBlock = static_cast<int>(kBlockValues);
constexpr int kLongThreads = 512;
constexpr int kTaskBlocks = 4;
constexpr int kTaskMembers = kTaskBlocks * kBlock;

/// The least number of threads that work on a group.
constexpr int kLeastLanes = 4;

/// Accesses to values that a thread has in flight.
template <bool kAny>
constexpr int kInFlight = kAny ? 2 : 4;
constexpr int kLongInFlight = 8;

/// With `puts`, a slot has the last update of its key, and none is collected.
__global__ void __launch_bounds__(kThreads)
    group_kernel(const __grid_constant__ KeyOf key_of, const __grid_constant__ Groups groups,
                 bool puts) {
  launch_next();
  const std::uint32_t update = blockIdx.x * kThreads + threadIdx.x;
  const std::int64_t key = update < groups.count ? key_of(update) : -1;
  // One thread adds the equal keys of a warp.
  const unsigned equal = __match_any_sync(~0U, static_cast<unsigned long long>(key));
  if (update >= groups.count) return;
  if (key < 0) {
    groups.slot_of[update] = kNoSlot;
    if (!puts) groups.rank[update] = kNoSlot;
    return;
  }
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const int adder = 31 - __clz(static_cast<int>(equal));
  std::uint32_t slot = 0;
  std::uint32_t rank = 0;
  if (lane == adder) {
    slot = groups.find(key);
    if (puts)
      atomicMax(&groups.slots[slot].last, update + 1);
    else
      rank = atomicAdd(&groups.slots[slot].number, static_cast<unsigned>(__popc(equal)));
  }
  slot = __shfl_sync(equal, slot, adder);
  groups.slot_of[update] = slot;
  if (puts) return;
  const int lower = __popc(equal & ((1U << lane) - 1));
  rank = __shfl_sync(equal, rank, adder) + static_cast<unsigned>(lower);
  groups.rank[update] = rank;
  if (rank < kMostShort) groups.short_members[std::uint64_t{slot} * kMostShort + rank] = update;
}

/// The threads that work on a short group: those of its first update.
struct ShortGroup {
  int lane;
  int lanes;
  int number;             ///< of members
  std::uint32_t* member;  ///< in shared memory

  __device__ void synchronize() const {
    const unsigned first = threadIdx.x % 32 - static_cast<unsigned>(lane);
    __syncwarp((lanes == 32 ? ~0U : (1U << lanes) - 1) << first);
  }
  /// Calls visit(position, member) with the position of each member in their order.
  template <class Visit>
  __device__ void order(const std::uint32_t* members, const Visit& visit) const {
#pragma unroll 1
    for (int i = lane; i < number; i += lanes) member[i] = members[i];
    synchronize();
#pragma unroll 1
    for (int i = lane; i < number; i += lanes) {
      int position = 0;
#pragma unroll 1
      for (int k = 0; k < number; ++k) position += member[k] < member[i] ? 1 : 0;
      visit(position, member[i]);
    }
    synchronize();
  }
};

/// `lanes` threads for each update: those of the first one of a group work.
template <class T, int kCount, bool kAny>
__global__ void __launch_bounds__(kThreads, resident_blocks(kAny&& kCount > 1 ? 3 : 4, kThreads))
    combine_kernel(const __grid_constant__ Groups groups,
                   const __grid_constant__ UpdateValues values,
                   const __grid_constant__ TargetElements elements,
                   const __grid_constant__ UpdateColumns<kCount, kAny> columns,
                   ThreadGroups threads, const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  constexpr int kPerBlock = kThreads / kLeastLanes * kMostShort;
  __shared__ std::uint32_t member[kPerBlock];
  __shared__ alignas(16) std::byte memory[kPerBlock * (sizeof(A) > 4 ? sizeof(A) : 4)];
  wait_for_previous();
  launch_next();
  const std::int64_t update = threads.in_grid();
  const int lane = threads.lane();
  if (update >= groups.count) return;
  const std::uint32_t at = groups.slot_of[update];
  if (groups.rank[update] != 0) return;
  const Slot slot = groups.slots[at];
  if (slot.number > kMostShort) {
    if (lane == 0 && blockIdx.y == 0) groups.add_long(at);
    return;
  }
  const int place = threads.in_block() * kMostShort;
  const ShortGroup group{lane, threads.lanes(), static_cast<int>(slot.number), member + place};
  const std::uint32_t* const members = groups.short_members + std::uint64_t{at} * kMostShort;
  std::byte* const row = elements.at(slot.key - 1);
  if constexpr (kCount == 1) {  // of one column
    A* const value = reinterpret_cast<A*>(memory) + place;
    group.order(members, [&](int position, std::uint32_t of) {
      value[position] = load_value<T>(values.at(of), columns.aligned);
    });
    if (lane != 0) return;
    const A sum = combine_values(reduction, load_value<T>(row, columns.aligned), group.number,
                                 [&](int i) { return value[i]; });
    store_result<T>(row, columns.aligned, reduction.reduce, group.number + 1, sum);
  } else {
    auto* const ordered = reinterpret_cast<std::uint32_t*>(memory) + place;
    group.order(members, [&](int position, std::uint32_t of) { ordered[position] = of; });
    columns.visit(threads, [&](const ThreadColumns<kCount, kAny>& own) {
      A sum[kCount];
      combine_columns<T, kInFlight<kAny>>(own, row, values, ordered, group.number, reduction, sum);
      own.template store<T>(row, reduction.reduce, group.number + 1, sum);
    });
  }
}

__global__ void __launch_bounds__(kThreads) place_kernel(const __grid_constant__ Groups groups) {
  wait_for_previous();
  launch_next();
  const std::uint32_t update = blockIdx.x * kThreads + threadIdx.x;
  if (groups.totals->tasks == 0 || update >= groups.count) return;
  const std::uint32_t slot = groups.slot_of[update];
  if (slot == kNoSlot || groups.slots[slot].number <= kMostShort) return;
  groups.members[groups.long_groups[slot].members + groups.rank[update]] = update;
}

/// Some members of a long group, in order.
struct Members {
  using Scan = cub::BlockScan<int, kLongThreads>;

  std::uint32_t update[kTaskMembers];
  std::uint32_t bits[kScatterHashed / 32];  ///< one for each update: whether it is a member
  typename Scan::TempStorage scan;

  /// Those from `begin` to `end` of the `number` members. All threads of a block call this, and
  /// synchronize before they call it again.
  __device__ void select(const std::uint32_t* members, int number, int updates, int begin,
                         int end) {
    const auto thread = static_cast<int>(threadIdx.x);
    const int words = (updates + 31) / 32;
    for (int w = thread; w < words; w += kLongThreads) bits[w] = 0;
    __syncthreads();
    // Each thread has several sectors, since neighbours come from one warp and would change the
    // same word at a time; an odd number of them, for the sets of the L1 cache.
    constexpr int kSector = 8;
    const int each =
        ((number + kLongThreads * kSector - 1) / (kLongThreads * kSector) | 1) * kSector;
    for (int i = thread * each; i < min((thread + 1) * each, number); i += kSector) {
      std::uint32_t member[kSector];
#pragma unroll
      for (int k = 0; k < kSector; ++k) member[k] = members[min(i + k, number - 1)];
#pragma unroll
      for (int k = 0; k < kSector; ++k) atomicOr(&bits[member[k] / 32], 1U << member[k] % 32);
    }
    __syncthreads();
    const int words_each = (words + kLongThreads - 1) / kLongThreads;
    const int first = min(thread * words_each, words);
    const int last = min(first + words_each, words);
    int own = 0;
    for (int w = first; w < last; ++w) own += __popc(bits[w]);
    int rank;
    Scan(scan).ExclusiveSum(own, rank);
    for (int w = first; w < last && rank < end; ++w) {
      if (rank + __popc(bits[w]) <= begin) {
        rank += __popc(bits[w]);
        continue;
      }
      for (unsigned rest = bits[w]; rest != 0; rest &= rest - 1, ++rank)
        if (rank >= begin && rank < end)
          update[rank - begin] =
              static_cast<std::uint32_t>(32 * w + __ffs(static_cast<int>(rest)) - 1);
    }
    __syncthreads();
  }
};

/// Combines blocks of values, and in the last task of a group joins them.
template <class T>
__global__ void __launch_bounds__(kLongThreads)
    combine_long_kernel(const __grid_constant__ Groups groups,
                        const __grid_constant__ UpdateValues values,
                        const __grid_constant__ TargetElements elements,
                        const __grid_constant__ UpdateColumns<1, true> columns, int width,
                        const __grid_constant__ CompactReduction reduction,
                        Accumulator<T>* combined) {
  using A = Accumulator<T>;
  __shared__ Members members;
  __shared__ alignas(A) std::byte memory[kTaskMembers * sizeof(A)];
  A* const value = reinterpret_cast<A*>(memory);
  __shared__ bool is_last;
  wait_for_previous();
  const std::uint32_t tasks = groups.totals->tasks;
  for (std::uint32_t t = blockIdx.x; t < tasks; t += gridDim.x) {
    const Task task = groups.tasks[t];
    const Slot slot = groups.slots[task.slot];
    LongGroup& group = groups.long_groups[task.slot];
    const auto number = static_cast<int>(slot.number);
    const int blocks = number / kBlock + 1;  // with the element itself
    const auto first_block = static_cast<int>(task.block);
    const int end_block = min(first_block + kTaskBlocks, blocks);
    const auto begin_of = [&](int block) { return min(max(block * kBlock - 1, 0), number); };
    members.select(groups.members + group.members, number, static_cast<int>(groups.count),
                   begin_of(first_block), begin_of(end_block));
    std::byte* const row = elements.at(slot.key - 1);
    A* const own_blocks = combined + group.blocks * columns.count;
    const auto finish = [&](int block, std::int64_t column, A(&sum)[1]) {
      if (blocks == 1)
        store_result<T>(row + columns.at(column).to, columns.aligned, reduction.reduce, number + 1,
                        sum[0]);
      else
        own_blocks[block * columns.count + column] = sum[0];
    };
    const int first = begin_of(first_block);
    if (columns.count == 1) {
      // Few threads combine: others load the values.
#pragma unroll 1
      for (int m = threadIdx.x; m < begin_of(end_block) - first; m += kLongThreads)
        value[m] = load_value<T>(values.at(members.update[m]), columns.aligned);
      __syncthreads();
      const int block = first_block + static_cast<int>(threadIdx.x);
      if (block < end_block) {
        int m = begin_of(block) - first;
        const A before = block == 0 ? load_value<T>(row, columns.aligned) : value[m++];
        A sum[1] = {combine_values(reduction, before, begin_of(block + 1) - first - m,
                                   [&](int i) { return value[m + i]; })};
        finish(block, 0, sum);
      }
    } else {
      const std::int64_t part = columns.end() - columns.begin();
      for (std::int64_t work = threadIdx.x; work < (end_block - first_block) * part;
           work += kLongThreads) {
        const int block = first_block + static_cast<int>(work / part);
        const std::int64_t column = columns.begin() + work % part;
        A sum[1];
        combine_columns<T, kLongInFlight>(columns.only(column), block == 0 ? row : nullptr, values,
                                          members.update + begin_of(block) - first,
                                          begin_of(block + 1) - begin_of(block), reduction, sum);
        finish(block, column, sum);
      }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
      is_last = blocks > 1 && atomicAdd(&group.done[blockIdx.y], 1U) == group.tasks - 1;
    __syncthreads();
    if (!is_last) continue;
    __threadfence();
    for (std::int64_t begin = columns.begin(); begin < columns.end(); begin += width) {
      const std::int64_t column = begin + threadIdx.x % width;
      const bool active = column < columns.end();
      const auto block = [&](std::int64_t b) { return own_blocks[b * columns.count + column]; };
      const A sum = join_by_threads<kLongThreads>(block, blocks, width, active, reduction, value);
      if (active && static_cast<int>(threadIdx.x) < width)
        store_result<T>(row + columns.at(column).to, columns.aligned, reduction.reduce, number + 1,
                        sum);
    }
  }
}

constexpr Grid dependent(std::int64_t blocks, int threads = kThreads) {
  return {.blocks = blocks, .threads = threads, .programmatic_launch = true};
}

template <class T, int kCount, bool kAny>
void launch_combine(const ScatterCall& call, const Groups& groups) {
  const ScatterArgs& args = call.args;
  const ThreadGroups threads = groups_of(ceil_divide(call.columns, kCount), kLeastLanes);
  auto columns = update_columns<kCount, kAny>(args.columns, is_aligned(args, alignof(T)));
  const Grid grid = divide_columns(columns, threads, dependent(threads.blocks(call.count)));
  launch(combine_kernel<T, kCount, kAny>, grid, call.stream, groups, update_values(args),
         target_elements(args), columns, threads,
         CompactReduction{reduction_of(args.reduce, args.dtype)});
}

template <class T>
void launch_all(const ScatterCall& call, const Groups& groups, void* combined) {
  const ScatterArgs& args = call.args;
  constexpr int kCount = kVectorColumns<T>;
  static_assert(kCount > 1);
  if (call.columns == 1)
    launch_combine<T, 1, true>(call, groups);
  else if (has_column_vectors<T, kCount>(args, call.columns))
    launch_combine<T, kCount, false>(call, groups);
  else
    launch_combine<T, kCount, true>(call, groups);
  if (groups.most_long() == 0) return;
  launch(place_kernel, dependent(ceil_divide(call.count, kThreads)), call.stream, groups);
  // One group may have all updates: its few tasks would not fill the GPU.
  constexpr std::int64_t kPart = 128;
  auto columns = update_columns<1, true>(args.columns, is_aligned(args, alignof(T)));
  const Grid grid =
      divide_columns(columns, std::clamp<std::int64_t>(call.columns / kPart, 1, kMostColumnParts),
                     join_width(call.columns),
                     dependent(std::min(groups.most_long(), resident_grid()), kLongThreads));
  launch(combine_long_kernel<T>, grid, call.stream, groups, update_values(args),
         target_elements(args), columns, join_width(call.columns),
         CompactReduction{reduction_of(args.reduce, args.dtype)},
         static_cast<Accumulator<T>*>(combined));
}

}  // namespace

__device__ void Groups::add_long(std::uint32_t slot) const {
  const std::uint32_t number = slots[slot].number;
  const std::uint32_t blocks = number / kBlock + 1;
  const std::uint32_t parts = (blocks + kTaskBlocks - 1) / kTaskBlocks;
  long_groups[slot] = {.members = atomicAdd(&totals->members, number),
                       .blocks = atomicAdd(&totals->blocks, blocks),
                       .tasks = parts,
                       .done = {}};
  const std::uint32_t first = atomicAdd(&totals->tasks, parts);
  for (std::uint32_t part = 0; part < parts; ++part)
    tasks[first + part] = {.slot = slot, .block = part * kTaskBlocks};
}

bool has_hashed(const ScatterArgs& args) {
  return args.reduce == GPUKERN_REDUCE_NONE || is_short_float(args.dtype);
}

void scatter_hashed(Device& device, const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const bool puts = args.reduce == GPUKERN_REDUCE_NONE;
  const auto lay_out = [&](ScratchLayout& layout) {
    const Groups groups(layout, call.count, puts);
    const std::int64_t blocks = puts ? 0 : groups.most_long();
    return std::pair(groups, layout.take(blocks * call.columns, accumulator_bytes(args.dtype)));
  };
  ScratchLayout measure;
  lay_out(measure);
  const Buffer memory(device, measure.bytes(), call.stream);
  ScratchLayout layout(memory.data());
  const auto [groups, combined] = lay_out(layout);
  const auto cleared = reinterpret_cast<std::byte*>(groups.slots + groups.size) -
                       reinterpret_cast<std::byte*>(groups.totals);
  check(cudaMemsetAsync(groups.totals, 0, static_cast<std::size_t>(cleared), call.stream),
        "cudaMemsetAsync");
  launch(group_kernel, ceil_divide(call.count, kThreads), call.stream, key_of(args), groups, puts);
  if (puts)
    return scatter_put_direct(call, {.table = &groups.slots->last,
                                     .step = sizeof(Slot) / sizeof(std::uint32_t),
                                     .place = groups.slot_of});
  visit_short_float(args.dtype, [&](auto tag) {
    launch_all<typename decltype(tag)::type>(call, groups, combined);
  });
}

}  // namespace gpukern::gpu
