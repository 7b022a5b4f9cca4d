// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

template <class Offset>
__global__ void __launch_bounds__(kThreads)
    ravel_index_kernel(const __grid_constant__ RavelArgs args, Offset count, bool aligned) {
  const IndexArgs& index = args.index;
  const Offset p = static_cast<Offset>(blockIdx.x) * kThreads + threadIdx.x;
  if (p >= count) return;
  std::int64_t offset[1];
  unravel(index.loop, p, offset);
  const std::int64_t value = load_index(index.index + offset[0], index.index_type, aligned);
  const std::int64_t position =
      resolve_index(args.mode, value, index.index_type.is_signed, index.n);
  std::int64_t* const to = args.positions + p;
  const std::int64_t before = args.first ? 0 : *to;
  *to = position < 0 || before < 0 ? kNoPosition : before * index.n + position;
}

}  // namespace

void ravel_index(const RavelArgs& args, cudaStream_t stream) {
  const std::int64_t count = args.index.loop.count();
  const bool aligned = index_aligned(args.index.index, args.index.loop, 0, args.index.index_type);
  visit_offset(count, [&]<class Offset>(Offset) {
    launch(ravel_index_kernel<Offset>, ceil_divide(count, kThreads), stream, args,
           static_cast<Offset>(count), aligned);
  });
}

}  // namespace gpukern::gpu
