// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few updates, in one kernel. Each thread block has a part of the keys: it reads all indices, sorts
// the updates of its keys, and combines or copies their values.

#include <algorithm>
#include <bit>

#include "cuda/common/join.cuh"
#include "cuda/scatter/combine_columns.cuh"
#include "cuda/scatter/few_entries.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBlock = static_cast<int>(kBlockValues);
/// A key with more updates is long: all threads load its values, since one would wait for each few.
constexpr int kMostOfGroup = 63;
/// Columns of a long key that are combined at a time, and the most values in shared memory.
template <class A>
constexpr int kMostWidth = 256 / static_cast<int>(sizeof(A));
template <class A>
constexpr int kStagedValues = 16384 / static_cast<int>(sizeof(A));

/// Values, or vectors of them, that a thread has in flight.
template <int kCount>
constexpr int kInFlight = kCount == 1 ? 8 : 4;

template <class W>
__global__ void __launch_bounds__(kFewThreads)
    put_few_kernel(const __grid_constant__ KeyOf key_of,
                   const __grid_constant__ UpdateValues values,
                   const __grid_constant__ TargetElements elements,
                   const __grid_constant__ UpdateColumns<kWordsInFlight, true> words, int count,
                   ThreadGroups threads) {
  extern __shared__ __align__(16) std::byte memory[];
  SharedLayout layout(memory);
  Entries entries(layout, count);
  entries.load(key_of);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits)
    if (entries.is_last(at))
      copy_words<W>(values.at(entries.entry[at].update()), elements.at(entries.key(at)), words,
                    threads);
}

/// In shared memory: the long keys, and what is combined of one. All columns are those of a part of
/// `width`, a power of two.
template <class A>
class LongSums {
 public:
  int* number;
  int* first;  ///< entry of each
  int width;
  A* combined;  ///< by block of values and column
  A* staged;

  GPUKERN_HOST_DEVICE LongSums(SharedLayout& layout, int count, int row_width)
      : number(layout.take<int>(1)),
        first(layout.take<int>(count / (kMostOfGroup + 1))),
        width(row_width),
        combined(layout.take<A>(most_blocks(count) * width)),
        staged(layout.take<A>(most_staged(count))) {}

 private:
  [[nodiscard]] static GPUKERN_HOST_DEVICE int most_blocks(int count) { return count / kBlock + 1; }
  /// With a place more for each block.
  [[nodiscard]] GPUKERN_HOST_DEVICE int most_staged(int count) const {
    if (count <= kMostOfGroup) return 0;
    int blocks = 1;
    while (blocks < most_blocks(count)) blocks *= 2;
    const int values = blocks * kBlock * width;
    return (values < kStagedValues<A> ? values : kStagedValues<A>)+blocks;
  }
};

