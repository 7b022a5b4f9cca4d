// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bags that are segments of contiguous rows of few elements. A thread combines a column of a
// segment, or of a block of a long one, in order. Of short segments, a warp copies those of all its
// threads to shared memory first, so that its loads are contiguous.
#include "cuda/common/word_copy.cuh"
#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kSegmentThreads = 128;

/// Contiguous words that a warp copies; each line has one more, so that segments of whole lines do
/// not all begin in one bank.
constexpr int kWindowWords = 256;
constexpr int kLineWords = 8;
struct Window {
  uint4 word[kWindowWords / kLineWords][kLineWords + 1];

  /// Copies the words that hold the bytes [begin, end), and returns where the first byte is.
  __device__ int copy(const std::byte* begin, const std::byte* end, const ByteRange& source) {
    const std::byte* const from = word_of(begin);
    const int words = (static_cast<int>(end - from) + kWordBytes - 1) / kWordBytes;
    for (int w = static_cast<int>(threadIdx.x) % kWarp; w < words; w += kWarp)
      copy_word_async(&word[w / kLineWords][w % kLineWords], from + w * kWordBytes, source);
    wait_for_copies();
    __syncwarp();
    return static_cast<int>(begin - from);
  }
  template <class T>
  [[nodiscard]] __device__ const T& element(int number) const {
    constexpr int kOfLine = kLineWords * kPerWord<T>;
    return reinterpret_cast<const T*>(word[number / kOfLine])[number % kOfLine];
  }
};

/// The rows that segments have.
template <class T>
struct SegmentRows {
  const T* first;
  std::int64_t count;
  int columns;

  [[nodiscard]] __device__ const std::byte* at(std::int64_t row) const {
    return reinterpret_cast<const std::byte*>(first + row * columns);
  }
  [[nodiscard]] __device__ ByteRange bytes() const { return {at(0), at(count)}; }
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

/// Which of `number` segments, or blocks of long ones, a thread has, and which column. Neighbouring
/// threads have the columns of one of them.
struct SegmentThread {
  std::int64_t segment;
  int column;
  bool is_active;  ///< if not, `segment` is the last one of the warp, or of all

  __device__ SegmentThread(std::int64_t number, int columns) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int each = columns == 1 ? kWarp : kWarp / columns;
    const int own = columns == 1 ? lane : lane / columns;
    const std::int64_t warp =
        static_cast<std::int64_t>(blockIdx.x) * (kSegmentThreads / kWarp) + threadIdx.x / kWarp;
    const std::int64_t first = warp * each;
    segment = min(first + min(own, each - 1), number - 1);
    column = lane - own * columns;
    is_active = own < each && first + own < number;
  }
};

/// Combines a column of at most a block of rows, from global memory.
template <class T>
__device__ void combine_directly(const SegmentRows<T>& rows, int column, const ItemRange& range,
                                 const Reduction& reduction, Accumulator<T>& sum) {
  const auto* const from = rows.first + range.begin * rows.columns + column;
  const std::int64_t count = range.end - range.begin;
  with_kind(reduction, [&](const Reduction& kind) {
    if (rows.columns == 1)
      combine_vectors(from, from + count, kind, sum);
    else
      combine_strided(from, count, rows.columns, kind, sum);
  });
}

