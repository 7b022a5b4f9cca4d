// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

/// Of one launch: parameters of up to 4 KiB cost less to launch.
constexpr int kIndices = 3;

struct RavelLaunch {
  IndexArgs index[kIndices];
  bool aligned[kIndices]{};
  int count = 0;
  bool first = false;  ///< there are no positions yet
  gpukern_index_mode mode{};
  std::int64_t* positions = nullptr;
};

static_assert(sizeof(RavelLaunch) + sizeof(std::uint64_t) <= 4096);

template <class Offset>
__global__ void __launch_bounds__(kThreads)
    ravel_index_kernel(const __grid_constant__ RavelLaunch call, Offset count) {
  const Offset p = static_cast<Offset>(blockIdx.x) * kThreads + threadIdx.x;
  if (p >= count) return;
  std::int64_t value[kIndices]{};
#pragma unroll
  for (int k = 0; k < kIndices; ++k) {
    if (k >= call.count) continue;
    const IndexArgs& index = call.index[k];
    std::int64_t offset[1];
    unravel(index.loop, p, offset);
    value[k] = load_index(index.index + offset[0], index.index_type, call.aligned[k]);
  }
  std::int64_t raveled = call.first ? 0 : call.positions[p];
#pragma unroll
  for (int k = 0; k < kIndices; ++k) {
    if (k >= call.count) continue;
    const IndexArgs& index = call.index[k];
    const std::int64_t position =
        resolve_index(call.mode, value[k], index.index_type.is_signed, index.n);
    raveled = position < 0 || raveled < 0 ? kNoPosition : raveled * index.n + position;
  }
  call.positions[p] = raveled;
}

}  // namespace

void ravel_index(const RavelArgs& args, cudaStream_t stream) {
  const std::int64_t count = args.indices.front().loop.count();
  for (std::size_t from = 0; from < args.indices.size(); from += kIndices) {
    RavelLaunch call;
    call.count = static_cast<int>(std::min<std::size_t>(kIndices, args.indices.size() - from));
    for (int k = 0; k < call.count; ++k) {
      const IndexArgs& index = args.indices[from + static_cast<std::size_t>(k)];
      call.index[k] = index;
      call.aligned[k] = index_aligned(index.index, index.loop, 0, index.index_type);
    }
    call.first = from == 0;
    call.mode = args.mode;
    call.positions = args.positions;
    visit_offset(count, [&]<class Offset>(Offset) {
      launch(ravel_index_kernel<Offset>, ceil_divide(count, kThreads), stream, call,
             static_cast<Offset>(count));
    });
  }
}

}  // namespace gpukern::gpu
