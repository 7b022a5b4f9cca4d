// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bags that are segments of contiguous rows of few elements. A thread combines a column of a
// segment, or of a block of a long one, in order. Of short segments, a warp copies those of all its
// threads to shared memory first, so that its loads are contiguous. Few segments of single elements
// have a thread block each, in one launch.
#include <algorithm>

#include "cuda/common/join.cuh"
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
  const std::byte* first;
  std::int64_t count;  ///< of a member of the batch
  int columns;
  Batch batch;

  /// The elements of a segment, of a member.
  struct Elements {
    const T* begin;
    const T* end;
  };
  [[nodiscard]] __device__ Elements of(const ItemRange& range, std::int64_t member) const {
    const auto* const base = reinterpret_cast<const T*>(first + member * batch.from);
    return {base + range.begin * columns, base + range.end * columns};
  }
  [[nodiscard]] __device__ ByteRange bytes() const {
    return {first, reinterpret_cast<const std::byte*>(of({0, count}, batch.count - 1).end)};
  }
};

/// Combines neighbouring elements, whose loads are vectors, kWords of them in flight.
template <class T, int kWords>
__device__ void combine_vectors(const T* from, const T* end, const auto& kind,
                                Accumulator<T>& sum) {
  using Loaded = Vector<T, kPerWord<T>>;
  constexpr int kInFlight = sizeof(T) < 4 ? 4 : kWords;
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
      Accumulator<T> value[kPerWord<T>];
#pragma unroll
      for (int e = 0; e < kPerWord<T>; ++e) value[e] = widened(vector[k].element[e]);
      sum = combine_in_order(kind, sum, value);
    }
  }
  for (from += count * kPerWord<T>; from < end; ++from) sum = combine(kind, sum, widened(*from));
}

/// The combination of neighbouring elements. Not inlined: it would make up most of a kernel's code.
template <class T, int kWords>
__device__ __noinline__ Accumulator<T> combined_elements(const T* from, const T* end,
                                                         Reduction reduction) {
  auto sum = identity<Accumulator<T>>(reduction);
  with_kind(reduction, [&](const auto& kind) { combine_vectors<T, kWords>(from, end, kind, sum); });
  return sum;
}

/// Which of `number` segments, or blocks of long ones, of which member a thread has, and which
/// column. Neighbouring threads have the columns of one of them.
struct SegmentThread {
  std::int64_t segment;
  std::int64_t member;
  int column;
  bool is_active;  ///< if not, `segment` is the last one of the warp, or of all

  __device__ SegmentThread(std::int64_t number, const Batch& batch, int columns) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int each = columns == 1 ? kWarp : kWarp / columns;
    const int place = columns == 1 ? lane : lane / columns;
    const std::int64_t warp =
        static_cast<std::int64_t>(blockIdx.x) * (kSegmentThreads / kWarp) + threadIdx.x / kWarp;
    const std::int64_t first = warp * each;
    const std::int64_t all = number * batch.count;
    const Batch::Member own = batch.member(min(first + min(place, each - 1), all - 1), number);
    segment = own.row;
    member = own.number;
    column = lane - place * columns;
    is_active = place < each && first + place < all;
  }
};

/// Combines a column of at most a block of rows, from global memory.
template <class T, int kWords>
__device__ Accumulator<T> combined_column(const typename SegmentRows<T>::Elements& segment,
                                          int columns, int column, const Reduction& reduction) {
  if (columns == 1) return combined_elements<T, kWords>(segment.begin, segment.end, reduction);
  Accumulator<T> sum[] = {identity<Accumulator<T>>(reduction)};
  combine_neighbours<T>(reinterpret_cast<const std::byte*>(segment.begin + column),
                        std::int64_t{columns} * static_cast<std::int64_t>(sizeof(T)),
                        static_cast<int>(segment.end - segment.begin) / columns, reduction, sum);
  return sum[0];
}

