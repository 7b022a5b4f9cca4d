// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few updates, in one kernel. Each thread block has a part of the keys: it reads all indices, sorts
// the updates of its keys, and combines or copies their values.

#include "cuda/common/join.cuh"
#include "cuda/scatter/combine_columns.cuh"
#include "cuda/scatter/few_entries.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBlock = static_cast<int>(kBlockValues);
/// Columns that are joined at a time.
template <class A>
constexpr int kMostWidth = 256 / static_cast<int>(sizeof(A));
/// The blocks of a single value's key that are loaded at a time.
template <class A>
constexpr int kLoadedBlocks = 16384 / static_cast<int>(kBlock * sizeof(A));

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

/// Where a block begins among the `count` updates of a key, whose first value is the element.
__device__ int begin_of(int block, int count) { return min(max(block * kBlock - 1, 0), count); }

/// In shared memory: the keys with several blocks of values, and what is combined of one.
template <class A>
class LongOnes {
 public:
  int* number;
  int* first;       ///< entry of each
  int width;        ///< of rows: columns at a time
  A* combined;      ///< by block and column
  int most_loaded;  ///< blocks of a key's single values at a time
  A* value;

  GPUKERN_HOST_DEVICE LongOnes(SharedLayout& layout, int count, int row_width, bool is_single)
      : number(layout.take<int>(1)),
        first(layout.take<int>(count / kBlock)),
        width(row_width),
        combined(layout.take<A>((count / kBlock + 1) * width)),
        most_loaded(count / kBlock < kLoadedBlocks<A> ? count / kBlock + 1 : kLoadedBlocks<A>),
        value(layout.take<A>(is_single && count >= kBlock ? place_of(most_loaded * kBlock) : 0)) {}

  /// Combines the blocks of single values: all threads load them, and a few combine.
  template <class T>
  __device__ void combine_single(const UpdateNumbers& updates, int count,
                                 const UpdateValues& values, A element, bool aligned,
                                 const CompactReduction& reduction) const {
    const auto thread = static_cast<int>(threadIdx.x);
    const int blocks = count / kBlock + 1;
    for (int b = 0; b < blocks; b += most_loaded) {
      const int begin = begin_of(b, count);
      const int end = begin_of(b + most_loaded, count);
      const auto keep = [&](int i, const std::byte* from, bool is_aligned) {
        value[place_of(i + 1 - b * kBlock)] = widened(load_element<T>(from, is_aligned));
      };
      if (aligned && values.updates.is_regular()) {
        const std::int64_t step = values.updates.step(0);
#pragma unroll 8
        for (int i = begin + thread; i < end; i += kFewThreads)
          keep(i, values.values + static_cast<std::int64_t>(updates[i]) * step, true);
      } else {
#pragma unroll 1
        for (int i = begin + thread; i < end; i += kFewThreads)
          keep(i, values.at(updates[i]), aligned);
      }
      __syncthreads();
      const int own = b + thread;
      if (thread < most_loaded && own < blocks) {
        // The element is the first value of the first block.
        const A* const at = value + place_of(thread * kBlock);
        const A sum = own == 0 ? element : *at;
        combined[own] = combine_values(reduction, sum, min(kBlock, count + 1 - own * kBlock) - 1,
                                       [&](int v) { return at[1 + v]; });
      }
      __syncthreads();
    }
  }

 private:
  /// Blocks are apart, so that those who combine them access other banks.
  [[nodiscard]] static GPUKERN_HOST_DEVICE int place_of(int i) { return i + i / kBlock; }
};

/// By a thread block: combines the blocks of values of a key and joins them.
template <class T, int kCount, bool kAny>
__device__ void combine_long(const Entries& entries, int first, const UpdateValues& values,
                             std::byte* row, const UpdateColumns<kCount, kAny>& columns,
                             const CompactReduction& reduction,
                             const LongOnes<Accumulator<T>>& long_ones) {
  using A = Accumulator<T>;
  const int number = entries.count_from(first);
  const int blocks = number / kBlock + 1;
  const int width = long_ones.width;
  const int own = static_cast<int>(threadIdx.x) % width;
  A* const combined = long_ones.combined;
  const bool is_single = columns.count == 1;
  if (is_single)
    long_ones.template combine_single<T>(UpdateNumbers{entries.entry + first}, number, values,
                                         widened(load_element<T>(row, columns.is_aligned())),
                                         columns.is_aligned(), reduction);
  for (std::int64_t begin = columns.begin(); begin < columns.end(); begin += width) {
    const std::int64_t column = begin + own;
    const bool active = column < columns.end();
    for (int b = static_cast<int>(threadIdx.x) / width; !is_single && active && b < blocks;
         b += kFewThreads / width) {
      A sum[1];
      combine_columns<T, kInFlight<1>>(columns.only(column), b == 0 ? row : nullptr, values,
                                       UpdateNumbers{entries.entry + first + begin_of(b, number)},
                                       begin_of(b + 1, number) - begin_of(b, number), reduction,
                                       sum);
      combined[b * width + own] = sum[0];
    }
    __syncthreads();
    if (active && static_cast<int>(threadIdx.x) < width) {
      const A sum[1] = {join_blocks<A>([&](std::int64_t b) { return combined[b * width + own]; }, 0,
                                       blocks, reduction)};
      columns.only(column).template store<T>(row, reduction.reduce, number + 1, sum);
    }
    __syncthreads();
  }
}

