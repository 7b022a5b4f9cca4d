// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Lines of updates along an axis that is not the innermost: a thread has a line and takes its
// updates in order, and neighbouring threads have neighbouring lines. Elements that are reduced are
// in shared memory.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "cuda/common/join.cuh"
#include "cuda/scatter/update_lines.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

/// Updates that a thread loads at a time.
constexpr int kInFlight = 8;

/// The line of a thread.
struct StridedLine {
  const UpdateLines& lines;
  OffsetsAt<3> at;

  __device__ StridedLine(const UpdateLines& of, std::int64_t number)
      : lines(of), at(of.lines.at(number)) {}
  template <class T>
  [[nodiscard]] __device__ T& element(std::int64_t position) const {
    return *reinterpret_cast<T*>(lines.target + at.offset[kLineElement] +
                                 position * lines.step[kLineElement]);
  }
  /// Calls visit(position, value) for each update that is not skipped, in order.
  template <class T, class Visit>
  __device__ void visit(const Visit& visit) const {
    for (int begin = 0; begin < lines.length; begin += kInFlight) {
      const auto offset = [&](LineOperand operand, int k) {
        const std::int64_t update = min(begin + k, lines.length - 1);
        return at.offset[operand] + update * lines.step[operand];
      };
      std::int64_t index[kInFlight];
      T value[kInFlight];
      lines.index.load([&](int k) { return offset(kLineIndex, k); }, index);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        value[k] = *reinterpret_cast<const T*>(lines.values + offset(kLineValue, k));
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const std::int64_t position = begin + k < lines.length ? lines.index.resolve(index[k]) : -1;
        if (position >= 0) visit(position, value[k]);
      }
    }
  }
};

constexpr int kPutThreads = 64;

template <class W>
__global__ void __launch_bounds__(kPutThreads)
    put_strided_kernel(const __grid_constant__ UpdateLines lines) {
  const std::int64_t threads = std::int64_t{gridDim.x} * kPutThreads;
  for (std::int64_t number = std::int64_t{blockIdx.x} * kPutThreads + threadIdx.x;
       number < lines.count; number += threads) {
    const StridedLine line(lines, number);
    line.visit<W>([&](std::int64_t position, W word) { line.element<W>(position) = word; });
  }
}

/// The shared memory of a block: for each element of each of its lines, the number of its updates,
/// the sum of its last block of values, and those of 2^k blocks for each level k, see join.cuh.
template <class A>
struct StridedSums {
  A* sum;
  std::uint16_t* count;
  int elements;  ///< of a line
  int threads;

  [[nodiscard]] static std::int64_t bytes(std::int64_t elements, int levels, int threads) {
    return elements * threads *
           ((levels + 1) * static_cast<std::int64_t>(sizeof(A)) +
            static_cast<std::int64_t>(sizeof(std::uint16_t)));
  }
  __device__ StridedSums(std::byte* memory, int per_line, int levels)
      : sum(reinterpret_cast<A*>(memory) + threadIdx.x),
        count(reinterpret_cast<std::uint16_t*>(reinterpret_cast<A*>(memory) +
                                               (levels + 1) * per_line * blockDim.x) +
              threadIdx.x),
        elements(per_line),
        threads(static_cast<int>(blockDim.x)) {}
  [[nodiscard]] __device__ auto levels_of(int element) const {
    return [this, element](int level) -> A& {
      return sum[((level + 1) * elements + element) * threads];
    };
  }
  __device__ void add(const CompactReduction& reduction, int element, A value) const {
    const int at = element * threads;
    const std::int64_t values = count[at] + 1;  // with the element
    ++count[at];
    if (values % kBlockValues != 0) {
      sum[at] = combine(reduction, sum[at], value);
      return;
    }
    push_block(levels_of(element), values / kBlockValues - 1, 0, sum[at], reduction);
    sum[at] = value;
  }
  [[nodiscard]] __device__ A all(const CompactReduction& reduction, int element) const {
    return join_levels(levels_of(element), count[element * threads] / kBlockValues,
                       sum[element * threads], reduction);
  }
};

constexpr int kMostThreads = 128;

