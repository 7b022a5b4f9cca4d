// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/loop.cuh"
#include "cuda/gather/kernel.cuh"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

/// Words that a thread has in flight.
constexpr int kInFlight = 4;

/// What a mode makes of the indices of several words.
struct Found {
  std::int64_t offset[kInFlight];  ///< in the source, from the beginning of the axis
  bool missing[kInFlight];         ///< has the fill value
};

struct ModeOfIndex {
  gpukern_index_mode mode;
  std::uint64_t* bad;

  [[nodiscard]] __device__ std::int64_t position(std::int64_t index, bool is_signed,
                                                 std::int64_t n) const {
    note_bad(bad, index, is_signed, n);
    return resolve_index(mode, index, is_signed, n);
  }
};

/// An index of one axis, or of several that are flattened. Offsets is FastLoop or LoopOffsets.
template <template <int> class Offsets>
struct OneIndex {
  const std::byte* data;
  IndexType type;
  bool aligned;
  std::int64_t n;
  Offsets<1> axis;

  __device__ void find(const ModeOfIndex& mode, const OffsetsAt<3> (&at)[kInFlight],
                       Found& found) const {
    std::int64_t index[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      index[k] = load_index(data + at[k].offset[kIndex], type, aligned);
    std::int64_t known[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t position = mode.position(index[k], type.is_signed, n);
      found.missing[k] = position < 0;
      known[k] = max(position, std::int64_t{0});
    }
    OffsetsAt<1> along[kInFlight];
    axis.find(known, along);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) found.offset[k] = along[k].offset[0];
  }
};

/// The axes of a tuple that a kernel combines: benchmarks/notes/gather.md#tuples.
constexpr int kMostAxes = 3;

/// Bytes from one position of an IndexTuple to the next, in place of those of an index.
constexpr std::int64_t kTupleStep = 8;

/// An IndexTuple of up to kMostAxes axes.
struct SeveralIndices {
  struct OfAxis {
    const std::byte* data;
    FastLoop<1> loop;
    IndexType type;
    bool aligned;
    std::int64_t n;
    std::int64_t step;
  };
  OfAxis axis[kMostAxes];
  int count;

  __device__ void find(const ModeOfIndex& mode, const OffsetsAt<3> (&at)[kInFlight],
                       Found& found) const {
    std::int64_t position[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) position[k] = at[k].offset[kIndex] / kTupleStep;
    std::int64_t index[kMostAxes][kInFlight];
#pragma unroll
    for (int a = 0; a < kMostAxes; ++a) {
      if (a >= count) continue;
      OffsetsAt<1> of_index[kInFlight];
      axis[a].loop.find(position, of_index);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        index[a][k] =
            load_index(axis[a].data + of_index[k].offset[0], axis[a].type, axis[a].aligned);
    }
    found = {};
#pragma unroll
    for (int a = 0; a < kMostAxes; ++a) {
      if (a >= count) continue;
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const std::int64_t on_axis = mode.position(index[a][k], axis[a].type.is_signed, axis[a].n);
        found.missing[k] = found.missing[k] || on_axis < 0;
        found.offset[k] += on_axis * axis[a].step;
      }
    }
  }
};

/// Indices is OneIndex or SeveralIndices.
template <template <int> class Offsets, class Indices>
struct StridedArgs {
  const std::byte* source;
  std::byte* out;
  Offsets<3> words;  ///< kSource, kIndex, kOut
  Offsets<1> fill_values;
  Indices indices;
  std::int64_t count;     ///< words
  std::int64_t per_item;  ///< words
  ModeOfIndex mode;
  std::int64_t fill_period;

