// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/join.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kJoinThreads = 256;

/// The blocks of a long key, for one column.
template <class A>
struct Blocks {
  const A* first;
  const A* later;  ///< the second block
  std::int64_t stride;

  [[nodiscard]] __device__ A operator()(std::int64_t block) const {
    return block == 0 ? *first : later[(block - 1) * stride];
  }
};

/// Joins the blocks of a key for `width` columns at a time.
template <class T, class Key>
__global__ void __launch_bounds__(kJoinThreads)
    join_kernel(const Key* keys, const __grid_constant__ TargetElements elements,
                const __grid_constant__ UpdateColumns<1, true> columns, int width,
                const __grid_constant__ Reduction reduction, LongKeys long_keys) {
  using A = Accumulator<T>;
  __shared__ alignas(A) std::byte memory[kJoinThreads * sizeof(A)];
  A* const joined = reinterpret_cast<A*>(memory);
  wait_for_previous();
  const std::int64_t column_tiles = (columns.count + width - 1) / width;
  const auto number = static_cast<std::int64_t>(*long_keys.number);
  for (std::int64_t work = blockIdx.x; work < number * column_tiles; work += gridDim.x) {
    const std::int64_t first = long_keys.firsts[work / column_tiles];
    const std::int64_t column =
        work % column_tiles * width + static_cast<std::int64_t>(threadIdx.x) % width;
    const std::int64_t values = max(long_keys.ends[first / kBlockValues] - first, std::int64_t{0});
    const std::int64_t blocks = values / kBlockValues + 1;  // with the element itself
    const Blocks<A> of{reinterpret_cast<const A*>(long_keys.first_blocks) +
                           first / kBlockValues * columns.count + column,
                       reinterpret_cast<const A*>(long_keys.later_blocks) +
                           (first + kBlockValues - 1) / kBlockValues * columns.count + column,
                       columns.count};
    const bool active = column < columns.count;
    const A sum = join_by_threads<kJoinThreads>(of, blocks, width, active, reduction, joined);
    if (active && static_cast<int>(threadIdx.x) < width)
      store_element(elements.at(keys[first]) + columns.at(column).to,
                    finished<T>(reduction.reduce, sum, values + 1), columns.aligned);
  }
}

template <class T, class Key>
void launch_join(const ScatterCall& call, const void* keys, const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const auto columns = update_columns<1, true>(args.columns, is_aligned(args, alignof(T)));
  launch(join_kernel<T, Key>,
         Grid{.blocks = resident_grid(), .threads = kJoinThreads, .programmatic_launch = true},
         call.stream, static_cast<const Key*>(keys), target_elements(args), columns,
         join_width(call.columns), reduction_of(args.reduce, args.dtype), long_keys);
}

}  // namespace

void scatter_join(const ScatterCall& call, const SortPlan& plan, const void* keys,
                  const LongKeys& long_keys) {
  visit_combined_type(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (plan.wide_keys)
      launch_join<T, std::uint64_t>(call, keys, long_keys);
    else
      launch_join<T, std::uint32_t>(call, keys, long_keys);
  });
}

}  // namespace gpukern::gpu
