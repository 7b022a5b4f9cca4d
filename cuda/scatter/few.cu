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

constexpr int kShortRow = 4;  // columns
constexpr int kBlock = static_cast<int>(kBlockValues);
/// Columns that are joined at a time.
template <class A>
constexpr int kMostWidth = 256 / static_cast<int>(sizeof(A));
/// The blocks of a single value's key that are loaded at a time.
template <class A>
constexpr int kLoadedBlocks = 16384 / static_cast<int>(kBlock * sizeof(A));

constexpr int kFewThreads = 512;

/// Accesses to values, and indices, that a thread has in flight.
template <int kCount>
constexpr int kInFlight = kCount == 1 ? 8 : 2;

/// An update and its key, which numbers an element of the target: 48 bits hold it.
struct Entry {
  static constexpr int kUpdateBits = 16;
  static_assert(kScatterFew <= 1 << kUpdateBits);
  std::uint64_t bits;

  [[nodiscard]] __device__ std::uint64_t key() const { return bits >> kUpdateBits; }
  [[nodiscard]] __device__ std::uint64_t update() const {
    return bits & ((std::uint64_t{1} << kUpdateBits) - 1);
  }
};

/// Divides the dynamic shared memory of a thread block. Without memory it only measures.
class SharedLayout {
 public:
  explicit GPUKERN_HOST_DEVICE SharedLayout(std::byte* memory = nullptr) : memory_(memory) {}
  template <class T>
  GPUKERN_HOST_DEVICE T* take(int count) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (count * sizeof(T) + 15) / 16 * 16;
    return reinterpret_cast<T*>(at);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

/// In shared memory: the updates of this thread block, by key and then in order. All its threads
/// call load().
struct Entries {
  struct Numbers {
    int entries;
    int others;
    std::uint64_t frequent;  ///< a key
  };

  int most;
  Entry* entry;
  // A bit for each update or, later, for those of the frequent key, and the bits in the words
  // before.
  std::uint32_t* bits;
  int* before;
  Numbers* numbers;
  int number = 0;

  GPUKERN_HOST_DEVICE Entries(SharedLayout& layout, int count)
      : most(count),
        entry(layout.take<Entry>(count)),
        bits(layout.take<std::uint32_t>(words())),
        before(layout.take<int>(words())),
        numbers(layout.take<Numbers>(1)) {}

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

  __device__ void load(const KeyOf& key_of) {
    for (int w = static_cast<int>(threadIdx.x); w < words(); w += kFewThreads) bits[w] = 0;
    if (threadIdx.x == 0) numbers->entries = 0;
    __syncthreads();
    if (key_of.is_plain())
      read_plain(key_of.index);
    else
      read(key_of);
    __syncthreads();
    number = numbers->entries;
    // The updates of one key would take most of the sort.
    const int others = number > kFewThreads / 2 ? move_last() : number;
    if (others <= kFewThreads)
      sort_by_rank(others);
    else
      sort(others);
  }

 private:
  [[nodiscard]] GPUKERN_HOST_DEVICE int words() const { return (most + 31) / 32; }
  [[nodiscard]] static __device__ bool is_own(std::int64_t key) {
    constexpr std::uint32_t kFactor = 0x9E3779B9U;  // Fibonacci hashing, as in hash_of()
    return __umulhi(static_cast<std::uint32_t>(key ^ key >> 32) * kFactor, gridDim.x) == blockIdx.x;
  }

