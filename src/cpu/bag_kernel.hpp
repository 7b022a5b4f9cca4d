// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The loops of gather_reduce over rows, compiled once per instruction set; see saxpy_kernel.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/reduce.hpp"
#include "src/cpu/bag_loops.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/elements.hpp"

namespace gpukern::cpu::GPUKERN_ISA {
namespace {

#ifdef __AVX2__
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/// A vector register. Compilers do not vectorize loops over a few sums by themselves.
template <class Number>
using Vector [[gnu::vector_size(kVectorBytes)]] = Number;

/// The numbers that a sum of elements of type T consists of.
template <class T>
struct PartOf {
  using Type = T;
};
template <class Real>
struct PartOf<Complex<Real>> {
  using Type = Real;
};

/// Sums of neighbouring columns in vector registers.
template <class T, gpukern_reduce reduce, bool weighted>
class VectorSums {
  using A = Accumulator<T>;
  using Number = typename PartOf<A>::Type;
  using V = Vector<Number>;

 public:
  static constexpr std::int64_t kColumns = sizeof(V) / sizeof(A);
  static constexpr std::int64_t kItem = sizeof(T);

  /// Combines the columns of kCount vectors at an offset of the rows.
  template <int kCount, bool fetched>
  static void combine(const BlockRows& rows, std::int64_t offset, A* sums) {
    V sum[kCount];
    for (V& each : sum) each = identity<Number>(reduce) - V{};  // -0 + 0 would be +0
    for (std::int64_t k = 0; k < rows.count; ++k) {
      const std::byte* const row = rows.row[k] + offset;
      if constexpr (fetched) {
        const std::byte* const next = rows.row[k + kRowsAhead] + offset;
        for (std::int64_t at = 0; at < kCount * kColumns * kItem; at += kCacheLine)
          prefetch(next + at);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        V value = load(row + i * kColumns * kItem);
        if constexpr (weighted) value *= reinterpret_cast<const A*>(rows.weight)[k];
        sum[i] = join(sum[i], value);
      }
    }
    std::memcpy(sums, sum, sizeof sum);
  }

  /// Combines neighbouring elements of one column in any order.
  static A combine_run(const std::byte* from, std::int64_t count) {
    const std::int64_t whole = count / kColumns * kColumns;
    A all = whole > 0 ? combine_lanes(combine_vectors(from, whole)) : identity<A>(reduce);
    for (std::int64_t k = whole; k < count; ++k)
      all = combine_pair(all, widened(load_as<T>(from + k * kItem)));
    return all;
  }

  /// As gpukern::combine(), but without branches, which cost the more the less they are foreseen.
  static A combine_pair(A a, A b) {
    if constexpr (std::is_floating_point_v<A> && reduce != GPUKERN_REDUCE_ADD)
      return join(V{a}, V{b})[0];
    else
      return gpukern::combine(reduce, a, b);
  }

 private:
  /// Several sums, since a sum waits for the one before.
  static V combine_vectors(const std::byte* from, std::int64_t count) {
    constexpr std::int64_t kTogether = 4 * kColumns;
    const V none = identity<Number>(reduce) - V{};
    V sum[4] = {none, none, none, none};
    std::int64_t k = 0;
    for (; k + kTogether <= count; k += kTogether)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) sum[i] = join(sum[i], load(from + (k + i * kColumns) * kItem));
    for (; k < count; k += kColumns) sum[0] = join(sum[0], load(from + k * kItem));
    return join(join(sum[0], sum[1]), join(sum[2], sum[3]));
  }

  static A combine_lanes(V sum) {
    A lane[kColumns];
    std::memcpy(lane, &sum, sizeof sum);
#pragma GCC unroll 8
    for (std::int64_t half = kColumns / 2; half > 0; half /= 2)
      for (std::int64_t i = 0; i < half; ++i) lane[i] = combine_pair(lane[i], lane[i + half]);
    return lane[0];
  }

  static V load(const std::byte* from) {
    if constexpr (std::is_same_v<T, A>) {
      return load_as<V>(from);
    } else {
      using Bits [[gnu::vector_size(kVectorBytes / 2)]] = std::uint16_t;
      const auto bits = __builtin_convertvector(load_as<Bits>(from), Vector<std::uint32_t>);
      return widened_bits<T, V>(bits);
    }
  }

  /// As gpukern::combine().
  static V join(V a, V b) {
    if constexpr (reduce == GPUKERN_REDUCE_ADD) {
      return a + b;
    } else {
      using Bits = std::conditional_t<std::is_floating_point_v<Number>, decltype(a < b), void>;
      return extreme<Bits>(reduce == GPUKERN_REDUCE_MAX, a, b);
    }
  }
};

/// The rows of a block. `reduce` is GPUKERN_REDUCE_ADD for means as well.
template <class T, gpukern_reduce reduce, bool weighted>
class BlockLoop {
  using A = Accumulator<T>;

