// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of axpby for any types and layouts: a thread computes lines of elements of the
// output, adjacent if these are aligned. Types and layouts are parameters of a kernel, not of its
// code: only the type of the arithmetic and the length of a line are compiled in. See also
// axpby_numbers.hpp, axpby_tiles.hpp and axpby_words.hpp.
#pragma once

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/math.cuh"
#include "src/core/float16.hpp"
#include "src/core/operation.hpp"
#include "src/core/random.hpp"

namespace gpukern::gpu {

enum class LineAccess : std::int8_t {
  Value,     ///< a number, not memory
  Repeated,  ///< one element for the whole line
  Line,      ///< adjacent elements, aligned to their size together
  Elements,  ///< aligned to their type
  Bytes
};

template <class Compute>
struct LineOperand {
  std::byte* data;
  Compute value;
  LineAccess access;
  RealType type;
};

/// A block computes tiles: `1 << x_bits` lines side by side of as many rows as it has threads for.
/// Its tiles follow each other in one of these two directions.
template <class Compute>
struct LineProblem {
  LineOperand<Compute> operand[5];
  // Strides of AxpbyArgs::loop, in the innermost dimension and in that of the rows; between the
  // elements of a line.
  std::int64_t column_stride[kPosition + 1];
  std::int64_t row_stride[kPosition + 1];
  std::int64_t element_stride[kPosition + 1];
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t block_columns;
  std::int64_t block_rows;
  std::int64_t tile_stride[kPosition + 1];  ///< bytes from one tile of a block to the next
  int tile_columns;                         ///< the same in columns and
  int tile_rows;                            ///< in rows
  int tiles;                                ///< of a block, at most
  int line_columns;                         ///< from one line to the next
  int between_bits;                         ///< elements of a line are `1 << between_bits` apart
  Loop<kPosition + 1> outer;                ///< the other dimensions
  FastDivmod<std::int64_t> blocks_across;
  FastDivmod<std::int64_t> blocks_down;
  std::int64_t first;
  std::uint64_t seed;
  int x_bits;
  bool stochastic;
};

/// The elements of a line, in registers. They are adjacent, or those of neighbouring threads are.
template <class Compute, int kCount>
using Line = Vector<Compute, kCount>;

/// A line as it is in memory: elements that are loaded together are packed, others have as many
/// words as the type of the arithmetic. The loads of all operands come first, so that they overlap:
/// to take an element out of a word waits for its load.
template <class Compute, int kCount>
struct LineBits {
  static constexpr int kSlot = sizeof(Compute) / sizeof(std::uint32_t);
  std::uint32_t word[kCount * kSlot];

  template <class T>
  __device__ void load_line(const std::byte* from) {
    constexpr int kWords = kCount * sizeof(T) / sizeof(std::uint32_t);
    const auto line = *reinterpret_cast<const Vector<std::uint32_t, kWords>*>(from);
#pragma unroll
    for (int w = 0; w < kWords; ++w) word[w] = line.element[w];
  }
  /// `bits` is an unsigned integer.
  template <class T>
  __device__ void set(int i, T bits) {
    word[i * kSlot] = static_cast<std::uint32_t>(bits);
    if constexpr (sizeof(T) == 8) word[i * kSlot + 1] = static_cast<std::uint32_t>(bits >> 32);
  }
  /// An element of those loaded by load_line<T>(), or by set().
  template <class T>
  [[nodiscard]] __device__ T get(int i, bool packed) const {
    if constexpr (sizeof(T) == 8)
      return bits_as<T>(uint2{word[2 * i], word[2 * i + 1]});
    else if constexpr (sizeof(T) == 4)
      return bits_as<T>(word[packed ? i : i * kSlot]);
    else
      return bits_as<T>(
          static_cast<std::uint16_t>(packed ? word[i / 2] >> (16 * (i % 2)) : word[i * kSlot]));
  }
};

template <class T, class Compute, int kCount>
__device__ void load_elements(LineAccess access, const std::byte* from, std::int64_t step,
                              int length, LineBits<Compute, kCount>& line) {
  if (access == LineAccess::Line && length == kCount) {
    line.template load_line<T>(from);
  } else if (access == LineAccess::Repeated) {
    line.set(0, *reinterpret_cast<const T*>(from));
  } else {
    // Past the end of a line, its last element: loads that depend on no condition are in flight
    // together.
    const auto load_each = [&](const auto& load) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) line.set(i, load(from + min(i, length - 1) * step));
    };
    if (access == LineAccess::Bytes)
      load_each([](const std::byte* at) { return load_unaligned<T>(at); });
    else
      load_each([](const std::byte* at) { return *reinterpret_cast<const T*>(at); });
  }
}

