// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/join.cuh"

namespace gpukern::gpu {
namespace {

template <class T, class Key>
__global__ void __launch_bounds__(kJoinThreads)
    join_kernel(const Key* keys, const __grid_constant__ SpreadElements elements,
                const __grid_constant__ UpdateColumns<1, true> columns, int width,
                const __grid_constant__ Reduction reduction, LongKeys long_keys) {
  using A = Accumulator<T>;
  __shared__ alignas(A) std::byte memory[kJoinThreads * sizeof(A)];
  wait_for_previous();
  JoinedKeys<T, Key>{keys, elements, columns, width, long_keys}.join(
      blockIdx.x, gridDim.x, reduction, reinterpret_cast<A*>(memory));
}

template <class T, class Key>
void launch_join(const ScatterCall& call, const SortPlan& plan, const void* keys,
                 const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const auto columns = update_columns<1, true>(args.columns, is_aligned(args, alignof(T)));
  launch(join_kernel<T, Key>,
         Grid{.blocks = resident_grid(), .threads = kJoinThreads, .programmatic_launch = true},
         call.stream, static_cast<const Key*>(keys),
         SpreadElements{target_elements(args), plan.spread}, columns, join_width(call.columns),
         reduction_of(args.reduce, args.dtype), long_keys);
}

}  // namespace

void scatter_join(const ScatterCall& call, const SortPlan& plan, const void* keys,
                  const LongKeys& long_keys) {
  visit_combined_type(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (plan.wide_keys)
      launch_join<T, std::uint64_t>(call, plan, keys, long_keys);
    else
      launch_join<T, std::uint32_t>(call, plan, keys, long_keys);
  });
}

}  // namespace gpukern::gpu
