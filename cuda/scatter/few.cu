// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few updates, in one kernel. Each thread block has a part of the keys: it reads all indices, sorts
// the updates of its keys, and combines or copies their values.

#include "cuda/common/join.cuh"
#include "cuda/scatter/combine_columns.cuh"
#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kMost = static_cast<int>(kScatterFew);
constexpr int kBlock = static_cast<int>(kBlockValues);
constexpr int kMostBlocks = kMost / kBlock + 1;  // of one key, with the element itself
/// Columns that are joined at a time.
template <class A>
constexpr int kMostWidth = 256 / static_cast<int>(sizeof(A));
/// The blocks of a single value's key that are loaded at a time.
template <class A>
constexpr int kLoadedBlocks = 8192 / static_cast<int>(kBlock * sizeof(A));

constexpr int kFewThreads = 512;

/// Accesses to values, and indices, that a thread has in flight.
template <int kCount>
constexpr int kInFlight = kCount == 1 ? 8 : 2;
constexpr int kIndicesInFlight = 2;

/// An update and its key, which numbers an element of the target: 48 bits hold it.
struct Entry {
  static constexpr int kUpdateBits = 16;
  static_assert(kMost <= 1 << kUpdateBits);
  std::uint64_t bits;

  [[nodiscard]] __device__ std::uint64_t key() const { return bits >> kUpdateBits; }
  [[nodiscard]] __device__ std::uint64_t update() const {
    return bits & ((std::uint64_t{1} << kUpdateBits) - 1);
  }
};

/// In shared memory: the key that is the most frequent in a sample, and a bit for each of its
/// updates.
struct FrequentKey {
  static constexpr int kWords = kMost / 32;
  static constexpr int kLaneWords = kWords / 32;

  std::uint64_t key;
  int others;
  std::uint32_t bits[kWords];
  int before[kWords];  ///< bits in the words before

  /// Moves its entries to the front, in order, and returns their number. All threads of the block
  /// call this.
  __device__ int move_first(Entry* entry, int number) {
    const auto thread = static_cast<int>(threadIdx.x);
    for (int w = thread; w < kWords; w += kFewThreads) bits[w] = 0;
    if (thread < 32) sample(entry, number);
    __syncthreads();
    constexpr int kEach = kMost / kFewThreads;
    Entry own[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int at = thread + k * kFewThreads;
      if (at >= number) continue;
      own[k] = entry[at];
      if (own[k].key() == key) atomicOr(bits + own[k].update() / 32, 1U << own[k].update() % 32);
    }
    __syncthreads();
    if (thread < 32) count();
    __syncthreads();
    const int all = before[kWords - 1] + __popc(bits[kWords - 1]);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (thread + k * kFewThreads >= number) continue;
      const auto update = static_cast<int>(own[k].update());
      const std::uint32_t lower = bits[update / 32] & ((1U << update % 32) - 1);
      const bool is_own = own[k].key() == key;
      entry[is_own ? before[update / 32] + __popc(lower) : all + atomicAdd(&others, 1)] = own[k];
    }
    __syncthreads();
    return all;
  }

 private:
  // By one warp.
  __device__ void sample(const Entry* entry, int number) {
    const auto lane = static_cast<int>(threadIdx.x);
    const std::uint64_t own = entry[number * lane / 32].key();
    const unsigned equal = __match_any_sync(~0U, static_cast<unsigned long long>(own));
    int most = __popc(equal) << 5 | lane;
    for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(~0U, most, step));
    if (lane == (most & 31)) key = own;
    if (lane == 0) others = 0;
  }
  __device__ void count() {
    const auto lane = static_cast<int>(threadIdx.x);
    int own = 0;
    for (int w = 0; w < kLaneWords; ++w) own += __popc(bits[lane * kLaneWords + w]);
    int sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const int lower = __shfl_up_sync(~0U, sum, step);
      if (lane >= step) sum += lower;
    }
    sum -= own;
    for (int w = lane * kLaneWords; w < (lane + 1) * kLaneWords; ++w) {
      before[w] = sum;
      sum += __popc(bits[w]);
    }
  }
};

/// In shared memory: the updates of this thread block, by key and then in order; a frequent key may
/// come first.
struct Entries {
  Entry entry[kMost];
  int number;
  FrequentKey frequent;

