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
  bool aligned;
  LoopOffsets<1> offsets;
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

/// Elements that a thread loads at a time.
template <class W, bool kVectors>
constexpr int kAtATime = kVectors ? kPerWord<W> : 1;

/// The bits of the elements from `first` on.
template <class W>
__device__ std::uint32_t load_vector(const Mask& mask, std::int64_t first) {
  const W* const elements = reinterpret_cast<const W*>(mask.data);
  if (first >= 0 && first + kPerWord<W> <= mask.count)
    return nonzero_elements<W>(__ldcs(reinterpret_cast<const uint4*>(elements + first)), mask.bits);
  std::uint32_t found = 0;  // at an end of the mask
  for (int i = 0; i < kPerWord<W>; ++i)
    if (first + i >= 0 && first + i < mask.count)
      found |= static_cast<std::uint32_t>(is_nonzero(elements[first + i], mask.bits)) << i;
  return found;
}

/// The bits of kCount times as many elements as a thread loads at a time, `between` apart.
template <class W, bool kVectors, int kCount>
__device__ void load_bits(const Mask& mask, std::int64_t first, std::int64_t between,
                          std::uint32_t (&found)[kCount]) {
  if constexpr (kVectors) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) found[k] = load_vector<W>(mask, first + k * between);
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) found[k] = 0;
    if (first >= mask.count) return;
    const Positions<kCount> positions(first, between, mask.count - 1);
    OffsetsAt<1> at[kCount];
    mask.offsets.find(positions.of, at);
    W element[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const std::byte* const address = mask.data + at[k].offset[0];
      element[k] = mask.aligned ? *reinterpret_cast<const W*>(address) : load_unaligned<W>(address);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      found[k] = first + k * between < mask.count && is_nonzero(element[k], mask.bits) ? 1 : 0;
  }
}

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
  constexpr int kBatch = kRounds < 4 ? kRounds : 4;  // loads in flight
  constexpr std::int64_t kBetween = kThreads * kEachTime;
  for (int round = 0; round < kRounds; round += kBatch) {
    const std::int64_t first = tile + round * kBetween + static_cast<int>(threadIdx.x) * kEachTime;
    std::uint32_t word[kBatch];
    load_bits<W, kVectors>(mask, first - mask.lead, kBetween, word);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      count += __popc(word[k]);
      if constexpr (kEachTime == 1) {
        word[k] = __ballot_sync(~0U, word[k] != 0);
      } else {
        word[k] <<= lane * kEachTime;
#pragma unroll
        for (int step = 1; step < kLanes; step *= 2) word[k] |= __shfl_xor_sync(~0U, word[k], step);
      }
      if (lane == 0) bits[(first + k * kBetween) / 32] = word[k];
    }
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
    load_bits<W, kVectors>(mask, tile + threadIdx.x * kAtATime<W, kVectors> - mask.lead, step,
                           found);
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
  const LoopOffsets<1> offsets(args.loop);
  const Mask mask{args.mask, args.loop.count(), call.lead, args.bits, aligned, offsets};
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
