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

/// Words that a thread has in flight.
constexpr int kInFlight = 4;

struct ElementArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  FastLoop<4> loop;
  FastLoop<1> axis;
  FastDivmod<std::uint32_t> words;  ///< of an item
  std::uint32_t total;
  IndexType index_type;
  bool index_aligned;
  gpukern_index_mode mode;
  std::int64_t n;
  std::uint64_t* bad;
  std::int64_t fill_period;
};

/// As gather_strided_kernel, of positions that are found by multiplication.
template <class W>
__global__ void __launch_bounds__(kThreads)
    gather_elements_kernel(const __grid_constant__ ElementArgs args,
                           const __grid_constant__ Fill fill) {
  const std::uint32_t first = blockIdx.x * kThreads * kInFlight + threadIdx.x;
  std::int64_t index[kInFlight];
  std::int64_t source[kInFlight];
  std::int64_t fill_value[kInFlight];
  std::byte* to[kInFlight];
  std::int64_t in_item[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const auto position = args.words.divmod(min(first + k * kThreads, args.total - 1));
    in_item[k] = std::int64_t{position.remainder} * sizeof(W);
    std::int64_t offset[4];
    unravel(args.loop, position.quotient, offset);
    index[k] = load_index(args.index + offset[kIndex], args.index_type, args.index_aligned);
    source[k] = offset[kSource] + in_item[k];
    fill_value[k] = offset[kFillValue];
    to[k] = args.out + offset[kOut] + in_item[k];
  }
  W word[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    note_bad(args.bad, index[k], args.index_type.is_signed, args.n);
    const std::int64_t position =
        resolve_index(args.mode, index[k], args.index_type.is_signed, args.n);
    if (position < 0) {
      word[k] = fill_word<W>(fill, fill_value[k], args.fill_period, in_item[k]);
      continue;
    }
    std::int64_t along_axis[1];
    unravel(args.axis, static_cast<std::uint32_t>(position), along_axis);
    word[k] = __ldg(reinterpret_cast<const W*>(args.source + source[k] + along_axis[0]));
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (first + k * kThreads < args.total) *reinterpret_cast<W*>(to[k]) = word[k];
}

}  // namespace

void run_strided(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t words = args.item / call.problem.width;
  const std::int64_t total = args.loop.count() * words;
  const bool aligned = index_aligned(args.index, args.loop, kIndex, args.index_type);
  if (FastLoop<4>::holds(args.loop, total) && FastLoop<1>::holds(args.axis, args.n)) {
    const ElementArgs elements{args.source,
                               args.index,
                               args.out,
                               FastLoop<4>(args.loop),
                               FastLoop<1>(args.axis),
                               FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(words)),
                               static_cast<std::uint32_t>(total),
                               args.index_type,
                               aligned,
                               args.mode,
                               args.n,
                               args.bad,
                               args.fill_period};
    return visit_word(call.problem.width, [&](auto word) {
      launch(gather_elements_kernel<decltype(word)>, ceil_divide(total, kThreads * kInFlight),
             call.stream, elements, call.fill);
    });
  }
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
