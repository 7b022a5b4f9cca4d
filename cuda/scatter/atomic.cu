// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reductions whose order does not matter, one value for each update, by atomic operations. These
// take at least 32 bits: narrower numbers are combined as 32-bit ones in an array beside the
// target.
#include <algorithm>

#include "cuda/common/vector_access.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/scatter/atomic.cuh"
#include "cuda/scatter/key_of.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

constexpr int kAddThreads = 1024;

/// The type of values that are narrower than what the atomic operations take.
enum class Narrow : std::int8_t { No, Int8, UInt8, Int16, UInt16, Half, BFloat16 };

template <class T>
inline constexpr bool kIsNarrow = sizeof(T) < kAtomicBytes;

/// Of a dtype below 32 bits.
Narrow narrow_of(gpukern_dtype dtype) {
  switch (dtype.code) {
    case GPUKERN_FLOAT:
      return Narrow::Half;
    case GPUKERN_BFLOAT:
      return Narrow::BFloat16;
    case GPUKERN_INT:
      return dtype.bits == 8 ? Narrow::Int8 : Narrow::Int16;
    default:
      return dtype.bits == 8 ? Narrow::UInt8 : Narrow::UInt16;
  }
}

/// The values as the atomic operations take them.
struct AtomicValues {
  UpdateValues values;
  Narrow narrow;

  /// See UpdateValues::load().
  template <class T, int kCount>
  __device__ void load(std::int64_t first, std::int64_t between, std::int64_t last,
                       T (&value)[kCount]) const {
    OffsetsAt<1> at[kCount];
    values.updates.find(Positions<kCount>(first, between, last).of, at);
    const auto load_as = [&]<class Raw>(Raw) {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        value[k] =
            static_cast<T>(widened(*reinterpret_cast<const Raw*>(values.values + at[k].offset[0])));
    };
    if constexpr (std::is_same_v<T, unsigned>) {
      if (narrow == Narrow::Int8) return load_as(std::int8_t{});
      if (narrow == Narrow::UInt8) return load_as(std::uint8_t{});
      if (narrow == Narrow::Int16) return load_as(std::int16_t{});
      if (narrow == Narrow::UInt16) return load_as(std::uint16_t{});
    } else if constexpr (std::is_same_v<T, float>) {
      if (narrow == Narrow::Half) return load_as(Half{});
      if (narrow == Narrow::BFloat16) return load_as(BFloat16{});
    }
    load_as(T{});
  }
};

/// Combines the values of equal keys of a warp, so that its atomic operations have different
/// addresses; each lane has a key, -1 without an update. Returns whether the lane holds the result
/// of its key. (E. Westphal, Voting and Shuffling to Optimize Atomic Operations, NVIDIA 2015)
template <class T>
__device__ bool combine_in_warp(const Reduction& reduction, std::int64_t key, T& value) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned peers = __match_any_sync(kAllLanes, static_cast<long long>(key));
  const unsigned before = peers & ((1U << lane) - 1);
  unsigned rest = peers & ~before & ~(1U << lane);  // the peers after this lane
  int rank = __popc(before);
  while (__any_sync(kAllLanes, rest != 0)) {
    const int next = __ffs(static_cast<int>(rest)) - 1;
    const T other = __shfl_sync(kAllLanes, value, next & 31);
    if (next >= 0) value = combine(reduction, value, other);
    rest &= __ballot_sync(kAllLanes, (rank & 1) == 0);  // the odd ones have been combined
    rank >>= 1;
  }
  return key >= 0 && before == 0;
}

/// Sums of the keys that a block met first, in shared memory, so that keys that repeat often do not
/// all wait for one part of the L2 cache.
template <class T>
struct KeyCache {
  using A = AtomicType<T>;
  static constexpr int kEntries = 512;
  unsigned long long key[kEntries];
  A sum[kEntries];

  __device__ void clear(const Reduction& reduction) {
    for (int k = static_cast<int>(threadIdx.x); k < kEntries; k += kThreads) {
      key[k] = kNone;
      sum[k] = bits_as<A>(identity<T>(reduction));
    }
  }
  /// Returns false if the key has no entry, and may not take one, or another key has it.
  __device__ bool combine(const Reduction& reduction, unsigned long long own, A value,
                          bool may_enter) {
    const int entry = static_cast<int>(own * 0x9e3779b97f4a7c15ULL >> 55);
    const unsigned long long held = atomicCAS(key + entry, may_enter ? kNone : own, own);
    if (held != own && !(may_enter && held == kNone)) return false;
    combine_atomically(reduction, sum + entry, value);
    return true;
  }
  __device__ void flush(const Reduction& reduction, const TargetElements& elements) const {
    for (int k = static_cast<int>(threadIdx.x); k < kEntries; k += kThreads)
      if (key[k] != kNone)
        combine_atomically(reduction, reinterpret_cast<A*>(elements.at(key[k])), sum[k]);
  }

