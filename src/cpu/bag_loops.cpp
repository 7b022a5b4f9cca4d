// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#define GPUKERN_ISA baseline
#include "src/cpu/bag_loops.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "src/cpu/bag_kernel.hpp"
#include "src/cpu/elements.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/runs.hpp"

namespace gpukern::cpu {
namespace {

BagKernels kernels_for(const GatherReduceArgs& args) {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx2) return bag_kernels_avx2(args);
#endif
  return baseline::kernels_for(args);
}

/// `reduce` is GPUKERN_REDUCE_ADD for means as well.
template <class T, gpukern_reduce reduce, bool weighted>
class Loops {
  using A = Accumulator<T>;
  static_assert(sizeof(A) <= kMostAccumulatorBytes);

 public:
  static BagLoops table(const GatherReduceArgs& args) {
    static constexpr WeightReader kWeights{sizeof(A), load_weights};
    const BagKernels kernels = kernels_for(args);
    const bool are_neighbours =
        args.columns.count() == 1 && are_direct(args) && run_stride(args.axis, 0) == args.item;
    return {.sum_bytes = sizeof(A),
            .weights = weighted ? &kWeights : nullptr,
            .combine_block = kernels.combine_block,
            .combine_run = are_neighbours ? kernels.combine_run : nullptr,
            .reduce_short_bags = are_direct(args) ? reduce_short_bags : nullptr,
            .reduce_column = reduce_column,
            .combine_column = combine_column,
            .join = join,
            .finish = finish};
  }

 private:
  static A* as_sums(std::byte* sums) { return reinterpret_cast<A*>(sums); }
  static const A* as_sums(const std::byte* sums) { return reinterpret_cast<const A*>(sums); }

  static void load_weights(const GatherReduceArgs& args, Items items, std::byte* to) {
    for (std::int64_t item = items.begin; item < items.end; ++item, to += sizeof(A))
      store_as(to, widened(load_as<T>(args.weights + item * args.weight_step)));
  }

  static void join(const std::byte* earlier, const std::byte* later, std::byte* to,
                   std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c)
      as_sums(to)[c] = combine(reduce, as_sums(earlier)[c], as_sums(later)[c]);
  }

  static void finish(gpukern_reduce final, const std::byte* sums, std::int64_t columns,
                     std::int64_t count, std::byte* to) {
    if (count == 0)
      std::memset(to, 0, static_cast<std::size_t>(columns) * sizeof(T));
    else if (final == GPUKERN_REDUCE_MEAN)
      finish_as<GPUKERN_REDUCE_MEAN>(as_sums(sums), columns, count, to);
    else
      finish_as<reduce>(as_sums(sums), columns, count, to);
  }

  template <gpukern_reduce kFinal>
  static void finish_as(const A* sums, std::int64_t columns, std::int64_t count, std::byte* to) {
    for (std::int64_t c = 0; c < columns; ++c)
      store_as<T>(to + c * static_cast<std::int64_t>(sizeof(T)),
                  finished<T>(kFinal, sums[c], count));
  }

  // ---- one column: several blocks at a time, since each is a chain of dependent additions ----

  /// Fewer neighbours are combined faster one after the other. Comparisons of floating-point
  /// numbers are branches there, which cost more.
  static constexpr std::int64_t kLeastRun = std::is_integral_v<T> ? 16 : 2;

  static std::int64_t reduce_short_bags(const GatherReduceArgs& args, CombineRun combine_run,
                                        const Bags& bags, std::int64_t begin, std::int64_t end) {
    const std::int64_t most = combine_run != nullptr ? kUnitItems : kBlockValues;
    std::int64_t first = bags.offset(begin);
    for (std::int64_t bag = begin; bag < end; ++bag) {
      const std::int64_t next = bags.offset(bag + 1);
      const Items items{first, std::max(first, next)};
      const std::int64_t count = items.count();
      if (count > most) return bag;
      const A sum = count >= kLeastRun && combine_run != nullptr
                        ? combine_neighbours(args, combine_run, items)
                        : combine_direct(args, items);
      store_as<T>(args.out + bag * args.out_step,
                  count > 0 ? finished<T>(args.reduce, sum, count) : T{});
      first = next;
    }
    return end;
  }

  static A combine_neighbours(const GatherReduceArgs& args, CombineRun combine_run, Items items) {
    A sum;
    combine_run(args.source + items.begin * args.item, items.count(),
                reinterpret_cast<std::byte*>(&sum));
    return sum;
  }

  static void reduce_column(const GatherReduceArgs& args, RowWindow& window, Items items,
                            std::byte* out) {
    A sum;
    const std::int64_t count = items.count() <= kBlockValues
                                   ? combine_one(args, window, items, sum)
                                   : combine_several(args, window, items, sum);
    store_as<T>(out, count > 0 ? finished<T>(args.reduce, sum, count) : T{});
  }

