// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../src/buffer.hpp"
#include "capture.hpp"
#include "gather_direct.cuh"
#include "gather_vector.cuh"
#include "index.cuh"
#include "kernels.hpp"
#include "launch.cuh"

namespace gpukern::gpu {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

/// What the blocks of a search share, on the device. All zero between searches: the last block of
/// each leaves it so.
struct Shared {
  unsigned long long first;  ///< the complement of the first bad position, 0 if there is none
  unsigned blocks_done;
};

/// The outcome, in host memory that the device writes to.
struct Outcome {
  std::uint64_t position;
  std::int64_t value;
};

/// A search's memory. Made once and used again: neither allocation nor copy is left to a search.
struct Mailbox {
  Shared* shared = nullptr;
  volatile Outcome* outcome = nullptr;
  Outcome* outcome_on_device = nullptr;
};

Mailbox make_mailbox(Backend& backend, cudaStream_t stream) {
  const RelaxedCapture relaxed;
  void* pinned = nullptr;
  check(cudaHostAlloc(&pinned, sizeof(Outcome), cudaHostAllocMapped | cudaHostAllocPortable),
        "cudaHostAlloc");
  // Not lost where there is no device memory left.
  const auto release = [](void* memory) { static_cast<void>(cudaFreeHost(memory)); };
  std::unique_ptr<void, decltype(release)> outcome(pinned, release);
  Mailbox box;
  box.outcome = static_cast<Outcome*>(pinned);
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&box.outcome_on_device), pinned, 0),
        "cudaHostGetDevicePointer");
  box.shared = static_cast<Shared*>(backend.allocate(sizeof(Shared), stream));
  check(cudaMemsetAsync(box.shared, 0, sizeof(Shared), stream), "cudaMemsetAsync");
  static_cast<void>(outcome.release());
  return box;
}

/// The mailboxes that no search of a device uses now: as many as threads have ever searched at
/// once.
class Mailboxes {
 public:
  Mailbox take(Backend& backend, cudaStream_t stream) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const Mailbox box = idle_.back();
        idle_.pop_back();
        return box;
      }
    }
    return make_mailbox(backend, stream);
  }
  void give_back(const Mailbox& box) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(box);
  }

 private:
  std::mutex mutex_;
  std::vector<Mailbox> idle_;
};

Mailboxes& mailboxes_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  static std::mutex mutex;
  // Never destroyed: CUDA may be gone before static destructors run.
  static auto& all = *new std::deque<Mailboxes>;
  const std::lock_guard lock(mutex);
  while (all.size() <= static_cast<std::size_t>(device)) all.emplace_back();
  return all[static_cast<std::size_t>(device)];
}

/// Ends a search: each thread brings the first bad position that it knows. The last block reports.
template <class Load>
__device__ void report(std::uint64_t bad, Shared* shared, Outcome* outcome, const Load& load) {
  if (bad != kNone) {
    atomicMax(&shared->first, static_cast<unsigned long long>(~bad));
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1 && atomicAdd(&shared->blocks_done, 1) != gridDim.x - 1) return;
  __threadfence();
  const std::uint64_t first = ~static_cast<std::uint64_t>(atomicExch(&shared->first, 0));
  shared->blocks_done = 0;
  if (first != kNone) *outcome = {first, load(first)};
}

/// The raw indices that mode "raise" accepts: those for which raw + add, modulo 2^bits, is at most
/// `last`.
template <class Raw>
struct Accepted {
  Raw add = 0;
  Raw last = 0;
  bool all = false;  ///< every value of the type

  explicit Accepted(const IndexArgs& args) {
    const auto n = static_cast<std::uint64_t>(args.n);
    const std::uint64_t values = std::uint64_t{std::numeric_limits<Raw>::max()};
    all = args.index_type.is_signed ? n > values / 2 : n > values;
    if (all) return;
    add = args.index_type.is_signed ? static_cast<Raw>(n) : Raw{0};
    last = static_cast<Raw>(args.index_type.is_signed ? 2 * n - 1 : n - 1);
    if (n == 0) last = 0;
  }
  __device__ bool has(Raw raw) const { return static_cast<Raw>(raw + add) <= last; }
};

/// Vectors that a thread loads before it looks at them.
constexpr int kVectors = 4;