/// The same of short segments; all threads of the warp call this.
template <class T>
__device__ void combine_together(const SegmentRows<T>& rows, int column, const ItemRange& range,
                                 const Reduction& reduction, Accumulator<T>& sum, Window& window) {
  const auto of_lane = [](std::int64_t value, int lane) {
    return std::int64_t{__shfl_sync(kAllLanes, static_cast<long long>(value), lane)};
  };
  const std::int64_t begin = of_lane(range.begin, 0);
  const std::int64_t end = of_lane(range.end, kWarp - 1);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t next = of_lane(range.begin, lane + 1);
  const bool is_followed = next == range.end || next == range.begin || lane == kWarp - 1;
  const bool fits = begin < end && rows.at(end) - word_of(rows.at(begin)) <=
                                       std::int64_t{kWindowWords} * kWordBytes;
  if (!__all_sync(kAllLanes, is_followed && fits))
    return combine_directly(rows, column, range, reduction, sum);
  const int first =
      window.copy(rows.at(begin), rows.at(end), rows.bytes()) / static_cast<int>(sizeof(T)) +
      column;
  const int own_begin = first + static_cast<int>(range.begin - begin) * rows.columns;
  // Offsets may change during a call, and differ between the threads of a segment.
  const int own_end = first + static_cast<int>(min(range.end, end) - begin) * rows.columns;
  with_kind(reduction, [&](const Reduction& kind) {
#pragma unroll 4
    for (int e = own_begin; e < own_end; e += rows.columns)
      sum = combine(kind, sum, widened(window.element<T>(e)));
  });
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads, 8)
    reduce_segments_kernel(const __grid_constant__ BagRanges ranges,
                           const __grid_constant__ SegmentRows<T> rows,
                           const __grid_constant__ BagOutput<RowColumns<1, false>> output,
                           std::int64_t segments, LongBags long_bags) {
  __shared__ Window windows[kSegmentThreads / kWarp];
  const SegmentThread own(segments, rows.columns);
  const ItemRange items = ranges.of<false>(own.segment);
  const bool is_long = own.is_active && items.blocks() > 1;
  const ItemRange range{is_long || !own.is_active ? items.end : items.begin, items.end};
  Accumulator<T> sum[] = {identity<Accumulator<T>>(output.reduction)};
  combine_together(rows, own.column, range, output.reduction, sum[0], windows[threadIdx.x / kWarp]);
  if (own.is_active && !is_long)
    output.template store<T>(own.segment, own.column, items.end - items.begin, sum);
  long_bags.list(is_long && own.column == 0, own.segment, items, true);
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads, 8)
    reduce_segment_blocks_kernel(const __grid_constant__ BagRanges ranges,
                                 const __grid_constant__ SegmentRows<T> rows,
                                 const __grid_constant__ Reduction reduction, LongBags long_bags) {
  if (long_bags.is_void()) return;
  const SegmentThread own(long_bags.blocks(), rows.columns);
  if (!own.is_active) return;
  const LongBag& bag = long_bags.bag[long_bags.bag_of(own.segment)];
  auto sum = identity<Accumulator<T>>(reduction);
  combine_directly(rows, own.column, ranges.of<false>(bag.bag).block(own.segment - bag.first),
                   reduction, sum);
  long_bags.sums_of<Accumulator<T>>(own.segment, rows.columns)[own.column] = sum;
}

Grid grid_of(std::int64_t segments, std::int64_t columns) {
  return {ceil_divide(segments, kSegmentThreads / kWarp * (kWarp / columns)), kSegmentThreads};
}

template <class T>
SegmentRows<T> rows_of(const GatherReduceCall& call) {
  return {reinterpret_cast<const T*>(call.args.source), call.args.count,
          static_cast<int>(call.columns)};
}

}  // namespace

bool are_segments(const GatherReduceCall& call) {
  // Longer rows, and those of vectors, are read whole by groups of threads.
  constexpr std::int64_t kMostColumns = 16;
  const GatherReduceArgs& args = call.args;
  bool has_vectors = false;
  visit_columns(call,
                [&]<class T, int kCount, bool kAny>(TypeTag<T>, const RowColumns<kCount, kAny>&) {
                  has_vectors = kCount > 1;
                });
  return !has_vectors && args.index == nullptr && args.weights == nullptr &&
         call.columns <= kMostColumns && is_plain(args, args.item) &&
         args.columns.contiguous(kSourceColumn, args.item) &&
         args.axis.contiguous(0, call.columns * args.item);
}

void reduce_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    const BagOutput<RowColumns<1, false>> output{args.out,
                                                 args.out_step,
                                                 {LoopOffsets(args.columns), call.columns, true},
                                                 reduction_of(args.reduce, args.dtype)};
    launch(reduce_segments_kernel<T>, grid_of(args.bags, call.columns), call.stream,
           bag_ranges(args), rows_of<T>(call), output, args.bags, long_bags);
  });
}

void reduce_long_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(reduce_segment_blocks_kernel<T>, grid_of(long_bags.most_blocks, call.columns),
           call.stream, bag_ranges(args), rows_of<T>(call), reduction_of(args.reduce, args.dtype),
           long_bags);
  });
}

}  // namespace gpukern::gpu