 private:
  static constexpr unsigned long long kNone = ~0ULL;
};

/// The most updates of a thread, and those in flight.
constexpr std::int64_t kMostUpdates = 8;
constexpr int kInFlight = 4;

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_items_kernel(const __grid_constant__ KeyOf key_of,
                         const __grid_constant__ AtomicValues values,
                         const __grid_constant__ TargetElements elements, std::int64_t count,
                         std::int64_t updates, const __grid_constant__ Reduction reduction) {
  using A = AtomicType<T>;
  __shared__ KeyCache<T> cache;
  cache.clear(reduction);
  __syncthreads();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kThreads * updates;
  const std::int64_t end = min(begin + kThreads * updates, count);
  for (std::int64_t first = begin + threadIdx.x; first - threadIdx.x < end;
       first += kThreads * kInFlight) {
    std::int64_t keys[kInFlight];
    T loaded[kInFlight];
    key_of.find(first, kThreads, end, keys);
    values.load(first, kThreads, end - 1, loaded);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t key = keys[k];
      T value = loaded[k];
      // If a key has a share of the updates that matters, two neighbours in a warp are likely to
      // have it. The search for all that are equal takes longer than the atomic operations.
      const std::int64_t next = __shfl_down_sync(kAllLanes, static_cast<long long>(key), 1);
      const bool repeats = __any_sync(kAllLanes, key >= 0 && key == next && threadIdx.x % 32 != 31);
      const bool writes = repeats ? combine_in_warp(reduction, key, value) : key >= 0;
      if (!writes) continue;
      const A sum = bits_as<A>(value);
      const auto own = static_cast<std::uint64_t>(key);
      if (!cache.combine(reduction, own, sum, repeats))
        combine_atomically(reduction, reinterpret_cast<A*>(elements.at(own)), sum);
    }
  }
  __syncthreads();
  cache.flush(reduction, elements);
}

/// Adds to a 64-bit number as two halves, since additions of 32 bits are fast in shared memory.
__device__ void add_shared(unsigned* halves, unsigned long long value) {
  const auto low = static_cast<unsigned>(value);
  const unsigned before = atomicAdd(halves, low);
  const unsigned high = static_cast<unsigned>(value >> 32) + (before + low < before ? 1 : 0);
  if (high != 0) atomicAdd(halves + 1, high);
}
__device__ void add_shared(unsigned* sum, unsigned value) { atomicAdd(sum, value); }

/// Adds integers to few elements: each block to sums in its shared memory first.
template <class A>
__global__ void __launch_bounds__(kAddThreads)
    add_shared_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ AtomicValues values,
                      const __grid_constant__ TargetElements elements, std::int64_t count,
                      int keys) {
  extern __shared__ unsigned words[];
  constexpr int kWords = sizeof(A) / sizeof(unsigned);
  for (int k = static_cast<int>(threadIdx.x); k < keys * kWords; k += kAddThreads) words[k] = 0;
  __syncthreads();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kAddThreads;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kAddThreads + threadIdx.x;
       first < count; first += step * kInFlight) {
    std::int64_t key[kInFlight];
    A value[kInFlight];
    key_of.find(first, step, count, key);
    values.load(first, step, count - 1, value);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (key[k] >= 0) add_shared(words + key[k] * kWords, value[k]);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < keys; k += kAddThreads) {
    A sum = words[k * kWords];
    if constexpr (kWords == 2) sum |= A{words[k * kWords + 1]} << 32;
    if (sum != 0) atomicAdd(reinterpret_cast<A*>(elements.at(k)), sum);
  }
}

/// The updates for each sum of a block and for each thread that justify them.
constexpr std::int64_t kLeastShare = 4;

/// The grid of add_shared_kernel; of no blocks if it does not pay.
template <class A>
Grid shared_grid(const ScatterCall& call) {
  const std::int64_t keys = call.args.keys.count();
  const auto bytes = static_cast<std::int64_t>(sizeof(A)) * keys;
  const DeviceFacts facts = device_facts();
  const std::int64_t blocks =
      std::min(std::int64_t{2} * facts.multiprocessors,
               call.count / (kLeastShare * std::max<std::int64_t>(keys, kAddThreads)));
  // Of two blocks on a multiprocessor, of which the system takes 1 KiB each.
  const std::int64_t most = facts.shared_bytes / 2 - 1024;
  const bool pays = call.args.reduce == GPUKERN_REDUCE_ADD && bytes <= most &&
                    (keys <= kAddThreads || 2 * blocks >= facts.multiprocessors);
  return {.blocks = pays ? blocks : 0,
          .threads = kAddThreads,
          .shared_bytes = static_cast<std::size_t>(bytes)};
}

