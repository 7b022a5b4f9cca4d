// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/loop.cuh"
#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {
namespace {

/// Words that a thread has in flight.
constexpr int kInFlight = 4;

/// Offsets is FastLoop or LoopOffsets.
template <template <int> class Offsets>
struct StridedArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  Offsets<3> words;  ///< kSource, kIndex, kOut
  Offsets<1> fill_values;
  Offsets<1> axis;
  std::int64_t count;     ///< words
  std::int64_t per_item;  ///< words
  IndexType index_type;
  bool index_aligned;
  gpukern_index_mode mode;
  std::int64_t n;
  std::uint64_t* bad;
  std::int64_t fill_period;

  /// The fill value's word in place of that number.
  template <class W>
  [[nodiscard]] __device__ W fill_word(const Fill& fill, std::int64_t number) const {
    const auto position = static_cast<std::uint64_t>(number);
    const std::uint64_t item = quotient(position, static_cast<std::uint64_t>(per_item));
    const auto in_item = static_cast<std::int64_t>(
        (position - item * static_cast<std::uint64_t>(per_item)) * sizeof(W));
    if (fill.data == nullptr) return fill.word<W>(in_item);
    OffsetsAt<1> value[1];
    fill_values.find({static_cast<std::int64_t>(item)}, value);
    W word;
    auto* to = reinterpret_cast<std::byte*>(&word);
    std::int64_t at = in_item < fill_period ? in_item : in_item % fill_period;
    for (unsigned b = 0; b < sizeof(W); ++b) {
      to[b] = fill.data[value[0].offset[0] + at];
      if (++at == fill_period) at = 0;
    }
    return word;
  }
};

/// Any operand may have a nonzero stride in any dimension.
template <class W, template <int> class Offsets>
__global__ void __launch_bounds__(kThreads)
    gather_strided_kernel(const __grid_constant__ StridedArgs<Offsets> args,
                          const __grid_constant__ Fill fill) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kInFlight + threadIdx.x;
  OffsetsAt<3> at[kInFlight];
  args.words.find(Positions<kInFlight>(first, kThreads, args.count - 1).of, at);
  std::int64_t index[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    index[k] = load_index(args.index + at[k].offset[kIndex], args.index_type, args.index_aligned);
  std::int64_t position[kInFlight];
  std::int64_t known[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    note_bad(args.bad, index[k], args.index_type.is_signed, args.n);
    position[k] = resolve_index(args.mode, index[k], args.index_type.is_signed, args.n);
    known[k] = max(position[k], std::int64_t{0});
  }
  OffsetsAt<1> along[kInFlight];
  args.axis.find(known, along);
  W word[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (position[k] < 0)
      word[k] = args.template fill_word<W>(fill, min(first + k * kThreads, args.count - 1));
    else
      word[k] = __ldg(
          reinterpret_cast<const W*>(args.source + at[k].offset[kSource] + along[k].offset[0]));
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (first + k * kThreads < args.count)
      *reinterpret_cast<W*>(args.out + at[k].offset[kOut]) = word[k];
}

}  // namespace

void run_strided(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t width = call.problem.width;
  const std::int64_t per_item = args.item / width;
  static_assert(kSource == 0 && kIndex == 1 && kOut == 2);
  Loop<3> words;
  Loop<1> fill_values;
  for (int d = 0; d < args.loop.ndim; ++d) {
    const auto& stride = args.loop.stride;
    words.push(args.loop.extent[d], {stride[kSource][d], stride[kIndex][d], stride[kOut][d]});
    fill_values.push(args.loop.extent[d], {stride[kFillValue][d]});
  }
  if (per_item > 1) words.push(per_item, {width, 0, width});
  words.coalesce();
  fill_values.coalesce();
  const bool aligned = index_aligned(args.index, args.loop, kIndex, args.index_type);
  const std::int64_t count = words.count();
  const auto gather_by = [&]<template <int> class Offsets>(const StridedArgs<Offsets>& strided) {
    visit_word(width, [&](auto word) {
      launch(gather_strided_kernel<decltype(word), Offsets>,
             ceil_divide(count, kThreads * kInFlight), call.stream, strided, call.fill);
    });
  };
  const auto args_of = [&]<template <int> class Offsets>(const Offsets<3>& of_words,
                                                         const Offsets<1>& of_fill_values,
                                                         const Offsets<1>& of_axis) {
    return StridedArgs<Offsets>{args.source, args.index, args.out, of_words,        of_fill_values,
                                of_axis,     count,      per_item, args.index_type, aligned,
                                args.mode,   args.n,     args.bad, args.fill_period};
  };
  if (FastLoop<3>::holds(words) && FastLoop<1>::holds(fill_values) && FastLoop<1>::holds(args.axis))
    gather_by(args_of(FastLoop(words), FastLoop(fill_values), FastLoop(args.axis)));
  else
    gather_by(args_of(LoopOffsets(words), LoopOffsets(fill_values), LoopOffsets(args.axis)));
}

}  // namespace gpukern::gpu
