// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <type_traits>

#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/select/select.cuh"

namespace gpukern::gpu {
namespace {

struct Mask {
  const std::byte* data;
  std::int64_t count;
  std::int64_t lead;
  std::uint64_t bits;
  Loop<1> loop;
  bool aligned;
};

template <class W>
__device__ bool is_nonzero(W value, std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  const auto high = static_cast<std::uint32_t>(bits >> 32);
  if constexpr (sizeof(W) == 16)
    return (((value.x | value.z) & low) | ((value.y | value.w) & high)) != 0;
  else if constexpr (sizeof(W) == 8)
    return ((value.x & low) | (value.y & high)) != 0;
  else
    return (value & low) != 0;
}

/// A bit for each of four bytes: whether it is not zero.
__device__ inline std::uint32_t nonzero_bytes(std::uint32_t bytes) {
  constexpr std::uint32_t kLow = 0x7f7f7f7f;
  const std::uint32_t high = (((bytes & kLow) + kLow) | bytes) & ~kLow;
  return (high * 0x00204081U) >> 28;  // brings the highest bits of the bytes together
}

/// A bit for each element of 16 bytes.
template <class W>
__device__ std::uint32_t nonzero_elements(const uint4& word, std::uint64_t bits) {
  if constexpr (sizeof(W) == 1) {
    const std::uint32_t each = static_cast<std::uint32_t>(bits & 0xff) * 0x01010101U;
    return nonzero_bytes(word.x & each) | nonzero_bytes(word.y & each) << 4 |
           nonzero_bytes(word.z & each) << 8 | nonzero_bytes(word.w & each) << 12;
  } else {
    const auto elements = bits_as<WordVector<W>>(word);
    std::uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < kPerWord<W>; ++i)
      found |= static_cast<std::uint32_t>(is_nonzero(elements.element[i], bits)) << i;
    return found;
  }
}

/// The bits of the elements from `first` on, as many as a thread loads at a time.
template <class W, bool kVectors>
__device__ std::uint32_t load_bits(const Mask& mask, std::int64_t first) {
  if constexpr (kVectors) {
    const W* const elements = reinterpret_cast<const W*>(mask.data);
    if (first >= 0 && first + kPerWord<W> <= mask.count)
      return nonzero_elements<W>(__ldcs(reinterpret_cast<const uint4*>(elements + first)),
                                 mask.bits);
    std::uint32_t found = 0;  // at an end of the mask
    for (int i = 0; i < kPerWord<W>; ++i)
      if (first + i >= 0 && first + i < mask.count)
        found |= static_cast<std::uint32_t>(is_nonzero(elements[first + i], mask.bits)) << i;
    return found;
  } else {
    if (first >= mask.count) return 0;
    std::int64_t offset[1];
    unravel(mask.loop, static_cast<std::uint64_t>(first), offset);
    const std::byte* const at = mask.data + offset[0];
    const W element = mask.aligned ? *reinterpret_cast<const W*>(at) : load_unaligned<W>(at);
    return is_nonzero(element, mask.bits) ? 1 : 0;
  }
}

/// Elements that a thread loads at a time.
template <class W, bool kVectors>
constexpr int kAtATime = kVectors ? kPerWord<W> : 1;

/// In each round, the threads of a warp make whole words of 32 bits.
template <class W, bool kVectors>
__global__ void __launch_bounds__(kThreads)
    pack_kernel(const __grid_constant__ Mask mask, std::uint32_t* bits, std::int64_t* counts) {
  using Sum = cub::BlockReduce<int, kThreads>;
  __shared__ typename Sum::TempStorage shared;
  constexpr int kEachTime = kAtATime<W, kVectors>;
  constexpr int kRounds = kEach / kEachTime;
  constexpr int kLanes = 32 / kEachTime;  // that make a word
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  int count = 0;
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at = tile + (round * kThreads + static_cast<int>(threadIdx.x)) * kEachTime;
    std::uint32_t word = load_bits<W, kVectors>(mask, at - mask.lead);
    count += __popc(word);
    word <<= lane * kEachTime;
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) word |= __shfl_xor_sync(~0U, word, step);
    if (lane == 0) bits[at / 32] = word;
  }
  const int sum = Sum(shared).Sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = sum;
}

/// The last block sends the sum of all to the host.
template <class W, bool kVectors>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const __grid_constant__ Mask mask, SearchShared* shared, Outcome* outcome) {
  using Count = unsigned long long;
  using Sum = cub::BlockReduce<Count, kThreads>;
  __shared__ typename Sum::TempStorage memory;
  constexpr int kUnroll = 4;  // loads in flight
  const std::int64_t step = std::int64_t{kThreads} * kAtATime<W, kVectors>;
  Count count = 0;
  for (std::int64_t tile = blockIdx.x * step * kUnroll; tile < mask.count + mask.lead;
       tile += gridDim.x * step * kUnroll) {
    std::uint32_t found[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i)
      found[i] = load_bits<W, kVectors>(
          mask, tile + i * step + threadIdx.x * kAtATime<W, kVectors> - mask.lead);
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) count += __popc(found[i]);
  }
  const Count sum = Sum(memory).Sum(count);
  if (threadIdx.x != 0) return;
  atomicAdd(&shared->count, sum);
  __threadfence();
  if (atomicAdd(&shared->blocks_done, 1) != gridDim.x - 1) return;
  __threadfence();
  outcome->value = static_cast<std::int64_t>(atomicExch(&shared->count, 0));
  shared->blocks_done = 0;
}

/// Calls launch(mask, word, vectors) for the words and the accesses of the mask.
template <class Launch>
void visit_mask(const SelectCall& call, const Launch& launch) {
  const SelectArgs& args = call.args;
  bool aligned = alignment_of(args.mask) >= args.item;
  for (int d = 0; d < args.loop.ndim; ++d)
    aligned = aligned && args.loop.stride[0][d] % args.item == 0;
  const Mask mask{args.mask, args.loop.count(), call.lead, args.bits, args.loop, aligned};
  visit_word(args.item, [&]<class W>(W word) {
    if (has_vectors(args))
      launch(mask, word, std::true_type());
    else
      launch(mask, word, std::false_type());
  });
}

}  // namespace

bool has_vectors(const SelectArgs& args) {
  return args.loop.contiguous(0, args.item) && alignment_of(args.mask) >= args.item;
}

void pack_mask(const SelectCall& call) {
  visit_mask(call, [&]<class W, bool kVectors>(const Mask& mask, W, std::bool_constant<kVectors>) {
    launch(pack_kernel<W, kVectors>, call.tiles + 1, call.stream, mask, call.bits, call.before);
  });
}

void count_mask(const SelectCall& call, const Mailbox& box) {
  visit_mask(call, [&]<class W, bool kVectors>(const Mask& mask, W, std::bool_constant<kVectors>) {
    launch(count_kernel<W, kVectors>, std::min(call.tiles, resident_grid()), call.stream, mask,
           box.shared, box.outcome_on_device);
  });
}

}  // namespace gpukern::gpu