/// By a thread block: combines the values of a long key, whose first one is the element. Each
/// thread has a block of values of a column. Where there are few of these, all threads load values
/// to shared memory first, parts of several blocks at a time.
template <class T, int kCount, bool kAny>
__device__ void combine_long(const Entries& entries, int first, const UpdateValues& values,
                             std::byte* row, const UpdateColumns<kCount, kAny>& columns,
                             const CompactReduction& reduction,
                             const LongSums<Accumulator<T>>& sums) {
  using A = Accumulator<T>;
  constexpr int kTogether = 8;
  const UpdateNumbers updates{entries.entry + first};
  const int number = entries.count_from(first) + 1;
  const int blocks = (number + kBlock - 1) / kBlock;
  const int width = sums.width;
  const int own = static_cast<int>(threadIdx.x) % width;
  const int group = static_cast<int>(threadIdx.x) / width;
  const int groups = kFewThreads / width;
  int together = 1;  // blocks
  while (together < blocks && together < groups) together *= 2;
  const bool is_staged = columns.is_aligned() && values.updates.is_regular() &&
                         (blocks < 4 || blocks * width < kFewThreads / 4);
  const int part_bits = __ffs(min(kStagedValues<A> / (width * together), kBlock)) - 1;
  const int part = 1 << part_bits;
  const int pitch = part * width + 1;  // no bank conflicts
  const std::int64_t step = values.updates.step(0);
  for (std::int64_t begin = columns.begin(); begin < columns.end(); begin += width) {
    const bool active = begin + own < columns.end();
    const ColumnOffsets column = columns.at(min(begin + own, columns.end() - 1));
    for (int block = group; !is_staged && active && block < blocks; block += groups) {
      // The element is the first value of the first block.
      const auto begin_of = [number](int of) { return min(max(of * kBlock - 1, 0), number - 1); };
      A sum[1];
      combine_columns<T, kInFlight<1>>(columns.only(begin + own), block == 0 ? row : nullptr,
                                       values, UpdateNumbers{updates.entry + begin_of(block)},
                                       begin_of(block + 1) - begin_of(block), reduction, sum);
      sums.combined[block * width + own] = sum[0];
    }
    for (int block = 0; is_staged && block < blocks; block += together) {
      A sum{};
      for (int in_block = 0; in_block < kBlock && block * kBlock + in_block < number;
           in_block += part) {
#pragma unroll 1
        for (int r = group; r < together * part; r += groups * kTogether) {
          T loaded[kTogether];
#pragma unroll
          for (int k = 0; k < kTogether; ++k) {
            const int at = r + k * groups;
            const int value =
                min((block + (at >> part_bits)) * kBlock + in_block + (at & part - 1), number - 1);
            const std::byte* const from =
                value == 0 ? row + column.to
                           : values.values + (static_cast<std::int64_t>(updates[value - 1]) * step +
                                              column.from);
            loaded[k] = *reinterpret_cast<const T*>(from);
          }
#pragma unroll
          for (int k = 0; k < kTogether; ++k) {
            const int at = r + k * groups;
            if (at < together * part)
              sums.staged[(at >> part_bits) * pitch + (at & part - 1) * width + own] =
                  widened(loaded[k]);
          }
        }
        __syncthreads();
        const int left = min(number - (block + group) * kBlock - in_block, part);
        if (active && group < together && left > 0) {
          const A* const value = sums.staged + group * pitch + own;
          const int begins = in_block == 0 ? 1 : 0;
          if (begins != 0) sum = *value;
          sum = combine_values(reduction, sum, left - begins,
                               [&](int v) { return value[(begins + v) * width]; });
          sums.combined[(block + group) * width + own] = sum;
        }
        __syncthreads();
      }
    }
    __syncthreads();
    if (active && group == 0) {
      const A sum[1] = {join_blocks<A>(
          [&](std::int64_t b) { return sums.combined[b * width + own]; }, 0, blocks, reduction)};
      columns.only(begin + own).template store<T>(row, reduction.reduce, number, sum);
    }
    __syncthreads();
  }
}

/// Of vectors of kCount columns, or of single ones in any layout.
template <class T, int kCount>
__global__ void __launch_bounds__(kFewThreads, resident_blocks(sizeof(T) > 8 ? 1 : 2, kFewThreads))
    combine_few_kernel(const __grid_constant__ KeyOf key_of,
                       const __grid_constant__ UpdateValues values,
                       const __grid_constant__ TargetElements elements,
                       const __grid_constant__ UpdateColumns<kCount, kCount == 1> columns,
                       int count, ThreadGroups threads, int width,
                       const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  extern __shared__ __align__(16) std::byte memory[];
  SharedLayout layout(memory);
  Entries entries(layout, count);
  const LongSums<A> long_sums(layout, count, width);
  // A group combines a longer key, too, if its values cannot be staged.
  const bool may_stage = columns.is_aligned() && values.updates.is_regular();
  const int most_of_group = may_stage ? kMostOfGroup : kBlock - 1;
  if (threadIdx.x == 0) *long_sums.number = 0;
  entries.load(key_of);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits) {
    if (!entries.is_first(at)) continue;
    const int number = entries.count_from(at);
    if (number > most_of_group) {
      if (threads.lane() == 0) long_sums.first[atomicAdd(long_sums.number, 1)] = at;
      continue;
    }
    std::byte* const row = elements.at(entries.key(at));
    columns.visit(threads, [&](const ThreadColumns<kCount, kCount == 1>& own) {
      A sum[kCount];
      combine_columns<T, kInFlight<kCount>>(own, row, values, UpdateNumbers{entries.entry + at},
                                            number, reduction, sum);
      own.template store<T>(row, reduction.reduce, number + 1, sum);
    });
  }
  __syncthreads();
  for (int k = 0; k < *long_sums.number; ++k)
    combine_long<T>(entries, long_sums.first[k], values,
                    elements.at(entries.key(long_sums.first[k])), columns, reduction, long_sums);
}