  [[nodiscard]] __device__ std::uint64_t key(int at) const { return entry[at].key(); }
  [[nodiscard]] __device__ bool is_first(int at) const { return at == 0 || key(at - 1) != key(at); }
  [[nodiscard]] __device__ bool is_last(int at) const {
    return at + 1 == number || key(at + 1) != key(at);
  }

  /// The number of updates of a key, from the first one on.
  [[nodiscard]] __device__ int count_from(int first) const {
    const auto is_equal = [&](int count) {
      return first + count < number && key(first + count) == key(first);
    };
    int low = 1;
    int step = 1;
    for (; is_equal(low + step - 1); step *= 2) low += step;
    for (; step > 0; step /= 2)
      if (is_equal(low + step - 1)) low += step;
    return low;
  }

  /// All threads of the block call this.
  __device__ void load(const KeyOf& key_of, int count) {
    if (threadIdx.x == 0) number = 0;
    __syncthreads();
    for (int begin = static_cast<int>(threadIdx.x); begin < count;
         begin += kFewThreads * kIndicesInFlight) {
      std::int64_t key[kIndicesInFlight];
      key_of.find(begin, kFewThreads, count, key);
#pragma unroll
      for (int k = 0; k < kIndicesInFlight; ++k)
        if (key[k] >= 0 && is_own(key[k]))
          entry[atomicAdd(&number, 1)] = {static_cast<std::uint64_t>(key[k]) << Entry::kUpdateBits |
                                          static_cast<unsigned>(begin + k * kFewThreads)};
    }
    __syncthreads();
    // The updates of one key would take most of the sort.
    constexpr int kMany = 128;
    sort(number > kMany ? frequent.move_first(entry, number) : 0);
  }

 private:
  [[nodiscard]] static __device__ bool is_own(std::int64_t key) {
    return __umulhi(hash_of(key), gridDim.x) == blockIdx.x;
  }

  /// A bitonic sort (Knuth, The Art of Computer Programming, volume 3, section 5.3.4) of the
  /// entries from `first` on: CUB's sorts would be most of the code. With the first step of a run
  /// mirrored, all pairs are sorted upwards, and those with an entry past the end are left out.
  __device__ void sort(int first) {
    Entry* const rest = entry + first;
    const int count = number - first;
    int padded = 1;
    while (padded < count) padded *= 2;
    const auto thread = static_cast<int>(threadIdx.x);
    for (int run = 2; run <= padded; run *= 2) {
      for (int step = run / 2; step > 0; step /= 2) {
        for (int pair = thread; pair < padded / 2; pair += kFewThreads) {
          const int low = 2 * pair - (pair & (step - 1));
          const int high = step == run / 2 ? low ^ (run - 1) : low + step;
          if (high >= count) continue;
          const std::uint64_t a = rest[low].bits;
          const std::uint64_t b = rest[high].bits;
          rest[low].bits = min(a, b);
          rest[high].bits = max(a, b);
        }
        // The pairs of a warp are within 64 entries.
        if (step > 32 || (step == 1 && run > 32))
          __syncthreads();
        else
          __syncwarp();
      }
    }
    __syncthreads();
  }
};

/// The numbers of consecutive updates.
struct UpdateNumbers {
  const Entry* entry;

  __device__ std::uint64_t operator[](int at) const { return entry[at].update(); }
};

template <class W>
__global__ void __launch_bounds__(kFewThreads)
    put_few_kernel(const __grid_constant__ KeyOf key_of,
                   const __grid_constant__ UpdateValues values,
                   const __grid_constant__ TargetElements elements,
                   const __grid_constant__ UpdateColumns<kWordsInFlight, true> words, int count,
                   ThreadGroups threads) {
  __shared__ Entries entries;
  entries.load(key_of, count);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits)
    if (entries.is_last(at))
      copy_words<W>(values.at(entries.entry[at].update()), elements.at(entries.key(at)), words,
                    threads);
}

/// The keys with several blocks of values.
template <class A>
struct LongOnes {
  int number;
  int first[kMost / kBlock];  ///< entry of each
  A block[kMostBlocks][kMostWidth<A>];
  A value[kLoadedBlocks<A> * kBlock];