/// Contiguous indices. Whole vectors by all threads; those in front and behind by the first block.
template <class Raw>
__global__ void __launch_bounds__(kThreads)
    first_bad_index_kernel(const Raw* index, std::int64_t count, std::int64_t front,
                           Accepted<Raw> accepted, bool is_signed, Shared* shared,
                           Outcome* outcome) {
  constexpr int kCount = 16 / sizeof(Raw);
  using Indices = Vector<Raw, kCount>;
  const auto* vectors = reinterpret_cast<const Indices*>(index + front);
  const std::int64_t whole = (count - front) / kCount;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * kVectors;
  std::uint64_t bad = kNone;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads * kVectors;
       first < whole && bad == kNone; first += stride) {
    Indices loaded[kVectors];
    std::int64_t at[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      at[v] = first + v * kThreads + threadIdx.x;
      if (at[v] >= whole) at[v] = whole - 1;
      loaded[v] = vectors[at[v]];
    }
#pragma unroll
    for (int v = kVectors - 1; v >= 0; --v)
#pragma unroll
      for (int j = kCount - 1; j >= 0; --j)
        if (!accepted.has(loaded[v].element[j]))
          bad = static_cast<std::uint64_t>(front + at[v] * kCount + j);
  }
  if (blockIdx.x == 0) {
    const std::int64_t rest = front + whole * kCount;
    const std::int64_t edge =
        threadIdx.x < front ? threadIdx.x : rest + static_cast<std::int64_t>(threadIdx.x) - front;
    if (edge < count && !accepted.has(index[edge]) && static_cast<std::uint64_t>(edge) < bad)
      bad = static_cast<std::uint64_t>(edge);
  }
  report(bad, shared, outcome,
         [&](std::uint64_t position) { return as_index(index[position], is_signed); });
}

/// Indices of any layout.
__global__ void __launch_bounds__(kThreads)
    first_bad_strided_index_kernel(const __grid_constant__ IndexArgs args, bool aligned,
                                   std::uint64_t count, Shared* shared, Outcome* outcome) {
  const auto load = [&](std::uint64_t position) {
    std::int64_t offset[1];
    unravel(args.loop, position, offset);
    return load_any_index(args.index + offset[0], args.index_type, aligned);
  };
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  std::uint64_t bad = kNone;
  for (std::uint64_t p = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       p < count && bad == kNone; p += stride)
    if (!in_bounds(load(p), args.index_type.is_signed, args.n)) bad = p;
  report(bad, shared, outcome, load);
}

// Enough blocks to fill any GPU; each goes on from there.
constexpr std::int64_t kMostBlocks = 2048;

template <class Raw>
void launch_search(const IndexArgs& args, const Mailbox& box, cudaStream_t stream) {
  const std::int64_t count = args.loop.count();
  const auto address = reinterpret_cast<std::uintptr_t>(args.index);
  const auto to_aligned = static_cast<std::int64_t>((16 - address % 16) % 16 / sizeof(Raw));
  const std::int64_t front = std::min(to_aligned, count);
  const std::int64_t per_block = std::int64_t{kThreads} * kVectors * 16 / sizeof(Raw);
  launch(first_bad_index_kernel<Raw>, std::min(ceil_divide(count, per_block), kMostBlocks), stream,
         reinterpret_cast<const Raw*>(args.index), count, front, Accepted<Raw>(args),
         args.index_type.is_signed, box.shared, box.outcome_on_device);
}

/// Whether no value of the index's type is out of bounds.
bool nothing_to_search(const IndexArgs& args) {
  bool all = false;
  visit_index_width(args.index_type.bytes,
                    [&](auto raw) { all = Accepted<decltype(raw)>(args).all; });
  return all;
}

void search(const IndexArgs& args, const Mailbox& box, cudaStream_t stream) {
  const bool aligned = index_aligned(args.index, args.loop, 0, args.index_type);
  if (args.n > 0 && aligned && args.loop.contiguous(0, args.index_type.bytes)) {
    visit_index_width(args.index_type.bytes,
                      [&](auto raw) { launch_search<decltype(raw)>(args, box, stream); });
    return;
  }
  const std::int64_t count = args.loop.count();
  launch(first_bad_strided_index_kernel, std::min(ceil_divide(count, kThreads), kMostBlocks),
         stream, args, aligned, static_cast<std::uint64_t>(count), box.shared,
         box.outcome_on_device);
}

}  // namespace

std::optional<BadIndex> first_bad_index(Backend& backend, const IndexArgs& args,
                                        cudaStream_t stream) {
  if (nothing_to_search(args)) return std::nullopt;
  Mailboxes& mailboxes = mailboxes_of_current_device();
  const Mailbox box = mailboxes.take(backend, stream);
  box.outcome->position = kNone;
  search(args, box, stream);
  const RelaxedCapture relaxed;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const bool found = box.outcome->position != kNone;
  const BadIndex bad{box.outcome->value};
  mailboxes.give_back(box);
  return found ? std::optional(bad) : std::nullopt;
}

}  // namespace gpukern::gpu