  /// The fill value's word in place of that number.
  template <class W>
  [[nodiscard]] __device__ W fill_word(const Fill& fill, std::int64_t number) const {
    const auto position = static_cast<std::uint64_t>(number);
    const std::uint64_t item = position / static_cast<std::uint64_t>(per_item);
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
template <class W, template <int> class Offsets, class Indices>
__global__ void __launch_bounds__(kThreads)
    gather_strided_kernel(const __grid_constant__ StridedArgs<Offsets, Indices> args,
                          const __grid_constant__ Fill fill) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kInFlight + threadIdx.x;
  OffsetsAt<3> at[kInFlight];
  args.words.find(Positions<kInFlight>(first, kThreads, args.count - 1).of, at);
  Found found;
  args.indices.find(args.mode, at, found);
  W word[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (found.missing[k])
      word[k] = args.template fill_word<W>(fill, min(first + k * kThreads, args.count - 1));
    else
      word[k] =
          __ldg(reinterpret_cast<const W*>(args.source + at[k].offset[kSource] + found.offset[k]));
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (first + k * kThreads < args.count)
      *reinterpret_cast<W*>(args.out + at[k].offset[kOut]) = word[k];
}

SeveralIndices several_indices(const IndexTuple& tuple) {
  SeveralIndices indices;
  indices.count = static_cast<int>(tuple.axes.size());
  for (int a = 0; a < indices.count; ++a) {
    const auto& [index, step] = tuple.axes[static_cast<std::size_t>(a)];
    indices.axis[a] = {
        index.index,      FastLoop(index.loop),
        index.index_type, index_aligned(index.index, index.loop, 0, index.index_type),
        index.n,          step};
  }
  return indices;
}

}  // namespace

bool gather_takes_tuple(const IndexTuple& tuple, std::int64_t count, std::int64_t item_bytes,
                        gpukern_gather_path path) {
  // Longer items would find their indices for each word, and passes need them as one.
  const PartitionTuning& partition = gather_tuning().partition;
  const bool may_partition =
      path == GPUKERN_GATHER_PARTITIONED ||
      (path == GPUKERN_GATHER_AUTO && partition.direct_items != 0 && count >= partition.count_from);
  return tuple.axes.size() <= kMostAxes && item_bytes <= kWordBytes && !may_partition &&
         std::ranges::all_of(tuple.axes, [](const IndexTuple::OfAxis& axis) {
           return FastLoop<1>::holds(axis.index.loop);
         });
}

void run_strided(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t width = call.problem.width;
  const std::int64_t per_item = args.item / width;
  static_assert(kSource == 0 && kIndex == 1 && kOut == 2);
  Loop<3> words;
  Loop<1> fill_values;
  const Loop<4> loop = in_memory_order(args.loop);
  for (int d = 0; d < loop.ndim; ++d) {
    const auto& stride = loop.stride;
    words.push(loop.extent[d], {stride[kSource][d], stride[kIndex][d], stride[kOut][d]});
    fill_values.push(loop.extent[d], {stride[kFillValue][d]});
  }
  if (per_item > 1) words.push(per_item, {width, 0, width});
  words.coalesce();
  fill_values.coalesce();
  const std::int64_t count = words.count();
  const auto gather_by = [&]<template <int> class Offsets, class Indices>(
                             const Offsets<3>& of_words, const Offsets<1>& of_fill_values,
                             const Indices& indices) {
    const StridedArgs<Offsets, Indices> strided{
        args.source,           args.out,        of_words, of_fill_values, indices, count, per_item,
        {args.mode, args.bad}, args.fill_period};
    visit_word(width, [&](auto word) {
      launch(gather_strided_kernel<decltype(word), Offsets, Indices>,
             ceil_divide(count, kThreads * kInFlight), call.stream, strided, call.fill);
    });
  };
  if (args.tuple != nullptr)
    return gather_by(LoopOffsets(words), LoopOffsets(fill_values), several_indices(*args.tuple));
  const bool aligned = index_aligned(args.index, args.loop, kIndex, args.index_type);
  const auto one_index = [&]<template <int> class Offsets>(const Offsets<1>& axis) {
    return OneIndex<Offsets>{args.index, args.index_type, aligned, args.n, axis};
  };
  if (FastLoop<3>::holds(words) && FastLoop<1>::holds(fill_values) && FastLoop<1>::holds(args.axis))
    gather_by(FastLoop(words), FastLoop(fill_values), one_index(FastLoop(args.axis)));
  else
    gather_by(LoopOffsets(words), LoopOffsets(fill_values), one_index(LoopOffsets(args.axis)));
}

}  // namespace gpukern::gpu