/// The same of short segments; all threads of the warp call this.
template <class T>
__device__ Accumulator<T> combined_together(const SegmentRows<T>& rows, int column,
                                            const typename SegmentRows<T>::Elements& segment,
                                            const Reduction& reduction, Window& window) {
  const auto of_lane = [](const T* pointer, int lane) {
    return reinterpret_cast<const T*>(
        __shfl_sync(kAllLanes, reinterpret_cast<unsigned long long>(pointer), lane));
  };
  const T* const begin = of_lane(segment.begin, 0);
  const T* const end = of_lane(segment.end, kWarp - 1);
  const auto* const bytes = reinterpret_cast<const std::byte*>(begin);
  const auto* const bytes_end = reinterpret_cast<const std::byte*>(end);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const T* const next = of_lane(segment.begin, lane + 1);
  const bool is_followed = next == segment.end || next == segment.begin || lane == kWarp - 1;
  const bool fits =
      begin < end && bytes_end - word_of(bytes) <= std::int64_t{kWindowWords} * kWordBytes;
  if (!__all_sync(kAllLanes, is_followed && fits))
    return combined_column<T, 8>(segment, rows.columns, column, reduction);
  const int first =
      window.copy(bytes, bytes_end, rows.bytes()) / static_cast<int>(sizeof(T)) + column;
  const int own_begin = first + static_cast<int>(segment.begin - begin);
  // Offsets may change during a call, and differ between the threads of a segment.
  const int own_end = first + static_cast<int>((segment.end < end ? segment.end : end) - begin);
  auto sum = identity<Accumulator<T>>(reduction);
  with_kind(reduction, [&](const auto& kind) {
#pragma unroll 4
    for (int e = own_begin; e < own_end; e += rows.columns)
      sum = combine(kind, sum, widened(window.element<T>(e)));
  });
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads, 8)
    reduce_segments_kernel(const __grid_constant__ BagRanges ranges,
                           const __grid_constant__ SegmentRows<T> rows,
                           const __grid_constant__ BagOutput<RowColumns<1, false>> output,
                           std::int64_t segments, LongBags long_bags) {
  __shared__ Window windows[kSegmentThreads / kWarp];
  wait_for_previous();
  launch_next();
  const SegmentThread own(segments, rows.batch, rows.columns);
  const ItemRange items = ranges.of<false>(own.segment);
  const bool is_long = own.is_active && items.blocks() > 1;
  const ItemRange range{is_long || !own.is_active ? items.end : items.begin, items.end};
  Accumulator<T> sum[] = {combined_together(rows, own.column, rows.of(range, own.member),
                                            output.reduction, windows[threadIdx.x / kWarp])};
  if (own.is_active && !is_long)
    output.template store<T>(own.segment,
                             own.member * rows.batch.to + output.columns.at(own.column).to,
                             items.end - items.begin, sum);
  long_bags.list(is_long && own.column == 0 && own.member == 0, own.segment, items, true);
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads, 4)
    reduce_segment_blocks_kernel(const __grid_constant__ BagRanges ranges,
                                 const __grid_constant__ SegmentRows<T> rows,
                                 const __grid_constant__ Reduction reduction, LongBags long_bags) {
  wait_for_previous();
  launch_next();
  if (long_bags.is_void() || long_bags.blocks() == 0) return;
  const SegmentThread own(long_bags.blocks(), rows.batch, rows.columns);
  if (!own.is_active) return;
  const LongBag& bag = long_bags.bag[long_bags.bag_of(own.segment)];
  const ItemRange range = ranges.of<false>(bag.bag).block(own.segment - bag.first);
  auto* const sums =
      long_bags.sums_of<Accumulator<T>>(own.segment, rows.batch.count * rows.columns);
  sums[own.member * rows.columns + own.column] =
      combined_column<T, 16>(rows.of(range, own.member), rows.columns, own.column, reduction);
}

