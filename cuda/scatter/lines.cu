// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sums and products of lines of updates along the axis, each with separate indices and shorter
// than a block of values. A warp has a line, or several short ones, whose elements are in a hash
// table in shared memory.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "cuda/common/warp.cuh"
#include "cuda/scatter/update_lines.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kLineThreads = 128;
constexpr int kMostUpdates = static_cast<int>(kBlockValues) - 1;  // the element is the first value

/// The elements of a warp's lines: open addressing, in tables of a power of two.
template <class A>
struct LineTable {
  A* sum;
  std::uint32_t* key;    ///< one more than the number of an element, 0 for none
  std::uint32_t* count;  ///< values combined with the element, 0 for none
  unsigned mask;
  int shift;     ///< of a hash
  bool has_all;  ///< a place for each element

  [[nodiscard]] __host__ __device__ static std::size_t bytes(int places) {
    return static_cast<std::size_t>(places) * (sizeof(A) + 2 * sizeof(std::uint32_t));
  }
  __device__ LineTable(std::byte* memory, int places, std::int64_t elements)
      : sum(reinterpret_cast<A*>(memory)),
        key(reinterpret_cast<std::uint32_t*>(sum + places)),
        count(key + places),
        mask(static_cast<unsigned>(places) - 1),
        has_all(elements <= places) {
    shift = 32 - __popc(mask);
    for (int place = static_cast<int>(threadIdx.x) % kWarp; place < places; place += kWarp)
      key[place] = count[place] = 0;
    __syncwarp();
  }
  /// Finds or takes the place of an element; other threads do so for other elements.
  [[nodiscard]] __device__ unsigned place_of(std::uint32_t element) const {
    if (has_all) return element;
    constexpr std::uint32_t kOdd = 0x9e3779b1;  // 2^32 divided by the golden ratio
    for (unsigned place = element * kOdd >> shift;; place = (place + 1) & mask) {
      const std::uint32_t found = atomicCAS(&key[place], 0U, element + 1);
      if (found == 0 || found == element + 1) return place;
    }
  }
};

/// Thread blocks that a multiprocessor shall have room for.
template <class A, int kChunks>
inline constexpr int kLineBlocks = (kChunks == 1 ? 10 : 6) / (sizeof(A) > 8 ? 2 : 1);

