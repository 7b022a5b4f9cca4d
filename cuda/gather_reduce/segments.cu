// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bags that are segments of contiguous elements, or of contiguous rows of few. A thread combines a
// column of a segment, or of a block of a long one, in order. Of short segments, a warp copies
// those of all its threads to shared memory first, so that its loads are contiguous.
#include <cuda_pipeline_primitives.h>

#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr unsigned kAll = ~0U;
constexpr int kWarp = 32;
constexpr int kSegmentThreads = 128;

/// Contiguous words that a warp copies; one more to a line, so that segments of whole lines do not
/// all begin in one bank.
constexpr int kWindowWords = 256;
constexpr int kLineWords = 8;
struct Window {
  Word<kWordBytes>::Type word[kWindowWords / kLineWords][kLineWords + 1];

  /// Copies `words` words, of the last of which `unused` bytes are not read.
  __device__ void copy(const std::byte* from, int words, int unused) {
    for (int w = static_cast<int>(threadIdx.x) % kWarp; w < words; w += kWarp)
      __pipeline_memcpy_async(&word[w / kLineWords][w % kLineWords], from + w * kWordBytes,
                              kWordBytes, w == words - 1 ? unused : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
  }
  template <class T>
  [[nodiscard]] __device__ const T& element(int number) const {
    constexpr int kOfLine = kLineWords * kPerWord<T>;
    return reinterpret_cast<const T*>(word[number / kOfLine])[number % kOfLine];
  }
};

/// Combines neighbouring elements, whose loads are vectors.
template <class T>
__device__ void combine_vectors(const T* from, const T* end, const Reduction& kind,
                                Accumulator<T>& sum) {
  using Loaded = Vector<T, kPerWord<T>>;
  constexpr int kInFlight = sizeof(T) < 4 ? 4 : 8;
  for (; from < end && reinterpret_cast<std::uintptr_t>(from) % sizeof(Loaded) != 0; ++from)
    sum = combine(kind, sum, widened(*from));
  const auto* const vectors = reinterpret_cast<const Loaded*>(from);
  const auto count = static_cast<int>((end - from) / kPerWord<T>);
  for (int v = 0; v < count; v += kInFlight) {
    Loaded vector[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (v + k < count) vector[k] = vectors[v + k];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (v + k >= count) break;
#pragma unroll
      for (int e = 0; e < kPerWord<T>; ++e) sum = combine(kind, sum, widened(vector[k].element[e]));
    }
  }
  for (from += count * kPerWord<T>; from < end; ++from) sum = combine(kind, sum, widened(*from));
}

/// Combines `count` elements that are `step` apart.
template <class T>
__device__ void combine_strided(const T* from, std::int64_t count, int step, const Reduction& kind,
                                Accumulator<T>& sum) {
  constexpr int kInFlight = 8;
  for (std::int64_t i = 0; i < count; i += kInFlight) {
    T value[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (i + k < count) value[k] = from[(i + k) * step];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (i + k < count) sum = combine(kind, sum, widened(value[k]));
  }
}

/// Which segment, or block of a long one, a thread has, and which column: threads of a row follow
/// each other.
struct SegmentThread {
  std::int64_t row;
  int column;
  bool has_row;  ///< if not, `row` is one that the warp has

  __device__ SegmentThread(std::int64_t rows, int columns) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int each = columns == 1 ? kWarp : kWarp / columns;
    const int own = columns == 1 ? lane : lane / columns;
    const std::int64_t warp =
        static_cast<std::int64_t>(blockIdx.x) * (kSegmentThreads / kWarp) + threadIdx.x / kWarp;
    const std::int64_t first = warp * each;
    row = min(first + min(own, each - 1), rows - 1);
    column = lane - own * columns;
    has_row = own < each && first + own < rows;
  }
};

/// Combines the items of each thread, at most a block; all threads of the warp call this.
template <class T>
__device__ Accumulator<T> combine_segments(const T* items, int columns, int column,
                                           const ItemRange& range, const Reduction& reduction,
                                           Window& window) {
  auto sum = identity<Accumulator<T>>(reduction);
  const auto of_lane = [](std::int64_t value, int lane) {
    return std::int64_t{__shfl_sync(kAll, static_cast<long long>(value), lane)};
  };
  const std::int64_t begin = of_lane(range.begin, 0);
  const std::int64_t end = of_lane(range.end, kWarp - 1);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t next = of_lane(range.begin, lane + 1);
  const bool is_followed = next == range.end || next == range.begin || lane == kWarp - 1;
  // Elements before the first one of its word are copied, and are not used.
  const auto first = reinterpret_cast<std::uintptr_t>(items + begin * columns);
  const auto before = static_cast<int>(first % kWordBytes);
  const std::int64_t bytes =
      before + (end - begin) * columns * static_cast<std::int64_t>(sizeof(T));
  if (__all_sync(kAll, is_followed) && bytes <= kWindowWords * kWordBytes) {
    const int words = (static_cast<int>(bytes) + kWordBytes - 1) / kWordBytes;
    window.copy(reinterpret_cast<const std::byte*>(first - before), words,
                words * kWordBytes - static_cast<int>(bytes));
    const int skipped = before / static_cast<int>(sizeof(T)) + column;
    const int own_begin = skipped + static_cast<int>(range.begin - begin) * columns;
    // Offsets may change during a call, and differ between the threads of a row.
    const int own_end = skipped + static_cast<int>(min(range.end, end) - begin) * columns;
    with_kind(reduction, [&](const Reduction& kind) {
#pragma unroll 4
      for (int e = own_begin; e < own_end; e += columns)
        sum = combine(kind, sum, widened(window.element<T>(e)));
    });
  } else {
    with_kind(reduction, [&](const Reduction& kind) {
      if (columns == 1)
        combine_vectors(items + range.begin, items + range.end, kind, sum);
      else
        combine_strided(items + range.begin * columns + column, range.end - range.begin, columns,
                        kind, sum);
    });
  }
  return sum;
}

template <class T, bool kOfLong>
__global__ void __launch_bounds__(kSegmentThreads, 8)
    reduce_segments_kernel(const __grid_constant__ BagRanges ranges, const T* from,
                           const __grid_constant__ BagOutput<RowColumns<1, false>> output,
                           std::int64_t segments, LongBags long_bags) {
  __shared__ Window windows[kSegmentThreads / kWarp];
  Window& window = windows[threadIdx.x / kWarp];
  const auto columns = static_cast<int>(output.columns.count);
  if constexpr (kOfLong) {
    if (long_bags.is_void()) return;
    const std::int64_t blocks = long_bags.blocks();
    const SegmentThread own(blocks, columns);
    ItemRange items{0, 0};
    if (own.has_row) {
      const LongBag& bag = long_bags.bag[long_bags.bag_of(own.row)];
      items = ranges.of<false>(bag.bag).block(own.row - bag.first);
    }
    const auto sum = combine_segments(from, columns, own.column, items, output.reduction, window);
    if (own.has_row) long_bags.sums_of<Accumulator<T>>(own.row, columns)[own.column] = sum;
  } else {
    const SegmentThread own(segments, columns);
    const ItemRange items = ranges.of<false>(own.row);
    const bool is_long = own.has_row && items.blocks() > 1;
    const ItemRange short_items{is_long || !own.has_row ? items.end : items.begin, items.end};
    Accumulator<T> sum[] = {
        combine_segments(from, columns, own.column, short_items, output.reduction, window)};
    if (own.has_row && !is_long)
      output.template store<T>(own.row, own.column, items.end - items.begin, sum);
    long_bags.list(is_long && own.column == 0, own.row, items, true);
  }
}

template <bool kOfLong>
void reduce(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    const BagOutput<RowColumns<1, false>> output{args.out,
                                                 args.out_step,
                                                 {LoopOffsets(args.columns), call.columns, true},
                                                 reduction_of(args.reduce, args.dtype)};
    const std::int64_t work = kOfLong ? long_bags.most_blocks : args.bags;
    launch(
        reduce_segments_kernel<T, kOfLong>,
        Grid{ceil_divide(work, kSegmentThreads / kWarp * (kWarp / call.columns)), kSegmentThreads},
        call.stream, bag_ranges(args), reinterpret_cast<const T*>(args.source), output, args.bags,
        long_bags);
  });
}

}  // namespace

bool are_contiguous_items(const GatherReduceCall& call) {
  // Longer rows, and those of vectors, are read whole by groups of threads.
  constexpr std::int64_t kMostColumns = 16;
  const GatherReduceArgs& args = call.args;
  bool are_single = false;
  visit_columns(call,
                [&]<class T, int kCount, bool kAny>(TypeTag<T>, const RowColumns<kCount, kAny>&) {
                  are_single = kCount == 1 && !kAny;
                });
  return are_single && args.index == nullptr && args.weights == nullptr &&
         call.columns <= kMostColumns && is_plain(args, args.item) && args.axis.ndim == 1 &&
         args.axis.stride[0][0] == call.columns * args.item &&
         (call.columns == 1 || args.columns.stride[kSourceColumn][0] == args.item);
}

void reduce_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  reduce<false>(call, long_bags);
}

void reduce_long_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  reduce<true>(call, long_bags);
}

}  // namespace gpukern::gpu
