// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <vector>

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/runtime/kernels.hpp"
#include "cuda/runtime/mailbox.hpp"

namespace gpukern::gpu {
namespace {

constexpr std::uint64_t kNone = Outcome::kNone;

/// What a thread has found.
struct Found {
  std::uint64_t bad = kNone;  ///< the first bad position
  bool falls = false;         ///< an index is less than the one before
};

/// Ends a search: combines what the threads found. The last block sends the result to the host.
struct ToMailbox {
  SearchShared* shared;
  Outcome* outcome;

  template <class Load>
  __device__ void report(const Found& found, const Load& load) const {
    if (found.bad != kNone) {
      atomicMax(&shared->first, static_cast<unsigned long long>(~found.bad));
      __threadfence();
    }
    const bool falls = __syncthreads_or(found.falls) != 0;
    if (threadIdx.x != 0) return;
    if (falls) {
      atomicExch(&shared->falls, 1);
      __threadfence();
    }
    if (gridDim.x > 1 && atomicAdd(&shared->blocks_done, 1) != gridDim.x - 1) return;
    __threadfence();
    const std::uint64_t first = ~static_cast<std::uint64_t>(atomicExch(&shared->first, 0));
    shared->blocks_done = 0;
    if (atomicExch(&shared->falls, 0) != 0) outcome->falls = true;
    if (first == kNone) return;
    outcome->position = first;
    outcome->value = load(first);
  }
};

/// Ends a search: each block with a bad index updates the record, which other calls may update at
/// the same time.
struct ToRecord {
  IndexOrigin origin;
  IndexRecord* record;

  template <class Load>
  __device__ void report(const Found& found, const Load& load) const {
    __shared__ unsigned long long first;
    if (__syncthreads_or(found.bad != kNone) == 0) return;
    if (threadIdx.x == 0) first = kNone;
    __syncthreads();
    if (found.bad != kNone) atomicMin(&first, static_cast<unsigned long long>(found.bad));
    __syncthreads();
    if (threadIdx.x != 0) return;
    const BadIndex bad{load(first), static_cast<std::int64_t>(first)};
    while (atomicCAS(&record->lock, 0U, 1U) != 0) {
    }
    __threadfence();
    if (record->is_after(origin, bad.position)) record->set(origin, bad);
    __threadfence();
    atomicExch(&record->lock, 0U);
  }
};

/// Vectors, or single indices in any layout, that each thread has in flight.
constexpr int kVectors = 4;

/// Whether an element of the vector, or the one after it, is less than the one before.
template <class Raw, int kCount>
__device__ bool falls_within(const Vector<Raw, kCount>& vector, Raw next) {
  bool falls = next < vector.element[kCount - 1];
#pragma unroll
  for (int j = 1; j < kCount; ++j) falls |= vector.element[j] < vector.element[j - 1];
  return falls;
}

/// Contiguous indices: all threads check whole vectors; the first block checks the indices before
/// and after these. kOrder: an index falls where it is less than the one before as an unsigned
/// number, or where the last one is negative, since without a fall the negative ones come last.
template <class Raw, bool kOrder, class Result>
__global__ void __launch_bounds__(kThreads)
    check_indices_kernel(const Raw* index, std::int64_t count, std::int64_t front,
                         AcceptedRange<Raw> accepted, bool is_signed, Result result) {
  constexpr int kCount = 16 / sizeof(Raw);
  using Indices = Vector<Raw, kCount>;
  const auto* vectors = reinterpret_cast<const Indices*>(index + front);
  const std::int64_t whole = (count - front) / kCount;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * kVectors;
  Found found;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads * kVectors;
       first < whole && found.bad == kNone; first += stride) {
    Indices loaded[kVectors];
    Raw next[kVectors];
    std::int64_t at[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      at[v] = first + v * kThreads + threadIdx.x;
      if (at[v] >= whole) at[v] = whole - 1;
      loaded[v] = vectors[at[v]];
      if constexpr (kOrder) next[v] = index[min(front + (at[v] + 1) * kCount, count - 1)];
    }
#pragma unroll
    for (int v = kVectors - 1; v >= 0; --v)
#pragma unroll
      for (int j = kCount - 1; j >= 0; --j)
        if (!accepted.contains(loaded[v].element[j]))
          found.bad = static_cast<std::uint64_t>(front + at[v] * kCount + j);
    if constexpr (kOrder) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) found.falls |= falls_within(loaded[v], next[v]);
    }
  }
  if (blockIdx.x == 0) {
    const std::int64_t rest = front + whole * kCount;
    const std::int64_t edge =
        threadIdx.x < front ? threadIdx.x : rest + static_cast<std::int64_t>(threadIdx.x) - front;
    if (edge < count && !accepted.contains(index[edge]) &&
        static_cast<std::uint64_t>(edge) < found.bad)
      found.bad = static_cast<std::uint64_t>(edge);
    if (kOrder && edge < count) found.falls |= index[min(edge + 1, count - 1)] < index[edge];
    if (kOrder && threadIdx.x == 0) found.falls |= as_index(index[count - 1], is_signed) < 0;
  }
  result.report(found,
                [&](std::uint64_t position) { return as_index(index[position], is_signed); });
}

struct StridedIndices {
  const std::byte* index;
  LoopOffsets<2> visits;  ///< see visits_of()
  LoopOffsets<1> at;      ///< the byte offset of a position
  IndexType type;
  std::int64_t n;
  bool aligned;
  bool are_offsets;

  [[nodiscard]] __device__ std::int64_t load(std::int64_t offset) const {
    return load_index(index + offset, type, aligned);
  }
  [[nodiscard]] __device__ std::int64_t load_at(std::int64_t position) const {
    return load(at.at(position).offset[0]);
  }
};

