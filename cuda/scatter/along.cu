// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few updates along an axis: a thread has all those whose keys may be equal, and compares them.

#include <algorithm>
#include <array>

#include "cuda/scatter/update_lines.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

/// Updates of a thread: their keys and values are in registers.
constexpr int kMostAlong = 8;

/// The line of a thread.
template <class T>
struct UpdateLine {
  const std::byte* values;
  std::byte* elements;
  const std::int64_t (&step)[3];
  std::int64_t position[kMostAlong];  ///< on the axis; -1 if the update is skipped

  __device__ UpdateLine(const UpdateLines& of, std::int64_t line) : step(of.step) {
    const OffsetsAt<3> at = of.lines.at(line);
    values = of.values + at.offset[kLineValue];
    elements = of.target + at.offset[kLineElement];
    of.index.load([&](int i) { return at.offset[kLineIndex] + i * step[kLineIndex]; },
                  [&](int i) { return i < of.length; }, position);
#pragma unroll
    for (int i = 0; i < kMostAlong; ++i)
      position[i] = i < of.length ? of.index.resolve(position[i]) : -1;
  }
  [[nodiscard]] __device__ T value(int i) const {
    return *reinterpret_cast<const T*>(values + i * step[kLineValue]);
  }
  [[nodiscard]] __device__ T& element(int i) const {
    return *reinterpret_cast<T*>(elements + position[i] * step[kLineElement]);
  }
  /// Whether update i is not skipped, and no update from `begin` to `end` has its key.
  [[nodiscard]] __device__ bool is_only(int i, int begin, int end) const {
    bool only = position[i] >= 0;
#pragma unroll
    for (int k = begin; k < end; ++k) only = only && position[k] != position[i];
    return only;
  }
};

template <class W>
__global__ void __launch_bounds__(kThreads)
    put_along_kernel(const __grid_constant__ UpdateLines lines) {
  const std::int64_t number = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= lines.count) return;
  const UpdateLine<W> line(lines, number);
  W word[kMostAlong];
#pragma unroll
  for (int i = 0; i < kMostAlong; ++i)
    if (i < lines.length) word[i] = line.value(i);
#pragma unroll
  for (int i = 0; i < kMostAlong; ++i)
    if (line.is_only(i, i + 1, kMostAlong)) line.element(i) = word[i];
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_along_kernel(const __grid_constant__ UpdateLines lines,
                         const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  const std::int64_t number = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= lines.count) return;
  const UpdateLine<T> line(lines, number);
  A value[kMostAlong];
  A sum[kMostAlong];
#pragma unroll
  for (int i = 0; i < kMostAlong; ++i)
    if (i < lines.length) value[i] = widened(line.value(i));
#pragma unroll
  for (int i = 0; i < kMostAlong; ++i)
    if (line.is_only(i, 0, i)) sum[i] = widened(line.element(i));
#pragma unroll
  for (int i = 0; i < kMostAlong; ++i) {
    if (!line.is_only(i, 0, i)) continue;
    std::int64_t count = 1;
#pragma unroll
    for (int k = i; k < kMostAlong; ++k) {
      if (line.position[k] != line.position[i]) continue;
      sum[i] = combine(reduction, sum[i], value[k]);
      ++count;
    }
    line.element(i) = finished<T>(reduction.reduce, sum[i], count);
  }
}

/// Steps of a dimension of updates: in bytes, but in keys for the elements.
using Steps = std::array<std::int64_t, 3>;

/// Appends a dimension as those of the target's memory that it covers. Returns false if it does not
/// cover whole ones.
bool push_in_memory(Loop<3>& lines, const Loop<1>& keys, std::int64_t extent, Steps step) {
  std::int64_t place = 1;  // keys from one position of the dimension of keys to the next
  for (int d = keys.ndim - 1; d >= 0; place *= keys.extent[d--]) {
    const std::int64_t in_keys = step[kLineElement];
    if (in_keys >= place * keys.extent[d]) continue;
    if (in_keys % place != 0) return false;
    const std::int64_t positions = in_keys / place;
    Steps in_memory = step;
    in_memory[kLineElement] = positions * keys.stride[0][d];
    if (extent * positions <= keys.extent[d]) {
      lines.push(extent, in_memory);
      return true;
    }
    if (positions != 1 || extent % keys.extent[d] != 0) return false;
    lines.push(keys.extent[d], in_memory);
    extent /= keys.extent[d];
    for (std::int64_t& bytes : step) bytes *= keys.extent[d];
  }
  return false;
}

}  // namespace

std::optional<UpdateLines> update_lines(const ScatterCall& call) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const ScatterArgs& args = call.args;
  if (call.columns != 1 || !is_aligned(args, std::min<std::int64_t>(args.item, kWordBytes)))
    return std::nullopt;
  Loop<3> lines;
  Loop<3> along;
  for (int d = 0; d < args.updates.ndim; ++d) {
    const Steps step{args.updates.stride[kUpdateIndex][d], args.updates.stride[kUpdateValue][d],
                     args.updates.stride[kKey][d]};
    const std::int64_t extent = args.updates.extent[d];
    if (step[kLineElement] == 0)
      along.push(extent, step);
    else if (!push_in_memory(lines, args.keys, extent, step))
      return std::nullopt;
  }
  if (along.ndim == 0) along.push(1, {});
  if (along.ndim > 1 || along.extent[0] > kMost) return std::nullopt;
  Loop<3> axis;
  if (args.n > 1 &&
      (!push_in_memory(axis, args.keys, args.n, {0, 0, args.key_step}) || axis.ndim != 1))
    return std::nullopt;
  lines.sort_by(kLineElement);
  lines.coalesce();
  if (lines.ndim == 0) lines.push(1, {});
  const int inner = lines.ndim - 1;
  return UpdateLines{.index = index_reader(args),
                     .values = args.values,
                     .target = args.target,
                     .lines = LoopOffsets(lines),
                     .count = lines.count(),
                     .length = static_cast<int>(along.extent[0]),
                     .step = {along.stride[kLineIndex][0], along.stride[kLineValue][0],
                              args.n > 1 ? axis.stride[kLineElement][0] : 0},
                     .between = {lines.stride[kLineIndex][inner], lines.stride[kLineValue][inner],
                                 lines.stride[kLineElement][inner]}};
}

bool has_few_along(const ScatterCall& call, const UpdateLines& lines) {
  if (lines.length > kMostAlong) return false;
  if (call.args.reduce != GPUKERN_REDUCE_NONE) return true;
  // Rows of long lines are read in order by has_shared_rows().
  return scatter_words(call.args).columns.count() == 1 &&
         (lines.length * call.args.item <= kWordBytes || !has_shared_rows(call.args));
}

void scatter_along(const ScatterCall& call, const UpdateLines& lines) {
  const ScatterArgs& args = call.args;
  const std::int64_t blocks = ceil_divide(lines.count, kThreads);
  if (args.reduce == GPUKERN_REDUCE_NONE)
    return visit_word(args.item, [&](auto word) {
      launch(put_along_kernel<decltype(word)>, blocks, call.stream, lines);
    });
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(combine_along_kernel<T>, blocks, call.stream, lines,
           CompactReduction{reduction_of(args.reduce, args.dtype)});
  });
}

}  // namespace gpukern::gpu
