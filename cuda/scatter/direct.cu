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

template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    combine_direct_kernel(const __grid_constant__ KeyOf key_of,
                          const __grid_constant__ UpdateValues values,
                          const __grid_constant__ TargetElements elements,
                          const __grid_constant__ RowColumns<kCount> columns, std::int64_t count,
                          int lanes, const __grid_constant__ Reduction reduction) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t update = thread / lanes;
  if (update >= count) return;
  const std::int64_t key = key_of(update);
  if (key < 0) return;
  const std::byte* const value = values.at(static_cast<std::uint64_t>(update));
  std::byte* const row = elements.at(static_cast<std::uint64_t>(key));
  for (std::int64_t column = columns.begin() + thread % lanes * kCount; column < columns.end();
       column += std::int64_t{lanes} * kCount) {
    std::byte* const to = row + columns.target_offset(column);
    Accumulator<T> sum[kCount];
    Accumulator<T> number[kCount];
    load_columns<T>(value + columns.value_offset(column), columns.is_aligned(), number);
    load_columns<T>(to, columns.is_aligned(), sum);
    combine_each(reduction, sum, number);
    store_columns<T>(to, columns.is_aligned(), reduction.reduce, 2, sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_atomic_kernel(const __grid_constant__ KeyOf key_of,
                          const __grid_constant__ UpdateValues values,
                          const __grid_constant__ TargetElements elements,
                          const __grid_constant__ RowColumns<1> columns, std::int64_t count,
                          int lanes, const __grid_constant__ Reduction reduction) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t update = thread / lanes;
  if (update >= count) return;
  const std::int64_t key = key_of(update);
  if (key < 0) return;
  using A = AtomicType<T>;
  const std::byte* const value = values.at(static_cast<std::uint64_t>(update));
  std::byte* const row = elements.at(static_cast<std::uint64_t>(key));
  for (std::int64_t column = columns.begin() + thread % lanes; column < columns.end();
       column += lanes) {
    const T number = load_element<T>(value + columns.value_offset(column), columns.aligned);
    combine_atomically(reduction, reinterpret_cast<A*>(row + columns.target_offset(column)),
                       bits_as<A>(number));
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
  const auto combine = [&](auto kernel, auto columns, int each) {
    const int lanes = direct_lanes(call, ceil_divide(call.columns, each));
    const Grid grid =
        divide_columns(columns, lanes, {.blocks = ceil_divide(call.count * lanes, kThreads)});
    launch(kernel, grid, call.stream, key_of(args), update_values(args), target_elements(args),
           columns, call.count, lanes, reduction_of(args.reduce, args.dtype));
  };
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const RowColumns<1> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
    if constexpr (!std::is_void_v<AtomicType<T>>)
      if (atomic) return combine(combine_atomic_kernel<T>, columns, 1);
    constexpr int kVector = kVectorColumns<T>;
    if constexpr (kVector > 1)
      if (has_column_vectors<T, kVector>(args, call.columns))
        return combine(combine_direct_kernel<T, kVector>,
                       RowColumns<kVector>{args.columns, call.columns, true}, kVector);
    combine(combine_direct_kernel<T, 1>, columns, 1);
  });
}

}  // namespace gpukern::gpu