/// Indices with any strides, and offsets.
template <class Result>
__global__ void __launch_bounds__(kThreads)
    check_strided_indices_kernel(const __grid_constant__ StridedIndices of, std::int64_t count,
                                 Result result) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  Found found;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; first < count;
       first += stride * kVectors) {
    OffsetsAt<2> at[kVectors];
    of.visits.find(Positions<kVectors>(first, stride, count - 1).of, at);
    std::int64_t value[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) value[k] = of.load(at[k].offset[0]);
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const std::int64_t position = at[k].offset[1];
      const bool accepted =
          of.are_offsets ? is_offset(value[k], position > 0 ? of.load_at(position - 1) : 0, of.n)
                         : in_bounds(value[k], of.type.is_signed, of.n);
      if (!accepted) found.bad = min(found.bad, static_cast<std::uint64_t>(position));
    }
  }
  result.report(found, [&](std::uint64_t position) {
    return of.load_at(static_cast<std::int64_t>(position));
  });
}

// Enough blocks to fill any GPU; each runs a grid-stride loop.
constexpr std::int64_t kMaxBlocks = 2048;

template <class Raw, bool kOrder, class Result>
void launch_check(const IndexArgs& args, const Result& result, cudaStream_t stream) {
  const std::int64_t count = args.loop.count();
  const auto address = reinterpret_cast<std::uintptr_t>(args.index);
  const auto to_aligned = static_cast<std::int64_t>((16 - address % 16) % 16 / sizeof(Raw));
  const std::int64_t front = std::min(to_aligned, count);
  const std::int64_t per_block = std::int64_t{kThreads} * kVectors * 16 / sizeof(Raw);
  launch(check_indices_kernel<Raw, kOrder, Result>,
         std::min(ceil_divide(count, per_block), kMaxBlocks), stream,
         reinterpret_cast<const Raw*>(args.index), count, front,
         AcceptedRange<Raw>(args.index_type, args.n), args.index_type.is_signed, result);
}

/// Whether a kernel for contiguous indices serves.
bool is_vector(const IndexArgs& args, bool aligned) {
  return args.n > 0 && aligned && !args.are_offsets &&
         args.loop.contiguous(0, args.index_type.bytes);
}

/// The byte offsets and the positions of one index or more in the order of their memory: in a
/// dimension of stride 0, only the first position. Offsets of bags stay in C order, in which each
/// is compared with the one before.
Loop<2> visits_of(const IndexArgs& args) {
  std::int64_t step[GPUKERN_MAX_NDIM];
  std::int64_t positions = 1;
  for (int d = args.loop.ndim - 1; d >= 0; --d) {
    step[d] = positions;
    positions *= args.loop.extent[d];
  }
  Loop<2> loop;
  for (int d = 0; d < args.loop.ndim; ++d)
    if (args.are_offsets || args.loop.stride[0][d] != 0)
      loop.push(args.loop.extent[d], {args.loop.stride[0][d], step[d]});
  if (!args.are_offsets) loop.sort_by(0);
  loop.coalesce();
  return loop;
}

template <class Result>
void launch_strided_check(const IndexArgs& args, bool aligned, const Result& result,
                          cudaStream_t stream) {
  const Loop<2> loop = visits_of(args);
  const std::int64_t count = loop.count();
  const StridedIndices of{args.index, LoopOffsets(loop), LoopOffsets(args.loop), args.index_type,
                          args.n,     aligned,           args.are_offsets};
  launch(check_strided_indices_kernel<Result>,
         std::min(ceil_divide(count, kThreads * kVectors), kMaxBlocks), stream, of, count, result);
}

/// Returns whether it looks at the order, too.
bool search(const IndexArgs& args, const ToMailbox& result, cudaStream_t stream) {
  const bool aligned = index_aligned(args.index, args.loop, 0, args.index_type);
  if (!is_vector(args, aligned)) {
    launch_strided_check(args, aligned, result, stream);
    return false;
  }
  visit_index_width(args.index_type.bytes, [&](auto raw) {
    using Raw = decltype(raw);
    if (args.check_order)
      launch_check<Raw, true>(args, result, stream);
    else
      launch_check<Raw, false>(args, result, stream);
  });
  return args.check_order;
}

}  // namespace

void check_indices(Device& device, std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                   cudaStream_t stream) {
  std::vector<std::optional<MailboxLease>> boxes(args.size());
  bool searches = false;
  for (std::size_t k = 0; k < args.size(); ++k) {
    checks[k] = {};
    if (!args[k].are_offsets && accepts_all(args[k].index_type, args[k].n)) continue;
    const Mailbox& box = boxes[k].emplace(device, stream).mailbox();
    checks[k].sorted = search(args[k], {box.shared, box.outcome_on_device}, stream);
    searches = true;
  }
  if (!searches) return;
  wait_for_mailboxes(stream);
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (!boxes[k]) continue;
    const Outcome outcome = boxes[k]->read();
    checks[k].sorted = checks[k].sorted && outcome.position == kNone && !outcome.falls;
    if (outcome.position != kNone)
      checks[k].bad = BadIndex{outcome.value, static_cast<std::int64_t>(outcome.position)};
  }
}

void record_bad_index(const RecordIndexArgs& args, cudaStream_t stream) {
  const auto& [index, origin, record] = args;
  if (accepts_all(index.index_type, index.n)) return;
  const ToRecord result{origin, record};
  const bool aligned = index_aligned(index.index, index.loop, 0, index.index_type);
  if (!is_vector(index, aligned)) return launch_strided_check(index, aligned, result, stream);
  visit_index_width(index.index_type.bytes,
                    [&](auto raw) { launch_check<decltype(raw), false>(index, result, stream); });
}

}  // namespace gpukern::gpu