 public:
  static void combine_block(const BlockRows& rows, std::int64_t offset, std::int64_t columns,
                            std::byte* to) {
    A* const sums = reinterpret_cast<A*>(to);
    std::int64_t c = 0;
    const auto offset_of_column = [&] { return offset + c * static_cast<std::int64_t>(sizeof(T)); };
    if constexpr (!(kIsComplex<T> && weighted)) {
      using Sums = VectorSums<T, reduce, weighted>;
      const auto combine_vectors = [&]<int kCount>(std::integral_constant<int, kCount>) {
        constexpr std::int64_t kColumns = kCount * Sums::kColumns;
        for (; c + kColumns <= columns; c += kColumns)
          if (rows.fetched)
            Sums::template combine<kCount, true>(rows, offset_of_column(), sums + c);
          else
            Sums::template combine<kCount, false>(rows, offset_of_column(), sums + c);
      };
      combine_vectors(std::integral_constant<int, 8>{});
      combine_vectors(std::integral_constant<int, 2>{});
      combine_vectors(std::integral_constant<int, 1>{});
    }
    for (; c + 4 <= columns; c += 4) combine_few<4>(rows, offset_of_column(), sums + c);
    for (; c + 2 <= columns; c += 2) combine_few<2>(rows, offset_of_column(), sums + c);
    if (c < columns) sums[c] = combine_rows(rows, offset_of_column());
  }

  /// One column.
  static A combine_rows(const BlockRows& rows, std::int64_t offset) {
    A sum;
    combine_few<1>(rows, offset, &sum);
    return sum;
  }

 private:
  /// Columns that are no vector: together, since each sum waits for the one before.
  template <int kCount>
  static void combine_few(const BlockRows& rows, std::int64_t offset, A* to) {
    constexpr std::int64_t kItem = sizeof(T);
    const A* const weight = reinterpret_cast<const A*>(rows.weight);
    A sum[kCount];
    for (A& each : sum) each = identity<A>(reduce);
    for (std::int64_t k = 0; k < rows.count; ++k) {
      if (rows.fetched) prefetch(rows.row[k + kRowsAhead] + offset);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i)
        sum[i] = combine_one<kCount>(sum[i], value(rows.row[k] + offset + i * kItem, weight, k));
    }
    std::memcpy(to, sum, sizeof sum);
  }

  /// Of one column, a branch that is mostly foreseen takes less time than a vector with one
  /// element.
  template <int kCount>
  static A combine_one(A a, A b) {
    if constexpr (kIsComplex<T> || kCount == 1)
      return combine(reduce, a, b);
    else
      return VectorSums<T, reduce, weighted>::combine_pair(a, b);
  }

  /// The element at an address, times the weight of item k.
  static A value(const std::byte* from, const A* weight, std::int64_t k) {
    const A number = widened(load_as<T>(from));
    if constexpr (weighted) return multiplied(number, weight[k]);
    return number;
  }
};

template <class T, gpukern_reduce reduce>
void combine_run(const std::byte* from, std::int64_t count, std::byte* sum) {
  store_as(sum, VectorSums<T, reduce, false>::combine_run(from, count));
}

template <class Element, gpukern_reduce reduce, bool weighted>
BagKernels kernels_of() {
  using T = typename ReducedAs<Element, reduce>::Type;
  BagKernels kernels{BlockLoop<T, reduce, weighted>::combine_block, nullptr};
  if constexpr (!weighted && !depends_on_order<T>(reduce))
    kernels.combine_run = combine_run<T, reduce>;
  return kernels;
}

BagKernels kernels_for(const GatherReduceArgs& args) {
  BagKernels chosen{};
  visit_reduced_dtype(args.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!kIsComplex<T>) {
      if (args.reduce == GPUKERN_REDUCE_MIN) chosen = kernels_of<T, GPUKERN_REDUCE_MIN, false>();
      if (args.reduce == GPUKERN_REDUCE_MAX) chosen = kernels_of<T, GPUKERN_REDUCE_MAX, false>();
      if (chosen.combine_block != nullptr) return;
    }
    chosen = args.weights != nullptr ? kernels_of<T, GPUKERN_REDUCE_ADD, true>()
                                     : kernels_of<T, GPUKERN_REDUCE_ADD, false>();
  });
  return chosen;
}

}  // namespace
}  // namespace gpukern::cpu::GPUKERN_ISA
