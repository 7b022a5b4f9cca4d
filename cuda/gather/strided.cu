// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/loop.cuh"
#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {
namespace {

/// The fill value's word at byte `in_item` of an item whose value begins at `offset`.
template <class W>
__device__ W fill_word(const Fill& fill, std::int64_t offset, std::int64_t period,
                       std::int64_t in_item) {
  if (fill.data == nullptr) return fill.word<W>(in_item);
  W word;
  auto* to = reinterpret_cast<std::byte*>(&word);
  std::int64_t at = in_item < period ? in_item : in_item % period;
  for (unsigned b = 0; b < sizeof(W); ++b) {
    to[b] = fill.data[offset + at];
    if (++at == period) at = 0;
  }
  return word;
}

/// One word per thread. Any operand may have a nonzero stride in any dimension.
template <class W, class Offset>
__global__ void __launch_bounds__(kThreads)
    gather_strided_kernel(const __grid_constant__ GatherArgs args,
                          const __grid_constant__ Fill fill, bool index_aligned, Offset words,
                          Offset total) {
  const Offset t = Offset{blockIdx.x} * kThreads + threadIdx.x;
  if (t >= total) return;
  const Offset p = t / words;
  const std::int64_t in_item = static_cast<std::int64_t>(t - p * words) * sizeof(W);
  std::int64_t offset[4];
  unravel(args.loop, p, offset);
  const std::int64_t index =
      load_index(args.index + offset[kIndex], args.index_type, index_aligned);
  note_bad(args.bad, index, args.index_type.is_signed, args.n);
  const std::int64_t position = resolve_index(args.mode, index, args.index_type.is_signed, args.n);
  auto* out = reinterpret_cast<W*>(args.out + offset[kOut] + in_item);
  if (position < 0) {
    *out = fill_word<W>(fill, offset[kFillValue], args.fill_period, in_item);
    return;
  }
  std::int64_t along_axis[1];
  unravel(args.axis, static_cast<std::uint64_t>(position), along_axis);
  *out = __ldg(reinterpret_cast<const W*>(args.source + offset[kSource] + along_axis[0] + in_item));
}

}  // namespace

void run_strided(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t words = args.item / call.problem.width;
  const std::int64_t total = args.loop.count() * words;
  const bool aligned = index_aligned(args.index, args.loop, kIndex, args.index_type);
  visit_word(call.problem.width, [&](auto word) {
    visit_offset(total, [&](auto offset) {
      using Offset = decltype(offset);
      launch(gather_strided_kernel<decltype(word), Offset>, ceil_divide(total, kThreads),
             call.stream, args, call.fill, aligned, static_cast<Offset>(words),
             static_cast<Offset>(total));
    });
  });
}

}  // namespace gpukern::gpu