template <class Compute, int kCount>
__device__ void load_line(const LineOperand<Compute>& of, std::int64_t offset, std::int64_t step,
                          int length, LineBits<Compute, kCount>& line) {
  if (of.access == LineAccess::Value) return;
  const std::byte* const from = of.data + offset;
  switch (of.type) {
    case RealType::Float16:
    case RealType::BFloat16:
      load_elements<std::uint16_t>(of.access, from, step, length, line);
      break;
    case RealType::Float32:
      load_elements<std::uint32_t>(of.access, from, step, length, line);
      break;
    default:
      if constexpr (sizeof(Compute) == 8)
        load_elements<std::uint64_t>(of.access, from, step, length, line);
  }
}

/// The elements of type T of a line of `length`.
template <class T, class Compute, int kCount>
__device__ Line<Compute, kCount> widened_elements(LineAccess access, int length,
                                                  const LineBits<Compute, kCount>& bits) {
  Line<Compute, kCount> line;
  const auto widen_each = [&](const auto& element) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) line.element[i] = widen(element(i));
  };
  if (access == LineAccess::Repeated)
    widen_each([&](int) { return bits.template get<T>(0, false); });
  else if (access == LineAccess::Line && length == kCount)
    widen_each([&](int i) { return bits.template get<T>(i, true); });
  else
    widen_each([&](int i) { return bits.template get<T>(i, false); });
  return line;
}

template <class Compute, int kCount>
__device__ Line<Compute, kCount> widened(const LineOperand<Compute>& of, int length,
                                         const LineBits<Compute, kCount>& bits) {
  if (of.access == LineAccess::Value) {
    Line<Compute, kCount> line;
#pragma unroll
    for (int i = 0; i < kCount; ++i) line.element[i] = of.value;
    return line;
  }
  switch (of.type) {
    case RealType::Float16:
      return widened_elements<Half>(of.access, length, bits);
    case RealType::BFloat16:
      return widened_elements<BFloat16>(of.access, length, bits);
    case RealType::Float32:
      return widened_elements<float>(of.access, length, bits);
    default:
      if constexpr (sizeof(Compute) == 8) return widened_elements<double>(of.access, length, bits);
      return {};
  }
}

/// Stores a line whose elements convert(element, i, to) rounds to T.
template <class T, class Compute, int kCount, class Convert>
__device__ void store_elements(LineAccess access, std::byte* to, std::int64_t step, int length,
                               const Line<Compute, kCount>& line, const Convert& convert) {
  Vector<T, kCount> elements;
#pragma unroll
  for (int i = 0; i < kCount; ++i) convert(line.element[i], i, elements.element[i]);
  if (access == LineAccess::Line && length == kCount) {
    *reinterpret_cast<Vector<T, kCount>*>(to) = elements;
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i >= length) continue;
    if (access == LineAccess::Bytes)
      store_unaligned(to + i * step, elements.element[i]);
    else
      *reinterpret_cast<T*>(to + i * step) = elements.element[i];
  }
}

template <class Compute, int kCount>
__device__ void store_line(const LineProblem<Compute>& problem, std::int64_t offset, int length,
                           std::int64_t position, const Line<Compute, kCount>& line) {
  const LineOperand<Compute>& of = problem.operand[kResult];
  std::byte* const to = of.data + offset;
  const std::int64_t step = problem.element_stride[kResult];
  const auto nearest = [](Compute value, int, auto& element) { narrow(value, element); };
  if constexpr (sizeof(Compute) == 4) {
    if (problem.stochastic) {
      std::int64_t group = -1;
      RandomBlock block{};
      return store_elements<BFloat16>(
          of.access, to, step, length, line, [&](float value, int i, auto& element) {
            const std::int64_t at = position + i * problem.element_stride[kPosition];
            if (at / kRandomGroup != group) {
              group = at / kRandomGroup;
              block = random_block(problem.seed, static_cast<std::uint64_t>(group));
            }
            narrow_stochastic(value, block.bits(at), element);
          });
    }
  }
  switch (of.type) {
    case RealType::Float16:
      return store_elements<Half>(of.access, to, step, length, line, nearest);
    case RealType::BFloat16:
      return store_elements<BFloat16>(of.access, to, step, length, line, nearest);
    case RealType::Float32:
      return store_elements<float>(of.access, to, step, length, line, nearest);
    default:
      if constexpr (sizeof(Compute) == 8)
        return store_elements<double>(of.access, to, step, length, line, nearest);
  }
}