template <class T, int kCount, bool kAny>
__global__ void __launch_bounds__(kFewThreads, resident_blocks(sizeof(T) > 8 ? 1 : 2, kFewThreads))
    combine_few_kernel(const __grid_constant__ KeyOf key_of,
                       const __grid_constant__ UpdateValues values,
                       const __grid_constant__ TargetElements elements,
                       const __grid_constant__ UpdateColumns<kCount, kAny> columns, int count,
                       ThreadGroups threads, int width,
                       const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  extern __shared__ __align__(16) std::byte memory[];
  SharedLayout layout(memory);
  Entries entries(layout, count);
  const LongOnes<A> long_ones(layout, count, width, columns.count == 1);
  if (threadIdx.x == 0) *long_ones.number = 0;
  entries.load(key_of);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits) {
    if (!entries.is_first(at)) continue;
    const int number = entries.count_from(at);
    if (number >= kBlock) {
      if (threads.lane() == 0) long_ones.first[atomicAdd(long_ones.number, 1)] = at;
      continue;
    }
    std::byte* const row = elements.at(entries.key(at));
    columns.visit(threads, [&](const ThreadColumns<kCount, kAny>& own) {
      A sum[kCount];
      combine_columns<T, kInFlight<kCount>>(own, row, values, UpdateNumbers{entries.entry + at},
                                            number, reduction, sum);
      own.template store<T>(row, reduction.reduce, number + 1, sum);
    });
  }
  __syncthreads();
  for (int k = 0; k < *long_ones.number; ++k)
    combine_long<T>(entries, long_ones.first[k], values,
                    elements.at(entries.key(long_ones.first[k])), columns, reduction, long_ones);
}

/// Of fewer updates than a block has warps, each has several.
ThreadGroups few_groups(const ScatterCall& call, std::int64_t accesses) {
  const auto updates = std::bit_ceil(static_cast<std::uint64_t>(call.count));
  return groups_of(accesses, 1, std::max<std::uint64_t>(32, kFewThreads / updates));
}

/// Each block reads all indices: too many blocks would read more of them than values.
Grid few_grid(const ScatterCall& call, const ThreadGroups& threads, std::size_t bytes) {
  constexpr int kLeastLanes = 16;
  const std::int64_t wanted =
      ceil_divide(call.count * std::max(threads.lanes(), kLeastLanes), kFewThreads);
  return {.blocks = std::min<std::int64_t>(wanted, device_facts().multiprocessors),
          .threads = kFewThreads,
          .shared_bytes = bytes};
}

template <class A>
std::size_t shared_bytes(int count, int width, bool is_single) {
  SharedLayout layout;
  const Entries entries(layout, count);
  const LongOnes<A> long_ones(layout, count, width, is_single);
  return layout.bytes();
}

template <class T, int kCount, bool kAny>
void launch_combine(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const ThreadGroups threads = few_groups(call, ceil_divide(call.columns, kCount));
  const int width = join_width(call.columns, kMostWidth<Accumulator<T>>);
  auto columns = update_columns<kCount, kAny>(args.columns, is_aligned(args, alignof(T)));
  const auto count = static_cast<int>(call.count);
  const std::size_t bytes = shared_bytes<Accumulator<T>>(count, width, call.columns == 1);
  const Grid grid = divide_columns(columns, threads, few_grid(call, threads, bytes));
  launch(combine_few_kernel<T, kCount, kAny>, grid, call.stream, key_of(args), update_values(args),
         target_elements(args), columns, count, threads, width,
         CompactReduction{reduction_of(args.reduce, args.dtype)});
}

}  // namespace

bool has_few(const ScatterCall& call) {
  constexpr std::int64_t kMostColumns = 64;
  constexpr std::int64_t kMostValues = 1 << 18;
  constexpr std::int64_t kMostBytes = 1 << 22;     // of puts, whose items may be rows
  if (call.count <= kScatterFewRows) return true;  // by at most 25 KB of shared memory
  if (call.count > kScatterFew || call.columns > kMostColumns ||
      call.count * call.columns > kMostValues)
    return false;
  if (call.args.reduce == GPUKERN_REDUCE_NONE && call.count * call.args.row_bytes() > kMostBytes)
    return false;
  using A = Complex<double>;  // the largest accumulator
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  return shared_bytes<A>(static_cast<int>(call.count), join_width(call.columns, kMostWidth<A>),
                         call.columns == 1) <= most;
}

void scatter_few(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    const ScatterWords words = scatter_words(args);
    auto columns = update_columns<kWordsInFlight, true>(words.columns, true);
    const ThreadGroups threads = few_groups(call, ceil_divide(columns.count, kWordsInFlight));
    SharedLayout layout;
    const Entries entries(layout, static_cast<int>(call.count));
    const Grid grid = divide_columns(columns, threads, few_grid(call, threads, layout.bytes()));
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
        return launch_combine<T, kVector, false>(call);
      if (call.columns > 1) return launch_combine<T, kVector, true>(call);
    }
    launch_combine<T, 1, true>(call);
  });
}

}  // namespace gpukern::gpu