/// Of fewer updates than a block has warps, each has several.
ThreadGroups few_groups(const ScatterCall& call, std::int64_t accesses) {
  const auto updates = std::bit_ceil(static_cast<std::uint64_t>(call.count));
  return groups_of(accesses, 1, std::max<std::uint64_t>(32, kFewThreads / updates));
}

/// Each block reads all indices: too many blocks would read more of them than values. Columns are
/// divided first, since few keys may have all updates.
template <int kCount, bool kAny>
Grid few_grid(const ScatterCall& call, UpdateColumns<kCount, kAny>& columns,
              const ThreadGroups& threads, std::size_t bytes) {
  constexpr int kLeastLanes = 16;
  const std::int64_t resident = 2 * device_facts().multiprocessors;
  const std::int64_t together = std::int64_t{threads.lanes()} * kCount;
  const std::int64_t parts = std::clamp<std::int64_t>(columns.count / together, 1, resident);
  const std::int64_t most = std::max<std::int64_t>(resident / (parts + 1), 1);
  const std::int64_t wanted =
      ceil_divide(call.count * std::max(threads.lanes(), kLeastLanes), kFewThreads);
  return divide_columns(
      columns, parts, together,
      {.blocks = std::min(wanted, most), .threads = kFewThreads, .shared_bytes = bytes});
}

template <class A>
std::size_t shared_bytes(int count, int width) {
  SharedLayout layout;
  const Entries entries(layout, count);
  const LongSums<A> long_sums(layout, count, width);
  return layout.bytes();
}

template <class T, int kCount>
void launch_combine(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const ThreadGroups threads = few_groups(call, ceil_divide(call.columns, kCount));
  const int width = join_width(call.columns, kMostWidth<Accumulator<T>>);
  auto columns = update_columns<kCount, kCount == 1>(args.columns, is_aligned(args, alignof(T)));
  const auto count = static_cast<int>(call.count);
  const std::size_t bytes = shared_bytes<Accumulator<T>>(count, width);
  const Grid grid = few_grid(call, columns, threads, bytes);
  launch(combine_few_kernel<T, kCount>, grid, call.stream, key_of(args), update_values(args),
         target_elements(args), columns, count, threads, width,
         CompactReduction{reduction_of(args.reduce, args.dtype)});
}

}  // namespace

bool has_few(const ScatterCall& call) {
  constexpr std::int64_t kMostColumns = 64;
  constexpr std::int64_t kMostValues = 1 << 18;
  constexpr std::int64_t kMostBytes = 1 << 22;     // of puts, whose items may be rows
  if (call.count <= kScatterFewRows) return true;  // by at most 27 KB of shared memory
  if (call.count > kScatterFew || call.columns > kMostColumns ||
      call.count * call.columns > kMostValues)
    return false;
  if (call.args.reduce == GPUKERN_REDUCE_NONE && call.count * call.args.row_bytes() > kMostBytes)
    return false;
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  if (call.args.reduce == GPUKERN_REDUCE_NONE) {
    SharedLayout layout;
    const Entries entries(layout, static_cast<int>(call.count));
    return layout.bytes() <= most;
  }
  using A = Complex<double>;  // the largest accumulator
  return shared_bytes<A>(static_cast<int>(call.count), join_width(call.columns, kMostWidth<A>)) <=
         most;
}

void scatter_few(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    const ScatterWords words = scatter_words(args);
    auto columns = update_columns<kWordsInFlight, true>(words.columns, true);
    const ThreadGroups threads = few_groups(call, ceil_divide(columns.count, kWordsInFlight));
    SharedLayout layout;
    const Entries entries(layout, static_cast<int>(call.count));
    const Grid grid = few_grid(call, columns, threads, layout.bytes());
    visit_word(words.bytes, [&](auto word) {
      launch(put_few_kernel<decltype(word)>, grid, call.stream, key_of(args), update_values(args),
             target_elements(args), columns, static_cast<int>(call.count), threads);
    });
    return;
  }
  // Most integers are combined by atomic operations.
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVector = std::is_integral_v<T> ? 1 : kVectorColumns<T>;
    if constexpr (kVector > 1) {
      if (has_column_vectors<T, kVector>(args, call.columns))
        return launch_combine<T, kVector>(call);
    }
    launch_combine<T, 1>(call);
  });
}

}  // namespace gpukern::gpu
