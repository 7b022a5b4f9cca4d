// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The updates of a thread block's part of the keys, in shared memory: see few.cu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {

inline constexpr int kFewThreads = 512;

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
    // hash_of() in 32 bits: each thread block computes it for all updates.
    constexpr std::uint32_t kFactor = 0x9E3779B9U;
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

  // By one warp, as count().
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

}  // namespace gpukern::gpu