template <class Compute, int kCount>
__device__ void compute_line(const LineProblem<Compute>& problem,
                             const std::int64_t (&at)[kPosition + 1], int length) {
  LineBits<Compute, kCount> bits[kResult];
#pragma unroll
  for (int k = 0; k < kResult; ++k)
    load_line(problem.operand[k], at[k], problem.element_stride[k], length, bits[k]);
  const auto line = [&](int k) { return widened(problem.operand[k], length, bits[k]); };
  const Line<Compute, kCount> b = line(kFactorOfY);
  Line<Compute, kCount> sum = line(kY);
#pragma unroll
  for (int i = 0; i < kCount; ++i) sum.element[i] = rounded_product(b.element[i], sum.element[i]);
  const Line<Compute, kCount> a = line(kFactorOfX);
  const Line<Compute, kCount> x_line = line(kX);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    sum.element[i] = fused(a.element[i], x_line.element[i], sum.element[i]);
  store_line(problem, at[kResult], length, problem.first + at[kPosition], sum);
}

template <class Compute, int kCount>
__global__ void __launch_bounds__(kThreads,
                                  resident_blocks(kCount * sizeof(Compute) > kWordBytes ? 3 : 4,
                                                  kThreads))
    axpby_kernel(const __grid_constant__ LineProblem<Compute> problem) {
  wait_for_previous();
  launch_next();
  const auto across = problem.blocks_across.divmod(blockIdx.x);
  const auto down = problem.blocks_down.divmod(across.quotient);
  const int x = static_cast<int>(threadIdx.x) & ((1 << problem.x_bits) - 1);
  const int y = static_cast<int>(threadIdx.x) >> problem.x_bits;
  std::int64_t column =
      across.remainder * problem.block_columns + std::int64_t{x} * problem.line_columns;
  std::int64_t row = down.remainder * problem.block_rows + y;
  std::int64_t at[kPosition + 1];
  unravel(problem.outer, static_cast<std::uint32_t>(down.quotient), at);
#pragma unroll
  for (int k = 0; k <= kPosition; ++k)
    at[k] += row * problem.row_stride[k] + column * problem.column_stride[k];
#pragma unroll 1
  for (int tile = 0; tile < problem.tiles; ++tile) {
    const std::int64_t left = problem.columns - column;
    if (left <= 0 || row >= problem.rows) return;
    const std::int64_t length = (left - 1 >> problem.between_bits) + 1;
    compute_line<Compute, kCount>(problem, at, static_cast<int>(min(length, std::int64_t{kCount})));
    column += problem.tile_columns;
    row += problem.tile_rows;
#pragma unroll
    for (int k = 0; k <= kPosition; ++k) at[k] += problem.tile_stride[k];
  }
}

/// Lines of the innermost dimension, one for each thread.
template <class Compute, int kCount>
__global__ void __launch_bounds__(kThreads)
    axpby_short_lines_kernel(const __grid_constant__ LineProblem<Compute> problem,
                             const __grid_constant__ FastLoop<kPosition + 1> lines,
                             std::uint32_t count) {
  wait_for_previous();
  launch_next();
  const std::uint32_t line = blockIdx.x * kThreads + threadIdx.x;
  if (line >= count) return;
  const std::uint32_t in_row = lines.extent[0].divmod(line).remainder;
  OffsetsAt<kPosition + 1> at[1];
  lines.find({line}, at);
  const std::int64_t left = problem.columns - std::int64_t{in_row} * kCount;
  compute_line<Compute, kCount>(problem, at[0].offset,
                                static_cast<int>(min(left, std::int64_t{kCount})));
}

}  // namespace gpukern::gpu