  static std::int64_t combine_column(const GatherReduceArgs& args, RowWindow& window, Items items,
                                     std::byte* to) {
    return combine_several(args, window, items, *as_sums(to));
  }

  /// Whether items are at equal distances, without weights.
  static bool are_direct(const GatherReduceArgs& args) {
    return args.index == nullptr && args.axis.ndim <= 1 && !weighted;
  }

  static std::int64_t combine_one(const GatherReduceArgs& args, RowWindow& window, Items block,
                                  A& sum) {
    if (are_direct(args)) {
      sum = combine_direct(args, block);
      return block.count();
    }
    const BlockRows rows = window.rows(block);
    sum = baseline::BlockLoop<T, reduce, weighted>::combine_rows(rows, 0);
    return rows.count;
  }

  [[gnu::noinline]] static std::int64_t combine_several(const GatherReduceArgs& args,
                                                        RowWindow& window, Items items, A& sum) {
    const bool direct = are_direct(args);
    std::array<A, kUnitBlocks> sums;
    std::int64_t count = 0;
    std::size_t blocks = 0;
    for (std::int64_t begin = items.begin; begin < items.end;) {
      const std::int64_t left = (items.end - begin - 1) / kBlockValues + 1;
      const std::int64_t chains = direct ? chains_for(left) : 1;
      const Items part{begin, std::min(begin + chains * kBlockValues, items.end)};
      if (chains == 8)
        count += combine_chains<8>(args, part, &sums[blocks]);
      else if (chains == 4)
        count += combine_chains<4>(args, part, &sums[blocks]);
      else if (chains == 2)
        count += combine_chains<2>(args, part, &sums[blocks]);
      else
        count += combine_one(args, window, part, sums[blocks]);
      blocks += static_cast<std::size_t>(chains);
      begin = part.end;
    }
    for (std::size_t step = 1; step < blocks; step *= 2)
      for (std::size_t b = 0; b + step < blocks; b += 2 * step)
        sums[b] = combine(reduce, sums[b], sums[b + step]);
    sum = sums[0];
    return count;
  }

  static A combine_direct(const GatherReduceArgs& args, Items items) {
    const std::int64_t step = run_stride(args.axis, 0);
    const std::byte* from = args.source + items.begin * step;
    A sum = identity<A>(reduce);
    for (std::int64_t k = 0; k < items.count(); ++k, from += step)
      sum = combine(reduce, sum, widened(load_as<T>(from)));
    return sum;
  }

  static std::int64_t chains_for(std::int64_t blocks) {
    if (blocks >= 8) return 8;
    if (blocks >= 4) return 4;
    return blocks >= 2 && !kIsComplex<T> ? 2 : 1;  // of two complex sums, GCC keeps one in memory
  }

  /// Combines kChains blocks at a time, of which the last may be shorter.
  template <std::int64_t kChains>
  static std::int64_t combine_chains(const GatherReduceArgs& args, Items items, A* to) {
    const std::int64_t step = run_stride(args.axis, 0);
    const std::byte* from = args.source + items.begin * step;
    A sum[kChains];
    for (A& each : sum) each = identity<A>(reduce);
    const auto combine_next = [&](std::int64_t chain) {
      sum[chain] =
          combine(reduce, sum[chain], widened(load_as<T>(from + chain * kBlockValues * step)));
    };
    const std::int64_t shortest = items.count() - (kChains - 1) * kBlockValues;
    std::int64_t k = 0;
    for (; k < shortest; ++k, from += step)
      for (std::int64_t chain = 0; chain < kChains; ++chain) combine_next(chain);
    for (; k < kBlockValues; ++k, from += step)
      for (std::int64_t chain = 0; chain + 1 < kChains; ++chain) combine_next(chain);
    std::copy_n(sum, kChains, to);
    return items.count();
  }
};

template <class T, gpukern_reduce reduce, bool weighted>
BagLoops table_of(const GatherReduceArgs& args) {
  return Loops<typename ReducedAs<T, reduce>::Type, reduce, weighted>::table(args);
}

template <class T>
BagLoops table_for(const GatherReduceArgs& args) {
  if constexpr (!kIsComplex<T>) {
    if (args.reduce == GPUKERN_REDUCE_MIN) return table_of<T, GPUKERN_REDUCE_MIN, false>(args);
    if (args.reduce == GPUKERN_REDUCE_MAX) return table_of<T, GPUKERN_REDUCE_MAX, false>(args);
  }
  if (args.weights != nullptr) return table_of<T, GPUKERN_REDUCE_ADD, true>(args);
  return table_of<T, GPUKERN_REDUCE_ADD, false>(args);
}

}  // namespace

BagLoops bag_loops(const GatherReduceArgs& args) {
  BagLoops loops{};
  visit_reduced_dtype(args.dtype,
                      [&](auto tag) { loops = table_for<typename decltype(tag)::type>(args); });
  return loops;
}

}  // namespace gpukern::cpu