  __device__ void read(const KeyOf& key_of) {
    constexpr int kTogether = 2;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int begin = static_cast<int>(threadIdx.x); begin - lane < most;
         begin += kFewThreads * kTogether) {
      std::int64_t key[kTogether];
      key_of.find(begin, kFewThreads, most, key);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) append(begin + k * kFewThreads, key[k]);
    }
  }

  __device__ void read_plain(const IndexReader& index) {
    constexpr int kTogether = 8;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int begin = static_cast<int>(threadIdx.x); begin - lane < most;
         begin += kFewThreads * kTogether) {
      std::int64_t loaded[kTogether];
      const auto load_as = [&]<class Raw>(Raw) {
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          const int update = min(begin + k * kFewThreads, most - 1);
          loaded[k] =
              as_index(reinterpret_cast<const Raw*>(index.data)[update], index.type.is_signed);
        }
      };
      if (index.type.bytes == 4)
        load_as(std::uint32_t{});
      else
        load_as(std::uint64_t{});
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int update = begin + k * kFewThreads;
        if (update - lane >= most) break;
        append(update, update < most ? index.resolve(loaded[k]) : -1);
      }
    }
  }

  /// Of the updates of a warp, those of this thread block.
  __device__ void append(int update, std::int64_t key) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool is_entry = key >= 0 && is_own(key);
    const unsigned of_warp = __ballot_sync(~0U, is_entry);
    if (of_warp == 0) return;
    int at = 0;
    if (lane == 0) {
      bits[update / 32] = of_warp;
      at = atomicAdd(&numbers->entries, __popc(of_warp));
    }
    at = __shfl_sync(~0U, at, 0) + __popc(of_warp & ((1U << lane) - 1));
    if (is_entry)
      entry[at] = {static_cast<std::uint64_t>(key) << Entry::kUpdateBits |
                   static_cast<unsigned>(update)};
  }

  /// Moves the entries of the most frequent key in a sample to the end, in order, and returns the
  /// number of the others.
  __device__ int move_last() {
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread < 32) sample();
    __syncthreads();
    const std::uint64_t frequent = numbers->frequent;
    constexpr int kEach = 8;
    for (int begin = thread; begin - thread < number; begin += kFewThreads * kEach) {
      Entry own[kEach];
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        if (begin + k * kFewThreads < number) own[k] = entry[begin + k * kFewThreads];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        if (begin + k * kFewThreads >= number || own[k].key() == frequent) continue;
        entry[atomicAdd(&numbers->others, 1)] = own[k];
        atomicAnd(bits + own[k].update() / 32, ~(1U << own[k].update() % 32));
      }
    }
    __syncthreads();
    if (thread < 32) count();
    __syncthreads();
    const int others = numbers->others;