template <class T>
void launch_items(const ScatterCall& call, const AtomicValues& values,
                  const TargetElements& elements, const Reduction& reduction) {
  const ScatterArgs& args = call.args;
  if constexpr (std::is_integral_v<T>) {
    if (const Grid grid = shared_grid<T>(call); grid.blocks > 0)
      return launch(add_shared_kernel<AtomicType<T>>, grid, call.stream, key_of(args), values,
                    elements, call.count, static_cast<int>(args.keys.count()));
  }
  // As many as keep all threads of the GPU at work.
  const std::int64_t updates =
      std::clamp<std::int64_t>(call.count / (resident_grid() * kThreads), 1, kMostUpdates);
  launch(combine_items_kernel<T>, ceil_divide(call.count, kThreads * updates), call.stream,
         key_of(args), values, elements, call.count, updates, reduction);
}

/// Combines the target's elements with the results of their updates; `none` stands for one that
/// changes nothing.
template <class T, class Wide>
__global__ void __launch_bounds__(kThreads)
    combine_with_target_kernel(const Wide* results, Wide none, std::int64_t keys,
                               const __grid_constant__ TargetElements elements,
                               const __grid_constant__ Reduction reduction) {
  using A = Accumulator<T>;
  const std::int64_t key = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (key >= keys || results[key] == none) return;
  T* const to = reinterpret_cast<T*>(elements.at(key));
  const A sum = combine(reduction, widened(*to), static_cast<A>(results[key]));
  *to = finished<T>(reduction.reduce, sum, 2);
}

/// Combines elements of type T as of type Wide, unsigned or float.
template <class T, class Wide>
void combine_narrow(Device& device, const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const Reduction reduction = reduction_of(args.reduce, args.dtype);
  const bool is_signed = args.dtype.code == GPUKERN_INT;
  const std::int64_t keys = args.keys.count();
  const std::int64_t bytes = keys * kAtomicBytes;
  const Buffer memory(device, bytes, call.stream);
  // Four equal bytes make a number that no narrow one is beyond.
  int byte = 0;
  if (args.reduce == GPUKERN_REDUCE_MAX) byte = is_signed ? 0x80 : 0;
  if (args.reduce == GPUKERN_REDUCE_MIN) byte = is_signed ? 0x7f : 0xff;
  check(cudaMemsetAsync(memory.data(), byte, static_cast<std::size_t>(bytes), call.stream),
        "cudaMemsetAsync");
  Loop<1> in_order;
  in_order.push(keys, {kAtomicBytes});
  const std::uint8_t code = std::is_integral_v<T> ? args.dtype.code : std::uint8_t{GPUKERN_FLOAT};
  launch_items<Wide>(call, {update_values(args), narrow_of(args.dtype)},
                     {static_cast<std::byte*>(memory.data()), LoopOffsets(in_order)},
                     reduction_of(args.reduce, {code, 8 * kAtomicBytes, args.dtype.lanes}));
  launch(combine_with_target_kernel<T, Wide>, ceil_divide(keys, kThreads), call.stream,
         static_cast<const Wide*>(memory.data()),
         gpukern::bits_as<Wide>(0x01010101U * static_cast<unsigned>(byte)), keys,
         target_elements(args), reduction);
}

}  // namespace

bool has_atomic(const ScatterArgs& args) {
  bool has = false;
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool is_extreme = args.reduce == GPUKERN_REDUCE_MIN || args.reduce == GPUKERN_REDUCE_MAX;
    has = (!std::is_void_v<AtomicType<T>> || (kIsNarrow<T> && args.columns.count() == 1)) &&
          is_aligned(args, alignof(T)) &&
          (args.reduce == GPUKERN_REDUCE_ADD || (is_extreme && std::is_integral_v<T>));
  });
  return has;
}

void scatter_atomically(Device& device, const ScatterCall& call) {
  if (call.columns > 1) return scatter_direct(call, true);
  visit_combined_type(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kIsNarrow<T> && std::is_integral_v<T>)
      combine_narrow<T, unsigned>(device, call);
    else if constexpr (kIsNarrow<T>)
      combine_narrow<T, float>(device, call);
    else if constexpr (!std::is_void_v<AtomicType<T>>)
      launch_items<T>(call, {update_values(call.args), Narrow::No}, target_elements(call.args),
                      reduction_of(call.args.reduce, call.args.dtype));
  });
}

}  // namespace gpukern::gpu