template <class T>
__global__ void __launch_bounds__(kMostThreads)
    combine_strided_kernel(const __grid_constant__ UpdateLines lines, int levels,
                           const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  extern __shared__ __align__(16) std::byte memory[];
  const StridedSums<A> sums(memory, static_cast<int>(lines.index.n), levels);
  const std::int64_t number = std::int64_t{blockIdx.x} * sums.threads + threadIdx.x;
  if (number >= lines.count) return;
  const StridedLine line(lines, number);
#pragma unroll 4
  for (int e = 0; e < sums.elements; ++e) {
    sums.sum[e * sums.threads] = widened(line.element<const T>(e));
    sums.count[e * sums.threads] = 0;
  }
  line.visit<T>([&](std::int64_t position, T value) {
    sums.add(reduction, static_cast<int>(position), widened(value));
  });
#pragma unroll 1
  for (int e = 0; e < sums.elements; ++e) {
    const std::int64_t updates = sums.count[e * sums.threads];
    if (updates > 0)
      line.element<T>(e) = finished<T>(reduction.reduce, sums.all(reduction, e), updates + 1);
  }
}

constexpr std::int64_t kMostUpdates = 65535;  // that 16 bits count

/// More for a block leaves too few threads on a multiprocessor.
std::int64_t most_shared() { return device_facts().shared_bytes / 3; }

/// Of the joined blocks of values of an element.
int levels_of(const UpdateLines& lines) {
  return std::bit_width(static_cast<std::uint64_t>(lines.length / kBlockValues));
}

/// The lines that are put at a time: their elements, written one by one, stay in the L2 cache.
std::int64_t lines_at_a_time(const ScatterArgs& args, const UpdateLines& lines) {
  const std::int64_t cached = device_facts().l2_bytes / 2 / (args.n * args.item);
  return std::min(std::max<std::int64_t>(cached, kPutThreads), lines.count);
}

constexpr std::int64_t kLeastLines = std::int64_t{1} << 14;  // that occupy the GPU

/// Whether puts take less time than by a table of last updates, or by a sort where that is large.
bool pays_to_put(const ScatterCall& call, const UpdateLines& lines) {
  constexpr std::int64_t kLeastAtATime = std::int64_t{1} << 13;
  const std::int64_t at_a_time = lines_at_a_time(call.args, lines);
  if (lines.count >= kLeastLines && at_a_time >= kLeastAtATime) return true;
  // Threads wait for about 1 us for each kInFlight updates.
  const std::int64_t rounds =
      ceil_divide(lines.count, at_a_time) * ceil_divide(lines.length, kInFlight);
  const std::int64_t of_sort = 48 + (call.count >> 15);
  return !has_few(call) && !prefers_table(call) && rounds <= of_sort;
}

}  // namespace

bool has_strided_lines(const ScatterCall& call, const UpdateLines& lines) {
  constexpr std::int64_t kMostElements = 4;  // for each update of a line
  const ScatterArgs& args = call.args;
  const auto step = [](std::int64_t bytes) { return std::abs(bytes); };
  if (step(lines.between[kLineIndex]) > args.index_type.bytes ||
      step(lines.between[kLineValue]) > args.item ||
      step(lines.between[kLineElement]) != args.item || step(lines.step[kLineElement]) <= args.item)
    return false;
  if (args.reduce == GPUKERN_REDUCE_NONE)
    return scatter_words(args).columns.count() == 1 && pays_to_put(call, lines);
  if (lines.count < kLeastLines || lines.length > kMostUpdates ||
      args.n > kMostElements * lines.length)
    return false;
  bool fits = false;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {  // integers take atomic operations
    fits = !std::is_integral_v<T> &&
           StridedSums<Accumulator<T>>::bytes(args.n, levels_of(lines), kMostThreads / 2) <=
               most_shared();
  });
  return fits;
}

void scatter_strided_lines(const ScatterCall& call, const UpdateLines& lines) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    const Grid grid{ceil_divide(lines_at_a_time(args, lines), kPutThreads), kPutThreads};
    return visit_word(args.item, [&](auto word) {
      launch(put_strided_kernel<decltype(word)>, grid, call.stream, lines);
    });
  }
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_integral_v<T>) {
      using Sums = StridedSums<Accumulator<T>>;
      const int levels = levels_of(lines);
      const bool is_narrow = Sums::bytes(args.n, levels, kMostThreads) > most_shared();
      const int threads = is_narrow ? kMostThreads / 2 : kMostThreads;
      launch(combine_strided_kernel<T>,
             Grid{ceil_divide(lines.count, threads), threads,
                  static_cast<std::size_t>(Sums::bytes(args.n, levels, threads))},
             call.stream, lines, levels, CompactReduction{reduction_of(args.reduce, args.dtype)});
    }
  });
}

}  // namespace gpukern::gpu
