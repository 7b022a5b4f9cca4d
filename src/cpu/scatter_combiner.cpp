// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/scatter_combiner.hpp"

#include <cstring>
#include <type_traits>

#include "src/cpu/scatter_few_keys.hpp"
#include "src/cpu/scatter_reductions.hpp"
#include "src/cpu/update_counts.hpp"

namespace gpukern::cpu {
namespace {

void put(const ScatterArgs& args, const Updates& updates) {
  visit_width(args.item, [&](auto width) {
    if (args.columns.ndim == 0)
      for_each_update(args, updates,
                      [width](std::int64_t, std::byte* target, const std::byte* value) {
                        std::memcpy(target, value, width);
                      });
    else
      for_each_update(
          args, updates, [&args, width](std::int64_t, std::byte* target, const std::byte* value) {
            const auto put_run = [&](const ColumnOffsets& offset, std::int64_t length) {
              copy_items(value + offset[kValueColumn], run_stride(args.columns, kValueColumn),
                         target + offset[kTargetColumn], run_stride(args.columns, kTargetColumn),
                         length, width);
            };
            for_each_column_run(args.columns, ColumnRunVisitor(put_run));
          });
  });
}

/// Whether an element of the target can take the place of its accumulator.
template <class T>
constexpr bool kIsInTarget = std::is_same_v<T, Accumulator<T>>;

/// See Combiner::is_exact_in_a_block.
template <class T, gpukern_reduce reduce>
constexpr bool is_exact_in_a_block() {
  return reduce != GPUKERN_REDUCE_MEAN && kIsInTarget<T>;
}

template <class T, gpukern_reduce reduce>
void combine_in_place(const ScatterArgs& args, const Updates& updates) {
  if (args.columns.ndim == 0) {
    for_each_update<sizeof(T)>(args, updates,
                               [](std::int64_t, std::byte* target, const std::byte* value) {
                                 combine_element<T, reduce>(target, value, 2);
                               });
    return;
  }
  const Row<T, reduce> row(args);
  for_each_update(args, updates, [row](std::int64_t, std::byte* target, const std::byte* value) {
    row.combine_in_place(target, value, 2);
  });
}

template <class T, gpukern_reduce reduce>
void combine_in_blocks(const ScatterArgs& args, const KeyRange& keys, const ForEachBlock& blocks) {
  const auto run = [&](auto&& reduction) {
    blocks([&](const Updates& updates) { reduction.add(updates); });
    reduction.finish();
  };
  if constexpr (kIsInTarget<T>)
    run(CountedReduction<T, reduce>(args, keys.first, keys.count));
  else
    run(BlockedReduction<T, reduce>(args, keys.first, keys.count, true));
}

/// Whether surely no element has more than a block of values.
bool fit_one_block(const Updates& updates) {
  if (updates.count < kBlockValues) return true;
  UpdateCounts counts(updates.count);
  return counts.add(updates);
}

template <class T, gpukern_reduce reduce>
void combine_sparse(const ScatterArgs& args, const Updates& updates) {
  if (is_exact_in_a_block<T, reduce>() && fit_one_block(updates))
    return combine_in_place<T, reduce>(args, updates);
  BlockedReduction<T, reduce> reduction(args, 0, updates.count, false);
  for_each_part(updates, args.row_bytes(), [&](const Updates& part) { reduction.add(part); });
  reduction.finish();
}

template <class T, gpukern_reduce reduce>
void combine_few_keys(const ScatterArgs& args, std::int64_t parts) {
  FewKeysReduction<T, reduce>(args, parts).run();
}

template <class T, gpukern_reduce reduce>
void write_identity(std::byte* element) {
  store_as<T>(element, reduce == GPUKERN_REDUCE_MULTIPLY ? T{1} : identity<T>(reduce));
}

template <class Element, gpukern_reduce reduce>
Combiner combiner_with() {
  using T = typename ReducedAs<Element, reduce>::Type;
  Combiner combiner{.in_place = combine_in_place<T, reduce>};
  if constexpr (depends_on_order<T>(reduce)) {
    combiner.in_blocks = combine_in_blocks<T, reduce>;
    combiner.sparse = combine_sparse<T, reduce>;
    combiner.few_keys = combine_few_keys<T, reduce>;
    combiner.most_keys = kIsInTarget<T> ? 32 : 4;
    combiner.is_exact_in_a_block = is_exact_in_a_block<T, reduce>();
  } else if constexpr (std::is_integral_v<T>) {
    combiner.write_identity = write_identity<T, reduce>;  // of floats, a NaN has to keep its bits
  }
  return combiner;
}

template <class T>
Combiner combiner_of(gpukern_reduce reduce) {
  if constexpr (!std::is_integral_v<T>)
    if (reduce == GPUKERN_REDUCE_MEAN) return combiner_with<T, GPUKERN_REDUCE_MEAN>();
  if constexpr (!kIsComplex<T>) {
    if (reduce == GPUKERN_REDUCE_MULTIPLY) return combiner_with<T, GPUKERN_REDUCE_MULTIPLY>();
    if (reduce == GPUKERN_REDUCE_MIN) return combiner_with<T, GPUKERN_REDUCE_MIN>();
    if (reduce == GPUKERN_REDUCE_MAX) return combiner_with<T, GPUKERN_REDUCE_MAX>();
  }
  return combiner_with<T, GPUKERN_REDUCE_ADD>();
}

}  // namespace

Combiner combiner_for(const ScatterArgs& args) {
  Combiner combiner{.in_place = put};
  if (args.reduce == GPUKERN_REDUCE_NONE) return combiner;
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    combiner = combiner_of<typename decltype(tag)::type>(args.reduce);
  });
  if (args.unique) combiner.use_in_place();
  return combiner;
}

}  // namespace gpukern::cpu