/// Each warp has 1 << line_bits lines at a time, of up to kChunks updates for each of its threads.
template <class T, int kChunks>
__global__ void __launch_bounds__(kLineThreads,
                                  resident_blocks(kLineBlocks<Accumulator<T>, kChunks>,
                                                  kLineThreads))
    combine_lines_kernel(const __grid_constant__ UpdateLines lines, int line_bits, int places,
                         const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  extern __shared__ __align__(16) std::byte memory[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int lanes = kWarp >> line_bits;  // of a line
  const int own = lane / lanes;
  const LineTable<A> table(memory + warp * LineTable<A>::bytes(places), places,
                           lines.index.n << line_bits);
  const std::int64_t warps = std::int64_t{gridDim.x} * (kLineThreads / kWarp);
  const std::int64_t first = std::int64_t{blockIdx.x} * (kLineThreads / kWarp) + warp;
  for (std::int64_t group = first; group << line_bits < lines.count; group += warps) {
    const std::int64_t line = (group << line_bits) + own;
    const int length = line < lines.count ? lines.length : 0;
    const OffsetsAt<3> at = lines.lines.at(min(line, lines.count - 1));
    std::byte* const elements = lines.target + at.offset[kLineElement];
    std::int64_t index[kChunks];
    A value[kChunks];
    A element[kChunks];
    const auto update = [&](int c) { return c * lanes + lane % lanes; };
    const auto exists = [&](int c) { return update(c) < length; };
    lines.index.load(
        [&](int c) { return at.offset[kLineIndex] + update(c) * lines.step[kLineIndex]; }, exists,
        index);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      if (exists(c))
        value[c] = widened(*reinterpret_cast<const T*>(lines.values + at.offset[kLineValue] +
                                                       update(c) * lines.step[kLineValue]));
    int position[kChunks];  // -1 for none
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      position[c] = exists(c) ? static_cast<int>(lines.index.resolve(index[c])) : -1;
      if (position[c] >= 0)
        element[c] =
            widened(*reinterpret_cast<const T*>(elements + position[c] * lines.step[kLineElement]));
    }
    unsigned place[kChunks];
    unsigned leads = 0;  // a bit for each chunk in which this update is the first of its element
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (c * lanes >= lines.length) break;
      constexpr unsigned kNone = ~0U;
      const unsigned number = position[c] < 0 ? kNone
                                              : (static_cast<unsigned>(position[c]) << line_bits) +
                                                    static_cast<unsigned>(own);
      const unsigned equal = __match_any_sync(kAllLanes, number);
      unsigned rest = equal & (equal - 1);  // without the first one
      A sum{};
      if (number != kNone && __ffs(static_cast<int>(equal)) - 1 == lane) {
        leads |= 1U << c;
        place[c] = table.place_of(number);
        sum = table.count[place[c]] == 0 ? element[c] : table.sum[place[c]];
        sum = combine(reduction, sum, value[c]);
      } else {
        rest = 0;
      }
      while (__any_sync(kAllLanes, rest != 0)) {
        const A next = of_lane(value[c], rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : lane);
        if (rest != 0) sum = combine(reduction, sum, next);
        rest &= rest - 1;
      }
      if ((leads >> c & 1) != 0) {
        table.sum[place[c]] = sum;
        table.count[place[c]] += __popc(equal);
      }
      __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (c * lanes >= lines.length) break;
      const std::uint32_t count = (leads >> c & 1) != 0 ? table.count[place[c]] : 0;
      if (count > 0) {
        *reinterpret_cast<T*>(elements + position[c] * lines.step[kLineElement]) =
            finished<T>(reduction.reduce, table.sum[place[c]], std::int64_t{count} + 1);
        table.key[place[c]] = table.count[place[c]] = 0;
      }
      __syncwarp();
    }
  }
}

template <class T, int kChunks>
void launch_lines(const ScatterCall& call, const UpdateLines& lines) {
  constexpr int kWarps = kLineThreads / kWarp;
  const auto lanes = std::min<unsigned>(std::bit_ceil(static_cast<unsigned>(lines.length)), kWarp);
  const int line_bits = std::countr_zero(kWarp / lanes);
  // Twice the updates, so that few of them meet.
  const int places =
      static_cast<int>(std::bit_ceil(static_cast<unsigned>(2 * lines.length)) << line_bits);
  const std::int64_t groups = ceil_divide(lines.count, std::int64_t{1} << line_bits);
  launch(combine_lines_kernel<T, kChunks>,
         Grid{std::min(ceil_divide(groups, kWarps), 2 * resident_grid()), kLineThreads,
              kWarps * LineTable<Accumulator<T>>::bytes(places)},
         call.stream, lines, line_bits, places,
         CompactReduction{reduction_of(call.args.reduce, call.args.dtype)});
}

}  // namespace

bool has_lines(const ScatterCall& call, const UpdateLines& lines) {
  constexpr std::int64_t kLeastLines = 1024;  // that occupy the GPU
  constexpr std::int64_t kMostPositions = std::int64_t{1} << 28;
  return lines.length <= kMostUpdates && lines.count >= kLeastLines &&
         call.args.n <= kMostPositions && lines.step[kLineIndex] == call.args.index_type.bytes &&
         std::abs(lines.step[kLineValue]) <= call.args.item;
}

void scatter_lines(const ScatterCall& call, const UpdateLines& lines) {
  visit_combined_type(call.args.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_integral_v<T>) {
      if (lines.length <= kWarp)
        launch_lines<T, 1>(call, lines);
      else
        launch_lines<T, (kMostUpdates + kWarp - 1) / kWarp>(call, lines);
    }
  });
}

}  // namespace gpukern::gpu