/// Each thread block has a segment of single elements, which its threads load together where it is
/// one block; where it has several, each thread combines others.
template <class T>
__global__ void __launch_bounds__(kSegmentThreads)
    reduce_few_segments_kernel(const __grid_constant__ BagRanges ranges,
                               const __grid_constant__ SegmentRows<T> rows,
                               const __grid_constant__ BagOutput<RowColumns<1, false>> output,
                               std::int64_t segments) {
  using A = Accumulator<T>;
  __shared__ alignas(uint4) T loaded[kBlockValues];
  __shared__ A joined[kSegmentThreads];
  __shared__ ItemRange shared_range;
  wait_for_previous();
  launch_next();
  const Batch::Member own = rows.batch.member(blockIdx.x, segments);
  if (threadIdx.x == 0) shared_range = ranges.of<false>(own.row);
  __syncthreads();
  const ItemRange items = shared_range;
  const T* const first = rows.of(items, own.number).begin;
  const bool is_one_block = items.blocks() <= 1;
  if (is_one_block) {
    const auto count = static_cast<int>(items.end - items.begin);
    for (int e = static_cast<int>(threadIdx.x); e < count; e += kSegmentThreads)
      loaded[e] = first[e];
    __syncthreads();
  }
  const auto block = [&](std::int64_t number) {
    const ItemRange range = items.block(number);
    const T* const from = is_one_block ? loaded : first + (range.begin - items.begin);
    return combined_elements<T, 8>(from, from + (range.end - range.begin), output.reduction);
  };
  A sum[] = {join_by_threads<kSegmentThreads, 1>(block, max(items.blocks(), std::int64_t{1}), 1,
                                                 true, output.reduction, joined)};
  if (threadIdx.x == 0)
    output.template store<T>(own.row, own.number * rows.batch.to, items.end - items.begin, sum);
}

Grid grid_of(std::int64_t segments, std::int64_t columns, bool programmatic_launch) {
  return {ceil_divide(segments, kSegmentThreads / kWarp * (kWarp / columns)), kSegmentThreads, 0,
          programmatic_launch};
}

template <class T>
SegmentRows<T> rows_of(const GatherReduceCall& call) {
  return {call.args.source, call.args.count, static_cast<int>(call.columns), call.batch};
}

}  // namespace

bool are_few_segments(const GatherReduceCall& call) {
  // More, or longer ones, are combined faster by a thread each, in several launches. One segment
  // may have all items. Measured: benchmarks/notes/effects.md.
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 19;
  constexpr std::int64_t kMostItems = std::int64_t{1} << 17;
  constexpr std::int64_t kMostOfSegment = std::int64_t{1} << 15;  // on average
  const std::int64_t segments = call.args.bags * call.batch.count;
  return are_segments(call) && call.columns == 1 && segments <= 2 * resident_grid() &&
         call.args.count * call.batch.count <=
             std::min({kMostItems, kMostBytes / call.args.item, segments * kMostOfSegment});
}

bool are_segments(const GatherReduceCall& call) {
  // Longer rows, and those of vectors, are read whole by groups of threads.
  constexpr std::int64_t kMostColumns = 16;
  const GatherReduceArgs& args = call.args;
  bool has_vectors = false;
  visit_columns<false>(
      call, [&]<class T, int kCount, bool kAny>(TypeTag<T>, const RowColumns<kCount, kAny>&) {
        has_vectors = kCount > 1;
      });
  return !has_vectors && args.index == nullptr && args.weights == nullptr &&
         call.columns <= kMostColumns && is_plain(call, args.item) && call.batch.from >= 0 &&
         call.row.contiguous(kSourceColumn, args.item) &&
         args.axis.contiguous(0, call.columns * args.item);
}

void reduce_few_segments(const GatherReduceCall& call) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(reduce_few_segments_kernel<T>,
           Grid{args.bags * call.batch.count, kSegmentThreads, 0, true}, call.stream,
           bag_ranges(args), rows_of<T>(call), column_output(call), args.bags);
  });
}

void reduce_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(reduce_segments_kernel<T>, grid_of(args.bags * call.batch.count, call.columns, false),
           call.stream, bag_ranges(args), rows_of<T>(call), column_output(call), args.bags,
           long_bags);
  });
}

void reduce_long_segments(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    // A resident thread block of the previous kernel keeps its shared memory, which leaves less L1
    // cache: of many elements, that costs more than an early launch saves.
    constexpr std::int64_t kMostEarly = std::int64_t{1} << 21;
    const bool early = args.count * call.all_columns <= kMostEarly;
    launch(reduce_segment_blocks_kernel<T>,
           grid_of(long_bags.most_blocks * call.batch.count, call.columns, early), call.stream,
           bag_ranges(args), rows_of<T>(call), reduction_of(args.reduce, args.dtype), long_bags);
  });
}

}  // namespace gpukern::gpu
