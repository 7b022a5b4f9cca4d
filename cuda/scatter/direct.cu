// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/atomic.cuh"
#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

template <class W>
__global__ void __launch_bounds__(kThreads)
    put_direct_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values,
                      const __grid_constant__ TargetElements elements,
                      const __grid_constant__ RowColumns<1> words, std::int64_t count, int lanes,
                      const __grid_constant__ LastUpdates last) {
  wait_for_previous();
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t update = thread / lanes;
  if (update >= count) return;
  const std::int64_t key = key_of(update);
  if (key < 0 || !last.is_last(update, key)) return;
  copy_words<W>(values.at(static_cast<std::uint64_t>(update)),
                elements.at(static_cast<std::uint64_t>(key)), words, thread % lanes, lanes);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_direct_kernel(const __grid_constant__ KeyOf key_of,
                          const __grid_constant__ UpdateValues values,
                          const __grid_constant__ TargetElements elements,
                          const __grid_constant__ RowColumns<1> columns, std::int64_t count,
                          int lanes, const __grid_constant__ Reduction reduction, bool atomic) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t update = thread / lanes;
  if (update >= count) return;
  const std::int64_t key = key_of(update);
  if (key < 0) return;
  const std::byte* const value = values.at(static_cast<std::uint64_t>(update));
  std::byte* const row = elements.at(static_cast<std::uint64_t>(key));
  for (std::int64_t column = columns.begin() + thread % lanes; column < columns.end();
       column += lanes) {
    std::byte* const to = row + columns.target_offset(column);
    const T number = load_element<T>(value + columns.value_offset(column), columns.aligned);
    if constexpr (!std::is_void_v<AtomicType<T>>) {
      if (atomic) {
        combine_atomically(reduction, reinterpret_cast<AtomicType<T>*>(to),
                           bits_as<AtomicType<T>>(number));
        continue;
      }
    }
    const auto sum =
        combine(reduction, widened(load_element<T>(to, columns.aligned)), widened(number));
    store_element(to, finished<T>(reduction.reduce, sum, 2), columns.aligned);
  }
}

/// Of few updates, a whole block works on each.
int direct_lanes(const ScatterCall& call, std::int64_t accesses) {
  return lanes_of(accesses, call.count <= kScatterFew ? kThreads : 32);
}

}  // namespace

void scatter_put_direct(const ScatterCall& call, const LastUpdates& last) {
  const ScatterArgs& args = call.args;
  const ScatterWords words = scatter_words(args);
  RowColumns<1> columns{words.columns, words.columns.count(), true};
  const int lanes = direct_lanes(call, columns.count);
  const Grid grid = divide_columns(
      columns, lanes,
      {.blocks = ceil_divide(call.count * lanes, kThreads), .programmatic_launch = true});
  visit_word(words.bytes, [&](auto word) {
    launch(put_direct_kernel<decltype(word)>, grid, call.stream, key_of(args), update_values(args),
           target_elements(args), columns, call.count, lanes, last);
  });
}

void scatter_direct(const ScatterCall& call, bool atomic) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) return scatter_put_direct(call, {});
  const int lanes = direct_lanes(call, call.columns);
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RowColumns<1> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
    const Grid grid =
        divide_columns(columns, lanes, {.blocks = ceil_divide(call.count * lanes, kThreads)});
    launch(combine_direct_kernel<T>, grid, call.stream, key_of(args), update_values(args),
           target_elements(args), columns, call.count, lanes, reduction_of(args.reduce, args.dtype),
           atomic);
  });
}

}  // namespace gpukern::gpu