  /// Combines the blocks of single values: all threads load them, and a few combine.
  template <class T, class Reducer>
  __device__ void combine_single(const UpdateNumbers& updates, int count,
                                 const UpdateValues& values, A element, bool aligned,
                                 const Reducer& reduction) {
    const auto thread = static_cast<int>(threadIdx.x);
    const auto begin_of = [&](int b) { return min(max(b * kBlock - 1, 0), count); };
    const int blocks = count / kBlock + 1;
    for (int b = 0; b < blocks; b += kLoadedBlocks<A>) {
      const int begin = begin_of(b);
      for (int i = begin + thread; i < begin_of(b + kLoadedBlocks<A>); i += kFewThreads)
        value[i - begin] = widened(load_element<T>(values.at(updates[i]), aligned));
      __syncthreads();
      const int own = b + thread;
      if (thread < kLoadedBlocks<A> && own < blocks) {
        int i = begin_of(own);
        A sum = own == 0 ? element : value[i++ - begin];
#pragma unroll 4
        for (; i < begin_of(own + 1); ++i) sum = combine(reduction, sum, value[i - begin]);
        block[own][0] = sum;
      }
      __syncthreads();
    }
  }
};

/// By a thread block: combines the blocks of values of a key and joins them.
template <class T, int kCount, bool kAny>
__device__ void combine_long(const Entries& entries, int first, const UpdateValues& values,
                             std::byte* row, const UpdateColumns<kCount, kAny>& columns, int width,
                             const CompactReduction& reduction,
                             LongOnes<Accumulator<T>>& long_ones) {
  using A = Accumulator<T>;
  const int number = entries.count_from(first);
  const int blocks = number / kBlock + 1;
  const auto begin_of = [&](int b) { return min(max(b * kBlock - 1, 0), number); };
  const int own = static_cast<int>(threadIdx.x) % width;
  auto& block = long_ones.block;
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
                                       UpdateNumbers{entries.entry + first + begin_of(b)},
                                       begin_of(b + 1) - begin_of(b), reduction, sum);
      block[b][own] = sum[0];
    }
    __syncthreads();
    if (active && static_cast<int>(threadIdx.x) < width) {
      const A sum[1] = {
          join_blocks<A, 1>([&](std::int64_t b) { return block[b][own]; }, 0, blocks, reduction)};
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
  __shared__ Entries entries;
  __shared__ alignas(LongOnes<A>) std::byte memory[sizeof(LongOnes<A>)];
  auto& long_ones = *reinterpret_cast<LongOnes<A>*>(memory);
  if (threadIdx.x == 0) long_ones.number = 0;
  entries.load(key_of, count);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits) {
    if (!entries.is_first(at)) continue;
    const int number = entries.count_from(at);
    if (number >= kBlock) {
      if (threads.lane() == 0) long_ones.first[atomicAdd(&long_ones.number, 1)] = at;
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
  for (int k = 0; k < long_ones.number; ++k)
    combine_long<T>(entries, long_ones.first[k], values,
                    elements.at(entries.key(long_ones.first[k])), columns, width, reduction,
                    long_ones);
}

/// Of fewer updates than a block has warps, each has several.
ThreadGroups few_groups(const ScatterCall& call, std::int64_t accesses) {
  const auto updates = std::bit_ceil(static_cast<std::uint64_t>(call.count));
  return groups_of(accesses, 1, std::max<std::uint64_t>(32, kFewThreads / updates));
}

/// Each block reads all indices: too many blocks would read more of them than values.
Grid few_grid(const ScatterCall& call, const ThreadGroups& threads) {
  constexpr int kLeastLanes = 16;
  return {.blocks = ceil_divide(call.count * std::max(threads.lanes(), kLeastLanes), kFewThreads),
          .threads = kFewThreads};
}

template <class T, int kCount, bool kAny>
void launch_combine(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const ThreadGroups threads = few_groups(call, ceil_divide(call.columns, kCount));
  const int width = join_width(call.columns, kMostWidth<Accumulator<T>>);
  auto columns = update_columns<kCount, kAny>(args.columns, is_aligned(args, alignof(T)));
  const Grid grid = divide_columns(columns, threads, few_grid(call, threads));
  launch(combine_few_kernel<T, kCount, kAny>, grid, call.stream, key_of(args), update_values(args),
         target_elements(args), columns, static_cast<int>(call.count), threads, width,
         CompactReduction{reduction_of(args.reduce, args.dtype)});
}

}  // namespace

void scatter_few(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    const ScatterWords words = scatter_words(args);
    auto columns = update_columns<kWordsInFlight, true>(words.columns, true);
    const ThreadGroups threads = few_groups(call, ceil_divide(columns.count, kWordsInFlight));
    const Grid grid = divide_columns(columns, threads, few_grid(call, threads));
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