#pragma unroll 4
    for (int update = thread; update < most; update += kFewThreads) {
      const std::uint32_t word = bits[update / 32];
      const std::uint32_t bit = 1U << update % 32;
      if ((word & bit) != 0)
        entry[others + before[update / 32] + __popc(word & (bit - 1))] = {
            frequent << Entry::kUpdateBits | static_cast<unsigned>(update)};
    }
    __syncthreads();
    return others;
  }
  // By one warp.
  __device__ void sample() {
    const auto lane = static_cast<int>(threadIdx.x);
    const std::uint64_t own = key(number * lane / 32);
    const unsigned equal = __match_any_sync(~0U, static_cast<unsigned long long>(own));
    int most_equal = __popc(equal) << 5 | lane;
    for (int step = 16; step > 0; step /= 2)
      most_equal = max(most_equal, __shfl_xor_sync(~0U, most_equal, step));
    if (lane == (most_equal & 31)) numbers->frequent = own;
    if (lane == 0) numbers->others = 0;
  }
  __device__ void count() {
    int all = 0;
    for (int begin = 0; begin < words(); begin += 32) {
      const int w = begin + static_cast<int>(threadIdx.x);
      const int own = w < words() ? __popc(bits[w]) : 0;
      int sum = own;
      for (int step = 1; step < 32; step *= 2) {
        const int lower = __shfl_up_sync(~0U, sum, step);
        if (threadIdx.x >= step) sum += lower;
      }
      if (w < words()) before[w] = all + sum - own;
      all += __shfl_sync(~0U, sum, 31);
    }
  }

  /// Each entry's place is the number of those below it.
  __device__ void sort_by_rank(int count) {
    const auto thread = static_cast<int>(threadIdx.x);
    Entry own{};
    int place = 0;
    if (thread < count) {
      own = entry[thread];
#pragma unroll 4
      for (int i = 0; i < count; ++i) place += entry[i].bits < own.bits ? 1 : 0;
    }
    __syncthreads();
    if (thread < count) entry[place] = own;
    __syncthreads();
  }

  /// A bitonic sort (Knuth, The Art of Computer Programming, volume 3, section 5.3.4) of the first
  /// entries: CUB's sorts would be most of the code. With the first step of a run mirrored, all
  /// pairs are sorted upwards, and those with an entry past the end are left out.
  __device__ void sort(int count) {
    int padded = 1;
    while (padded < count) padded *= 2;
    const auto thread = static_cast<int>(threadIdx.x);
    for (int run = 2; run <= padded; run *= 2) {
      for (int step = run / 2; step > 0; step /= 2) {
        for (int pair = thread; pair < padded / 2; pair += kFewThreads) {
          const int low = 2 * pair - (pair & (step - 1));
          const int high = step == run / 2 ? low ^ (run - 1) : low + step;
          if (high >= count) continue;
          const std::uint64_t a = entry[low].bits;
          const std::uint64_t b = entry[high].bits;
          entry[low].bits = min(a, b);
          entry[high].bits = max(a, b);
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
  extern __shared__ __align__(16) std::byte memory[];
  SharedLayout layout(memory);
  Entries entries(layout, count);
  entries.load(key_of);
  for (int at = threads.in_block(); at < entries.number; at += kFewThreads >> threads.bits)
    if (entries.is_last(at))
      copy_words<W>(values.at(entries.entry[at].update()), elements.at(entries.key(at)), words,
                    threads);
}

/// In shared memory: the keys with several blocks of values, and what is combined of one.
template <class A>
class LongOnes {
 public:
  int* number;
  int* first;       ///< entry of each
  int width;        ///< of rows: columns at a time
  A* combined;      ///< by block and column
  int most_loaded;  ///< blocks
  A* value;

  GPUKERN_HOST_DEVICE LongOnes(SharedLayout& layout, int count, int columns, bool is_single)
      : number(layout.take<int>(1)),
        first(layout.take<int>(count / kBlock)),
        width(columns),
        combined(layout.take<A>((count / kBlock + 1) * width)),
        most_loaded(count / kBlock < kLoadedBlocks<A> ? count / kBlock + 1 : kLoadedBlocks<A>),
        value(layout.take<A>(is_single && count >= kBlock ? place_of(most_loaded * kBlock) : 0)) {}

  /// Combines the blocks of single values: all threads load them, and a few combine.
  template <class T>
  __device__ void combine_single(const UpdateNumbers& updates, int count,
                                 const UpdateValues& values, A element, bool aligned,
                                 const CompactReduction& reduction) const {
    const auto thread = static_cast<int>(threadIdx.x);
    const auto begin_of = [&](int b) { return min(max(b * kBlock - 1, 0), count); };
    const int blocks = count / kBlock + 1;
    for (int b = 0; b < blocks; b += most_loaded) {
      const int begin = begin_of(b);
      const int end = begin_of(b + most_loaded);
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
  const auto begin_of = [&](int b) { return min(max(b * kBlock - 1, 0), number); };
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
                                       UpdateNumbers{entries.entry + first + begin_of(b)},
                                       begin_of(b + 1) - begin_of(b), reduction, sum);
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
Grid few_grid(const ScatterCall& call, const ThreadGroups& threads, std::size_t shared_bytes) {
  constexpr int kLeastLanes = 16;
  const std::int64_t wanted =
      ceil_divide(call.count * std::max(threads.lanes(), kLeastLanes), kFewThreads);
  return {.blocks = std::min<std::int64_t>(wanted, device_facts().multiprocessors),
          .threads = kFewThreads,
          .shared_bytes = shared_bytes};
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
  if (call.columns > kShortRow) return call.count <= kScatterFewRows;
  if (call.count > kScatterFew) return false;
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  return shared_bytes<Complex<double>>(static_cast<int>(call.count), kShortRow, true) <= most;
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
